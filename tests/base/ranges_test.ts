import assert from "node:assert/strict";
import { type Range, Ranges, RangesFullError } from "../../src/base/mod.ts";
import { Random } from "../support/random.ts";

/** Numbers that the model knows: a byte each. */
const SPAN = 200;

/** The same set, kept in the simplest way. */
class Bitmap {
  readonly bits = new Uint8Array(SPAN);

  static random(random: Random): Bitmap {
    const bitmap = new Bitmap();
    for (let i = random.int(30); i > 0; i--) bitmap.fill(rangeIn(random), 1);
    return bitmap;
  }

  fill({ start, end }: Range, value: 0 | 1): number {
    const before = this.count();
    this.bits.fill(value, start, end);
    return Math.abs(this.count() - before);
  }

  count(): number {
    return this.bits.reduce((sum, bit) => sum + bit, 0);
  }

  /** Ranges of numbers that have this value, from `from` up to but without `end`. */
  ranges(value: 0 | 1, { from = 0, end = SPAN } = {}): Range[] {
    const result: Range[] = [];
    for (let number = from; number < end; number++) {
      if (this.bits[number] !== value) continue;
      const last = result.at(-1);
      if (last?.end === number) last.end++;
      else result.push({ start: number, end: number + 1 });
    }
    return result;
  }

  combine(other: Bitmap, join: (here: number, there: number) => number): Bitmap {
    const result = new Bitmap();
    this.bits.forEach((bit, number) => result.bits[number] = join(bit, other.bits[number]!));
    return result;
  }

  toRanges(): Ranges {
    return new Ranges(this.ranges(1));
  }
}

/** A range, short in most cases, now and then empty. */
function rangeIn(random: Random): Range {
  const start = random.int(SPAN);
  return { start, end: Math.min(SPAN, start + random.int(random.chance(0.1) ? 100 : 9)) };
}

function same(ranges: Ranges, model: Bitmap): void {
  const expected = model.ranges(1);
  assert.deepEqual([...ranges], expected);
  assert.equal(ranges.size, expected.length);
  assert.equal(ranges.count, model.count());
  assert.equal(ranges.last, expected.length === 0 ? undefined : expected.at(-1)!.end - 1);
}

Deno.test("ranges hold the same numbers as a bitmap after any sequence of additions and removals", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const model = new Bitmap();
    const ranges = new Ranges();
    for (let step = 0; step < 60; step++) {
      const range = rangeIn(random);
      const adds = random.chance(0.6);
      const changed = adds ? ranges.add(range.start, range.end) : ranges.remove(range.start, range.end);
      assert.equal(changed, model.fill(range, adds ? 1 : 0), `seed ${seed} step ${step}`);
      same(ranges, model);
    }
  }
});

Deno.test("ranges answer every question as a bitmap does", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const model = Bitmap.random(random);
    const ranges = model.toRanges();
    for (let number = 0; number < SPAN; number++) {
      assert.equal(ranges.has(number), model.bits[number] === 1);
      const hole = model.bits.indexOf(0, number);
      assert.equal(ranges.contiguousThrough(number), (hole < 0 ? SPAN : hole) - 1);
    }
    for (let i = 0; i < 50; i++) {
      const { start, end } = rangeIn(random);
      assert.equal(ranges.covers(start, end), !model.bits.subarray(start, end).includes(0));
      assert.deepEqual(ranges.holes(end, start), model.ranges(0, { from: start, end }));
      assert.deepEqual(ranges.firstHole(end, start), model.ranges(0, { from: start, end })[0]);
    }
    assert.deepEqual(ranges.holes(SPAN), model.ranges(0, { from: 1 }));
  }
});

Deno.test("ranges combine as bitmaps do, and stay as they were", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const [here, there] = [Bitmap.random(random), Bitmap.random(random)];
    const [a, b] = [here.toRanges(), there.toRanges()];
    same(a.union(b), here.combine(there, (x, y) => x | y));
    same(a.intersect(b), here.combine(there, (x, y) => x & y));
    same(a.subtract(b), here.combine(there, (x, y) => x & ~y));
    const combined = a.subtract(b);
    combined.add(0, SPAN);
    same(a, here);
    same(b, there);
  }
});

