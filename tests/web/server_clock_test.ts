import assert from "node:assert/strict";
import { ServerClock } from "../../web/shell/server_clock.ts";

const START_MS = 1_800_000_000_000;

/** A phone whose clock and whose network's delay the test sets. */
class Phone {
  nowMs = START_MS;
  readonly clock = new ServerClock(undefined, () => this.nowMs);

  /** Receives a frame each second, of a boat whose clock is ahead of the phone's. */
  receive(seconds: number, { aheadMs, delayMs = 0 }: { aheadMs: number; delayMs?: number }): void {
    for (let second = 0; second < seconds; second++) {
      this.nowMs += 1000;
      this.clock.received(this.nowMs + aheadMs - delayMs);
    }
  }
}

Deno.test("the server's clock is that of its newest frames, also while others are delayed", () => {
  const phone = new Phone();
  phone.receive(10, { aheadMs: 7000, delayMs: 40 });
  phone.receive(20, { aheadMs: 7000, delayMs: 900 });
  assert.equal(phone.clock.nowMs - phone.nowMs, 6960);
});

Deno.test("after the boat's clock was set back, or the phone's forward, ages are right again within a minute", () => {
  for (const shiftMs of [-3_600_000, -5000]) {
    const phone = new Phone();
    phone.receive(100, { aheadMs: 0 });
    phone.receive(62, { aheadMs: shiftMs });
    assert.equal(phone.clock.nowMs - phone.nowMs, shiftMs);
  }
});

Deno.test("a clock set forward counts at once, and a silent bus changes nothing", () => {
  const phone = new Phone();
  phone.receive(3, { aheadMs: 0 });
  phone.receive(1, { aheadMs: 3_600_000 });
  assert.equal(phone.clock.nowMs - phone.nowMs, 3_600_000);
  phone.nowMs += 86_400_000;
  assert.equal(phone.clock.nowMs - phone.nowMs, 3_600_000);
});

Deno.test("until a frame has come, the header of a reply or the clock of the cloud counts", () => {
  const phone = new Phone();
  phone.clock.replied(new Date(START_MS + 60_000).toUTCString());
  assert.equal(phone.clock.nowMs - phone.nowMs, 60_500);
  const boat = new ServerClock(phone.clock, () => phone.nowMs);
  assert.equal(boat.nowMs, phone.clock.nowMs);
  boat.received(phone.nowMs + 5000);
  assert.equal(boat.nowMs - phone.nowMs, 5000);
});
