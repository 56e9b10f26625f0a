import assert from "node:assert/strict";

/** Rounding of the last digit of a position. */
const TOLERANCE = 2e-7;

/** Sums of the same numbers in another order differ in their last digits. */
export function assertAlmostEqual(found: unknown, expected: unknown): void {
  const [a, b] = [numbersOf(found), numbersOf(expected)];
  assert.equal(a.text, b.text);
  for (const [i, number] of a.list.entries()) {
    assert.ok(Math.abs(number - b.list[i]!) <= TOLERANCE, `${number} instead of ${b.list[i]}`);
  }
}

/** The value as text, with the index of each number instead of it, and the numbers. */
function numbersOf(value: unknown): { text: string; list: number[] } {
  const list: number[] = [];
  const text = JSON.stringify(value, (_, each) => typeof each === "number" ? `#${list.push(each)}` : each);
  return { text, list };
}
