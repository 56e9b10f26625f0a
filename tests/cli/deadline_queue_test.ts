import assert from "node:assert/strict";
import { DeadlineQueue } from "../../cli/commands/dump/deadline_queue.ts";
import { Random } from "../support/random.ts";

Deno.test("deadline queue: gives what is due, earliest first, like a sorted list", () => {
  const random = new Random(1);
  const queue = new DeadlineQueue<number>();
  let naive: number[] = [];
  for (let round = 0; round < 20_000; round++) {
    if (random.chance(0.55)) {
      const atMs = random.int(1000);
      queue.push(atMs, atMs);
      naive.push(atMs);
      continue;
    }
    const nowMs = random.int(1000);
    const first = naive.reduce((least, each) => Math.min(least, each), Infinity);
    const expected = first <= nowMs ? first : undefined;
    assert.equal(queue.popDue(nowMs), expected);
    if (expected !== undefined) naive.splice(naive.indexOf(expected), 1);
    if (random.chance(0.001)) {
      queue.clear();
      naive = [];
    }
  }
});
