import assert from "node:assert/strict";
import { LiveRateMeter } from "../../src/cloud/service/live_rate.ts";
import { Random } from "../support/random.ts";

const LIMITS = { rateLimit: 2000, rateBurst: 500 };

/** Whether a sender gets through, who sends `[atMs, frames]`. */
function passes(sendings: Iterable<readonly [atMs: number, frames: number]>): boolean {
  const meter = new LiveRateMeter(LIMITS);
  for (const [atMs, frames] of sendings) {
    meter.advance(atMs);
    if (!meter.take(frames)) return false;
  }
  return true;
}

function* steady(perSecond: number, { everyMs, seconds }: { everyMs: number; seconds: number }) {
  for (let atMs = 0; atMs < seconds * 1000; atMs += everyMs) yield [atMs, perSecond * everyMs / 1000] as const;
}

Deno.test("a boat at the rate goes on for ten minutes, whatever its messages hold", () => {
  for (const everyMs of [1, 20, 50]) assert.ok(passes(steady(2000, { everyMs, seconds: 600 })), String(everyMs));
});

Deno.test("a boat above the rate is found out, and so is one that sends more than a burst at once", () => {
  assert.ok(!passes(steady(2500, { everyMs: 20, seconds: 10 })));
  assert.ok(passes([[0, 500]]));
  assert.ok(!passes([[0, 501]]));
  assert.ok(!passes([[0, 500], [20, 100]]));
});

Deno.test("what a link held back while it stood still may come at once, and no more than that", () => {
  const before = [...steady(2000, { everyMs: 20, seconds: 2 })];
  for (const stallMs of [300, 1000, 5000, 20_000]) {
    const backMs = 1980 + stallMs;
    assert.ok(passes([...before, [backMs, 2 * stallMs]]), String(stallMs));
    assert.ok(!passes([...before, [backMs, 2 * stallMs + 1000]]), `more after ${stallMs}`);
    // What was not used soon is gone.
    const after = Array.from({ length: 120 }, (_, i) => [backMs + 20 * i, 20] as const);
    assert.ok(!passes([...before, ...after, [backMs + 2400, 1000]]), `late after ${stallMs}`);
  }
});

Deno.test("over any time nobody gets more than the rate and a burst", () => {
  const random = new Random(31);
  for (let run = 0; run < 200; run++) {
    const meter = new LiveRateMeter(LIMITS);
    let [nowMs, taken] = [0, 0];
    for (let i = 0; i < 300; i++) {
      nowMs += random.int(10) === 0 ? random.int(3000) : random.int(40);
      meter.advance(nowMs);
      const frames = 1 + random.int(3000);
      if (meter.take(frames)) taken += frames;
    }
    assert.ok(taken <= nowMs * LIMITS.rateLimit / 1000 + LIMITS.rateBurst, `${taken} in ${nowMs} ms`);
  }
});

Deno.test("a new connection has no silence to be paid for", () => {
  const meter = new LiveRateMeter(LIMITS);
  meter.advance(0);
  assert.ok(meter.take(500));
  meter.reconnected(60_000);
  meter.advance(60_000);
  assert.ok(!meter.take(501));
  assert.ok(meter.take(500));
});

Deno.test("what is caught up comes beside the rate, and no more of it for whoever connects again and again", () => {
  const meter = new LiveRateMeter(LIMITS);
  meter.advance(0);
  assert.ok(meter.catchUp(10_000));
  assert.ok(!meter.catchUp(1));
  meter.reconnected(10);
  assert.ok(!meter.catchUp(100));
  meter.reconnected(1010);
  assert.ok(meter.catchUp(2000));
  assert.ok(!meter.catchUp(100));
});
