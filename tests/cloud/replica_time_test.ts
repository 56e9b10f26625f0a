import assert from "node:assert/strict";
import { BoatClock } from "../../src/cloud/replica/warm_up.ts";

/** What was counted after each of these times, seconds. */
function counted(times: readonly number[], newest?: number): number[] {
  const time = new BoatClock({ maxStepMs: 60_000, newestMs: newest === undefined ? undefined : newest * 1000 });
  return times.map((seconds) => time.advance(seconds * 1000) / 1000);
}

Deno.test("talk time is the time between frames, and begins with the first", () => {
  assert.deepEqual(counted([1000, 1001, 1001, 1031]), [0, 1, 1, 31]);
});

Deno.test("talk time goes on from the newest frame before", () => {
  assert.deepEqual(counted([1000, 1001], 990), [10, 11]);
});

Deno.test("a silence and a clock set forwards count for a step at most", () => {
  assert.deepEqual(counted([0, 100_000, 100_001]), [0, 60, 61]);
});

Deno.test("a frame that comes late counts for nothing, and nothing is counted twice", () => {
  assert.deepEqual(counted([100, 98, 99, 100, 101]), [0, 0, 0, 0, 1]);
});

Deno.test("when a clock is set back counting goes on from there", () => {
  assert.deepEqual(counted([5000, 100, 101, 102]), [0, 0, 1, 2]);
});
