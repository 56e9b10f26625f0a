import assert from "node:assert/strict";
import { backoffMs, systemClock, timerMs, TokenBucket } from "../../src/base/mod.ts";
import { Random } from "../support/random.ts";

Deno.test("the machine's monotonic clock never goes back and its wall clock counts microseconds since 1970", () => {
  let last = systemClock.monoMs();
  for (let i = 0; i < 1000; i++) {
    const now = systemClock.monoMs();
    assert.ok(now >= last);
    last = now;
  }
  const before = Date.now();
  const wallMs = systemClock.wallUs() / 1000;
  assert.ok(wallMs >= before && wallMs <= Date.now() + 1);
});

Deno.test("a delay is one that a timer can have: a longer one would expire at once", () => {
  assert.deepEqual([-5, 0, 1.5, 2 ** 31, Infinity].map(timerMs), [0, 0, 1.5, 2 ** 31 - 1, 2 ** 31 - 1]);
});

const RECONNECT = { firstMs: 1000, capMs: 60_000 };

Deno.test("back-off doubles from the first wait up to the cap", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => backoffMs(attempt, RECONNECT));
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

Deno.test("back-off stays at its cap after any number of tries and never falls below the first wait", () => {
  assert.equal(backoffMs(5000, RECONNECT), 60_000);
  assert.equal(backoffMs(0, RECONNECT), 1000);
  assert.equal(backoffMs(-3, RECONNECT), 1000);
});

Deno.test("token bucket lets its burst through at once and then no more", () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 3 });
  assert.deepEqual([1, 2, 3, 4, 5].map(() => bucket.take(0)), [true, true, true, false, false]);
});

Deno.test("token bucket refills with time up to its burst", () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 3 });
  assert.ok(bucket.take(0, 3));
  assert.equal(bucket.take(99), false);
  assert.equal(bucket.take(100), true);
  assert.equal(bucket.take(100), false);
  assert.equal(bucket.take(1_000_000, 4), false);
  assert.equal(bucket.take(1_000_000, 3), true);
  assert.equal(bucket.take(1_000_000), false);
});

Deno.test("token bucket gives nothing when the clock goes back", () => {
  const bucket = new TokenBucket({ perSecond: 1000, burst: 1 });
  assert.ok(bucket.take(5000));
  assert.equal(bucket.take(4000), false);
  assert.equal(bucket.take(3000), false);
  assert.equal(bucket.take(3001), true, "and takes none away");
});

Deno.test("token bucket without a rate lets everything through", () => {
  for (const perSecond of [0, -1]) {
    const bucket = new TokenBucket({ perSecond, burst: 1 });
    assert.ok(Array.from({ length: 100 }, () => bucket.take(0, 50)).every(Boolean));
  }
});

Deno.test("token bucket never gives more than burst plus rate times time over any span", () => {
  const random = new Random(11);
  const bucket = new TokenBucket({ perSecond: 20, burst: 7 });
  const taken: number[] = [];
  for (let nowMs = 0; nowMs < 20_000; nowMs += random.int(40)) if (bucket.take(nowMs)) taken.push(nowMs);
  for (let from = 0; from < taken.length; from++) {
    for (let to = from; to < taken.length; to++) {
      assert.ok(to - from + 1 <= 7 + (taken[to]! - taken[from]!) * 20 / 1000 + 1e-6);
    }
  }
  assert.ok(taken.length >= 400, `${taken.length} in 20 s`);
});
