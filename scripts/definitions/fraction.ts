/** A resolution as a fraction of integers in lowest terms. */
export interface Fraction {
  times: number;
  per: number;
}

/** canboat cuts binary and degree fractions to this many digits. */
const CUT_DIGITS = 6;
const MAX_POWER = 64;
/** Position deltas come in fractions of an arc second: 1/36, times a power of ten, of a degree. */
const DEGREE_STEPS = 36;
const MAX_ZEROS = 12;

/** Denominators that do not end as a short decimal. */
const KNOWN_DENOMINATORS = [
  ...Array.from({ length: MAX_POWER }, (_, power) => 2 ** power),
  ...Array.from({ length: MAX_ZEROS }, (_, zeros) => DEGREE_STEPS * 10 ** zeros),
];

/**
 * The exact fraction that a resolution stands for: short decimals as they are, and a decimal that was cut as the
 * power of two or part of a degree that it was before. Throws on a resolution that is neither.
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