Deno.test("the last contiguous number is 0 while number 1 is missing", () => {
  const ranges = new Ranges([{ start: 2, end: 10 }]);
  assert.equal(ranges.contiguousThrough(), 0);
  assert.equal(ranges.add(1, 2), 1);
  assert.equal(ranges.contiguousThrough(), 9);
});

Deno.test("a hole shrinks from the front when its start is covered", () => {
  const ranges = new Ranges([{ start: 1, end: 1000 }, { start: 2000, end: 3000 }]);
  assert.deepEqual(ranges.holes(3000), [{ start: 1000, end: 2000 }]);
  ranges.add(1000, 1500);
  assert.deepEqual(ranges.holes(3000), [{ start: 1500, end: 2000 }]);
});

Deno.test("an addition of what is there in part says how much of it is new", () => {
  const ranges = new Ranges([{ start: 10, end: 20 }, { start: 30, end: 40 }]);
  assert.equal(ranges.add(15, 35), 10);
  assert.equal(ranges.add(15, 35), 0);
  assert.equal(ranges.remove(0, 12), 2);
  assert.equal(ranges.count, 28);
});

Deno.test("ranges come back from JSON, in whatever order they stand there", () => {
  const ranges = new Ranges([{ start: 5, end: 9 }, { start: 1, end: 3 }, { start: 2 ** 53 - 2, end: 2 ** 53 - 1 }]);
  assert.deepEqual([...Ranges.fromJSON(JSON.parse(JSON.stringify(ranges)))], [...ranges]);
  assert.deepEqual([...Ranges.fromJSON([{ start: 4, end: 9 }, { start: 1, end: 5 }])], [{ start: 1, end: 9 }]);
});

Deno.test("JSON that does not hold ranges is refused", () => {
  const wrong: unknown[] = [
    ...[null, undefined, 1, "[]", {}, [1], [null], [[1, 2]], [{ start: 1 }], [{ start: "1", end: 2 }]],
    ...[[{ start: 2, end: 2 }], [{ start: 3, end: 2 }], [{ start: 1.5, end: 2 }], [{ start: -1, end: 2 }]],
    ...[[{ start: 1, end: 2 ** 53 }], [{ start: 1, end: Infinity }], [{ start: NaN, end: 2 }]],
  ];
  for (const value of wrong) assert.throws(() => Ranges.fromJSON(value), RangeError, JSON.stringify(value));
});

Deno.test("a range that is none is refused and changes nothing", () => {
  const ranges = new Ranges([{ start: 1, end: 5 }]);
  for (const [start, end] of [[3, 2], [-1, 2], [0.5, 2], [0, 2 ** 53], [NaN, 1], [0, Infinity]] as const) {
    assert.throws(() => ranges.add(start, end), RangeError);
    assert.throws(() => ranges.remove(start, end), RangeError);
  }
  assert.deepEqual([...ranges], [{ start: 1, end: 5 }]);
});

Deno.test("a full set refuses another range, still takes what fills holes, and can be emptied", () => {
  const ranges = new Ranges([{ start: 1, end: 2 }, { start: 5, end: 9 }], { maxRanges: 2 });
  assert.throws(() => ranges.add(20, 21), RangesFullError);
  assert.throws(() => ranges.remove(6, 7), RangesFullError);
  assert.deepEqual([...ranges], [{ start: 1, end: 2 }, { start: 5, end: 9 }]);
  assert.equal(ranges.add(9, 12), 3);
  assert.equal(ranges.add(2, 5), 3);
  assert.equal(ranges.add(20, 21), 1);
  assert.throws(() => ranges.subtract(new Ranges([{ start: 3, end: 4 }])), RangesFullError);
  assert.equal(ranges.remove(0, 30), 12);
  assert.throws(() => Ranges.fromJSON([{ start: 1, end: 2 }, { start: 3, end: 4 }], { maxRanges: 1 }), RangesFullError);
});

Deno.test("thirty thousand ranges in any order become one when all holes are filled", () => {
  const starts = new Random(7).shuffle(Array.from({ length: 30_000 }, (_, i) => 10 * i));
  const ranges = new Ranges();
  for (const start of starts) ranges.add(start, start + 5);
  assert.equal(ranges.size, 30_000);
  assert.equal(ranges.count, 150_000);
  for (const { start, end } of ranges.holes(300_000, 0)) ranges.add(start, end);
  assert.deepEqual([...ranges], [{ start: 0, end: 300_000 }]);
});
