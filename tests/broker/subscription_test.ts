import assert from "node:assert/strict";
import { extendDropped, Subscription } from "../../src/broker/mod.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";

const ANY = message();

function drainAll(subscription: Subscription, max?: number): number[] {
  const seqs: number[] = [];
  subscription.drain((seq) => seqs.push(seq), max);
  return seqs;
}

Deno.test("a subscription's capacity must be a power of two", () => {
  for (const capacity of [0, 3, 100, -4, 0.5, NaN]) {
    assert.throws(() => new Subscription({ capacity }), RangeError, String(capacity));
  }
  assert.equal(new Subscription({ capacity: 128 }).waiting, 0);
});

Deno.test("a subscription hands over numbers in order, in as many goes as one likes", () => {
  const subscription = new Subscription({ capacity: 8 });
  for (const seq of [5, 6, 9, 2 ** 40]) subscription.offer(seq, ANY);
  assert.deepEqual(drainAll(subscription, 3), [5, 6, 9]);
  assert.equal(subscription.waiting, 1);
  assert.deepEqual(drainAll(subscription, 0), []);
  assert.deepEqual(drainAll(subscription), [2 ** 40]);
  assert.deepEqual(drainAll(subscription), []);
});

Deno.test("a subscription takes only what is wanted, by bus, source and PGN", () => {
  const asked: number[][] = [];
  const accept = (...what: [number, number, number]) => asked.push(what) % 2 === 0;
  const subscription = new Subscription({ capacity: 8, accept });
  subscription.offer(1, message({ bus: 3, src: 200, pgn: 129029 }));
  subscription.offer(2, message({ bus: 1, src: 7, dst: 9, pgn: 126208 }));
  assert.deepEqual(asked, [[3, 200, 129029], [1, 7, 126208]]);
  assert.deepEqual(drainAll(subscription), [2]);
});

Deno.test("what is not wanted is neither dropped nor woken for", () => {
  let wakes = 0;
  const subscription = new Subscription({ capacity: 1, accept: () => false, wake: () => wakes++ });
  for (let seq = 1; seq <= 100; seq++) subscription.offer(seq, ANY);
  assert.deepEqual([subscription.waiting, subscription.droppedTotal, wakes], [0, 0, 0]);
  assert.equal(subscription.takeDropped(), undefined);
});

Deno.test("a full subscription drops the newest, counts them and tells their range once", () => {
  const subscription = new Subscription({ capacity: 4 });
  for (let seq = 1; seq <= 9; seq++) subscription.offer(seq, ANY);
  assert.equal(subscription.waiting, 4);
  assert.equal(subscription.droppedTotal, 5);
  assert.deepEqual(subscription.takeDropped(), { from_seq: 5, to_seq: 9, count: 5 });
  assert.equal(subscription.takeDropped(), undefined);
  assert.deepEqual(drainAll(subscription), [1, 2, 3, 4]);
  subscription.offer(10, ANY);
  assert.deepEqual(drainAll(subscription), [10]);
  assert.equal(subscription.droppedTotal, 5);
});

Deno.test("a reader's own drops are counted with the others, in one range", () => {
  const subscription = new Subscription({ capacity: 4 });
  subscription.drop(7);
  subscription.drop(3);
  assert.deepEqual(subscription.takeDropped(), { from_seq: 3, to_seq: 7, count: 2 });
  assert.equal(subscription.droppedTotal, 2);
});

Deno.test("two reports of drops become one that bounds both and adds their counts", () => {
  const one = { from_seq: 5, to_seq: 9, count: 2 };
  assert.deepEqual(extendDropped(undefined, one), one);
  assert.deepEqual(extendDropped(one, { from_seq: 20, to_seq: 21, count: 2 }), { from_seq: 5, to_seq: 21, count: 4 });
  assert.deepEqual(extendDropped(one, { from_seq: 1, to_seq: 6, count: 1 }), { from_seq: 1, to_seq: 9, count: 3 });
});

Deno.test("a subscription wakes its reader once, for the first frame that waits", () => {
  let wakes = 0;
  const subscription = new Subscription({ capacity: 4, wake: () => wakes++ });
  for (let seq = 1; seq <= 6; seq++) subscription.offer(seq, ANY);
  assert.equal(wakes, 1);
  drainAll(subscription);
  assert.equal(wakes, 1);
  subscription.offer(7, ANY);
  assert.equal(wakes, 2);
});

Deno.test("when the reader is woken the frame is there already", () => {
  const got: number[] = [];
  const subscription: Subscription = new Subscription({
    capacity: 2,
    wake: () => subscription.drain((seq) => got.push(seq)),
  });
  for (let seq = 1; seq <= 5; seq++) subscription.offer(seq, ANY);
  assert.deepEqual(got, [1, 2, 3, 4, 5]);
  assert.equal(subscription.droppedTotal, 0);
});

Deno.test("every frame offered is delivered, waiting or dropped, under any order of offers and drains", () => {
  for (let seed = 0; seed < 20; seed++) {
    const random = new Random(seed);
    const subscription = new Subscription({ capacity: random.pick([1, 2, 8, 64]) });
    const delivered: number[] = [];
    let reported = 0;
    let seq = 0;
    for (let i = 0; i < 2000; i++) {
      if (random.chance(0.7)) subscription.offer(++seq, ANY);
      else delivered.push(...drainAll(subscription, random.int(10)));
      if (random.chance(0.1)) reported += subscription.takeDropped()?.count ?? 0;
      assert.equal(delivered.length + subscription.waiting + subscription.droppedTotal, seq);
    }
    reported += subscription.takeDropped()?.count ?? 0;
    assert.equal(reported, subscription.droppedTotal);
    assert.deepEqual(delivered, [...new Set(delivered)].sort((a, b) => a - b));
  }
});
