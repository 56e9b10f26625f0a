/** A difference between two decodings of one payload. */
export interface Difference {
  /** Where: `satellites[2].snr`. */
  path: string;
  expected: unknown;
  actual: unknown;
}

const RELATIVE = 1e-6;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isSame(expected: unknown, actual: unknown): boolean {
  if (typeof expected !== "number" || typeof actual !== "number") return expected === actual;
  return Math.abs(expected - actual) <= RELATIVE * Math.max(Math.abs(expected), Math.abs(actual));
}

/**
 * Where `actual` is not what is expected: every expected key must be there and equal (numbers to 1e-6), every other key
 * must be null or missing.
 */
export function* differences(expected: unknown, actual: unknown, path = ""): Generator<Difference> {
  if (isObject(expected) && isObject(actual)) {
    for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
      const [before, now] = [expected[key] ?? null, actual[key] ?? null];
      yield* differences(before, now, path === "" ? key : `${path}.${key}`);
    }
  } else if (Array.isArray(expected) && Array.isArray(actual)) {
    if (expected.length !== actual.length) yield { path, expected, actual };
    else for (const [index, each] of expected.entries()) yield* differences(each, actual[index], `${path}[${index}]`);
  } else if (!isSame(expected, actual)) {
    yield { path, expected, actual };
  }
}
