/** A resolution as a reduced fraction of integers. */
export interface Fraction {
  times: number;
  per: number;
}

/** Number of digits of binary and degree fractions in canboat.json. */
const CUT_DIGITS = 6;
const MAX_POWER = 64;
/** Position deltas are multiples of 1/36 of a degree, times a negative power of ten. */
const DEGREE_STEPS = 36;
const MAX_ZEROS = 12;

/** Denominators whose fractions are no short decimals. */
const KNOWN_DENOMINATORS = [
  ...Array.from({ length: MAX_POWER }, (_, power) => 2 ** power),
  ...Array.from({ length: MAX_ZEROS }, (_, zeros) => DEGREE_STEPS * 10 ** zeros),
];

/**
 * The exact fraction of a resolution. A truncated decimal is converted back to the power of two or fraction of a degree
 * that it was. Throws if there is none.
 */
export function fractionOf(resolution: number): Fraction {
  const exact = decimalFraction(resolution);
  if (exact.times === 1 || exact.per === 1) return exact;
  const [per, ...others] = KNOWN_DENOMINATORS.filter((each) =>
    Number((1 / each).toPrecision(CUT_DIGITS)) === resolution
  );
  if (per === undefined || others.length > 0) throw new Error(`no fraction is known for the resolution ${resolution}`);
  return { times: 1, per };
}

function decimalFraction(value: number): Fraction {
  const [, digits, exponent] = /^(\d(?:\.\d+)?)e([+-]\d+)$/.exec(value.toExponential()) ?? [];
  if (digits === undefined || value <= 0) throw new Error(`no resolution: ${value}`);
  const [whole = "", decimals = ""] = digits.split(".");
  const zeros = Number(exponent) - decimals.length;
  let times = BigInt(whole + decimals) * 10n ** BigInt(Math.max(zeros, 0));
  let per = 10n ** BigInt(Math.max(-zeros, 0));
  const common = greatestCommonDivisor(times, per);
  times /= common;
  per /= common;
  return { times: Number(times), per: Number(per) };
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}
