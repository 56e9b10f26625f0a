import assert from "node:assert/strict";
import { silentLogger } from "../../../src/base/mod.ts";
import { TrustedClock } from "../../../src/journal/retention/clock_sanity.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const HOUR = 3_600_000;
const DECADE = 3652 * 24 * HOUR;

/** Asks every hour; says at which hours, from the next on, the clock is doubted. */
function doubts({ clock, doubt, hours }: { clock: FakeClock; doubt: TrustedClock; hours: number }): number[] {
  const found: number[] = [];
  for (let hour = 0; hour < hours; hour++) {
    const now = doubt.nowMs();
    if (now === undefined) found.push(hour);
    else assert.equal(now, clock.wallUs() / 1000);
    clock.advance(HOUR);
  }
  return found;
}

function started(): { clock: FakeClock; doubt: TrustedClock } {
  const clock = new FakeClock();
  return { clock, doubt: new TrustedClock(clock, silentLogger) };
}

Deno.test("a clock that goes on, or is set by some hours, is believed", () => {
  const { clock, doubt } = started();
  for (const jump of [0, -HOUR, 5 * HOUR, -23 * HOUR, 24 * HOUR]) {
    clock.jump(jump);
    assert.deepEqual(doubts({ clock, doubt, hours: 50 }), []);
  }
});

Deno.test("a clock that jumps a decade, ahead or back, is doubted for a day and then believed", () => {
  for (const jump of [DECADE, -DECADE / 2]) {
    const { clock, doubt } = started();
    doubt.nowMs();
    clock.jump(jump);
    assert.deepEqual(doubts({ clock, doubt, hours: 100 }), Array.from({ length: 24 }, (_, hour) => hour));
  }
});

Deno.test("a clock that is back where it was is believed at once, one that jumps on is doubted longer", () => {
  const { clock, doubt } = started();
  doubt.nowMs();
  clock.jump(DECADE);
  assert.equal(doubts({ clock, doubt, hours: 20 }).length, 20);
  clock.jump(-2 * DECADE);
  assert.equal(doubts({ clock, doubt, hours: 20 }).length, 20);
  clock.jump(DECADE - HOUR);
  assert.deepEqual(doubts({ clock, doubt, hours: 20 }), []);
});

Deno.test("a clock that was not set becomes right by its first jump", () => {
  const { clock, doubt } = started();
  clock.jump(-5 * DECADE);
  doubt.nowMs();
  clock.jump(5 * DECADE);
  assert.deepEqual(doubts({ clock, doubt, hours: 20 }), []);
});
