import assert from "node:assert/strict";
import { Ring, RingPool } from "../../src/broker/mod.ts";
import { formatHex, newStoredFrame } from "../../src/frame/mod.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";
import { rounds } from "../support/needs.ts";

/** Everything that can be asked of a ring, numbers around it included. */
function contents(ring: Ring): unknown {
  const { base, head, oldest, size, evictedThrough } = ring;
  const frame = newStoredFrame();
  const frames: string[] = [];
  for (let seq = Math.max(0, oldest - 2000); seq <= head + 2000; seq++) {
    if (!ring.read(seq, frame)) continue;
    const { timeUs, id, pgn, bus, data, offset: start, length } = frame;
    frames.push([frame.seq, timeUs, id, pgn, bus, formatHex(data, { start, length })].join(" "));
  }
  return { base, head, oldest, size, evictedThrough, frames };
}

/** Does the same to all of the rings: frames, gaps, and now and then numbers that begin again or go on far behind. */
function use(rings: readonly Ring[], random: Random): void {
  for (let count = random.int(3000); count > 0; count--) {
    const length = random.pick([0, 1, 8, 8, 8, 43, 223, 1785]);
    const frame = message({ src: random.int(256), bus: random.int(4), timeUs: count, data: random.bytes(length) });
    const step = random.chance(0.01) ? random.between(2, 3000) : 1;
    const firstSeq = random.chance(0.001) ? random.between(1, 1e6) : undefined;
    for (const ring of rings) {
      if (firstSeq !== undefined) ring.clear(firstSeq);
      ring.push(ring.head + step, frame);
    }
  }
}

Deno.test("a ring whose memory is full of old frames is as one whose memory is new", () => {
  const pool = new RingPool();
  for (let seed = 1; seed <= 60; seed++) {
    const random = new Random(seed);
    const capacity = 2 ** random.int(13);
    const firstSeq = random.between(1, 5000);
    const pooled = new Ring(capacity, { firstSeq, pool });
    const fresh = new Ring(capacity, { firstSeq });
    assert.deepEqual(contents(pooled), contents(fresh), `seed ${seed}, empty`);
    use([pooled, fresh], random);
    assert.deepEqual(contents(pooled), contents(fresh), `seed ${seed}`);
    pooled.release();
  }
  assert.ok(pool.bytes > 0);
});

Deno.test("rings that share a pool at the same time never see each other's frames", () => {
  const random = new Random(8);
  const pool = new RingPool({ maxBytes: 500_000 });
  const make = () => {
    const capacity = 2 ** random.between(4, 12);
    return { pooled: new Ring(capacity, { pool }), fresh: new Ring(capacity) };
  };
  const pairs = Array.from({ length: 4 }, make);
  for (let round = 0; round < rounds(60, 20); round++) {
    const at = random.int(pairs.length);
    const { pooled, fresh } = pairs[at]!;
    use([pooled, fresh], random);
    for (const pair of pairs) assert.deepEqual(contents(pair.pooled), contents(pair.fresh), `round ${round}`);
    if (!random.chance(0.3)) continue;
    pooled.release();
    pairs[at] = make();
  }
});

Deno.test("a ring without its memory has no frames, keeps its numbers, and goes on when it is needed again", () => {
  const ring = new Ring(1024, { firstSeq: 11, pool: new RingPool() });
  for (let seq = 11; seq <= 20; seq++) ring.push(seq, message({ src: seq }));
  ring.release();
  ring.release();
  const { head, base, oldest, size, evictedThrough } = ring;
  assert.deepEqual({ head, base, oldest, size, evictedThrough }, {
    ...{ head: 20, base: 10, oldest: 21, size: 0, evictedThrough: 20 },
  });
  assert.equal(ring.read(20, newStoredFrame()), false);
  ring.push(25, message({ src: 25 }));
  assert.deepEqual([ring.oldest, ring.size, ring.read(25, newStoredFrame())], [25, 1, true]);
});

Deno.test("a pool holds no more than it may, and gives what it holds before it makes anything", () => {
  const pool = new RingPool({ maxBytes: 100 });
  const [first, second] = [pool.allocate(60), pool.allocate(60)];
  pool.free(first);
  pool.free(second);
  pool.free(new ArrayBuffer(0));
  assert.equal(pool.bytes, 60);
  assert.notEqual(pool.allocate(40), first);
  assert.equal(pool.allocate(60), first);
  assert.equal(pool.bytes, 0);
});
