import assert from "node:assert/strict";
import { MAX_FRAME_AGE_MS, ReceiveTime } from "../../src/can/socketcan/receive_time.ts";
import { Random } from "../support/random.ts";

/** Two clocks that can be moved apart. */
class TwoClocks {
  nowMs = 10_000;
  nowUs = 1.7e15;
  reads = 0;

  monoMs(): number {
    this.reads++;
    return this.nowMs;
  }

  wallUs(): number {
    this.reads++;
    return this.nowUs;
  }

  advance(ms: number): void {
    this.nowMs += ms;
    this.nowUs += ms * 1000;
  }
}

Deno.test("frames that waited for a stall keep their distances", () => {
  const clock = new TwoClocks();
  const times = new ReceiveTime(clock);
  const stamps = [0, 1, 2, 800].map((ms) => clock.nowUs + ms * 1000);
  clock.advance(900);
  assert.equal(times.read(), 10_900);
  assert.equal(times.readWallUs, clock.nowUs);
  assert.deepEqual(stamps.map((timeUs) => times.monoMs(timeUs)), [10_000, 10_001, 10_002, 10_800]);
  assert.equal(clock.reads, 2);
});

Deno.test("frames that come before and after a stall are as far apart as they came", () => {
  const clock = new TwoClocks();
  const times = new ReceiveTime(clock);
  times.read();
  const firstMs = times.monoMs(clock.nowUs);
  const secondUs = clock.nowUs + 1000;
  clock.advance(900);
  times.read();
  assert.equal(times.monoMs(secondUs) - firstMs, 1);
});

Deno.test("a wall clock set back while frames wait makes them as old as the read", () => {
  const clock = new TwoClocks();
  const times = new ReceiveTime(clock);
  const before = clock.nowUs;
  clock.advance(10);
  clock.nowUs -= 3_600_000_000;
  times.read();
  assert.equal(times.monoMs(before), clock.nowMs);
  // Frames that came after it was set are told right again, though not before those.
  const after = clock.nowUs;
  clock.advance(20);
  times.read();
  assert.equal(times.monoMs(after), clock.nowMs - 20);
});

Deno.test("a wall clock set forward while frames wait makes them as old as the read, or as the frame before", () => {
  const clock = new TwoClocks();
  const times = new ReceiveTime(clock);
  times.read();
  times.monoMs(clock.nowUs);
  const before = clock.nowUs + 5000;
  clock.advance(10);
  clock.nowUs += (MAX_FRAME_AGE_MS - 1000) * 1000;
  times.read();
  assert.equal(times.monoMs(before), 10_000);
  clock.nowUs += 3_600_000_000;
  clock.advance(10);
  times.read();
  assert.equal(times.monoMs(before), clock.nowMs);
});

Deno.test("a stamp later than the read is as old as the read", () => {
  const clock = new TwoClocks();
  const times = new ReceiveTime(clock);
  times.read();
  assert.equal(times.monoMs(clock.nowUs + 400), clock.nowMs);
});

Deno.test("whatever the wall clock does, times of frames never go back and are never later than the read", () => {
  const random = new Random(7);
  const clock = new TwoClocks();
  const times = new ReceiveTime(clock);
  let lastMs = -Infinity;
  for (let round = 0; round < 2000; round++) {
    const stamps: number[] = [];
    for (let i = 0; i < random.next() * 8; i++) {
      stamps.push(clock.nowUs);
      clock.advance(random.next() * 200);
      if (random.chance(0.1)) clock.nowUs += (random.next() - 0.5) * 10 ** (4 + random.next() * 9);
    }
    const readMs = times.read();
    for (const timeUs of stamps) {
      const ms = times.monoMs(timeUs);
      assert.ok(ms >= lastMs && ms <= readMs);
      lastMs = ms;
    }
  }
});
