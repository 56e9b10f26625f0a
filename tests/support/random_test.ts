import assert from "node:assert/strict";
import { Random } from "./random.ts";

Deno.test("random gives the same numbers for the same seed and others for another", () => {
  const draw = (seed: number) => {
    const random = new Random(seed);
    return Array.from({ length: 20 }, () => random.int(1000));
  };
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
});

Deno.test("random reaches both ends of a range and nothing beyond", () => {
  const random = new Random(1);
  const drawn = new Set(Array.from({ length: 1000 }, () => random.between(3, 6)));
  assert.deepEqual([...drawn].sort(), [3, 4, 5, 6]);
});
