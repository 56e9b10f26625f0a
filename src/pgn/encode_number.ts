/** Conversion of numbers to raw values. */
import { type Field, MAX_NUMBER_BITS, type Raw } from "./model.ts";
import { fail, quote } from "./encode_error.ts";
import { inUnit, isNull, rawRangeOf } from "./field.ts";

/** Closer than this to half a raw value, rounding with doubles is unreliable. */
const UNSURE = 0.001;
const DOUBLE_BITS = 53;

/** A decimal number: `digits · 10^exponent`. */
function decimalOf(value: number): { digits: bigint; exponent: number } {
  const [mantissa = "", exponent = "0"] = value.toString().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

/** The integer nearest to `top / bottom`; halves are rounded away from zero. */
function nearestInteger(top: bigint, bottom: bigint): bigint {
  const half = bottom / 2n;
  return (top < 0n ? top - half : top + half) / bottom;
}

/** The raw value nearest to the decimal digits of a number. */
function nearestExactly({ times, add, per }: Field, value: number): bigint {
  const { digits, exponent } = decimalOf(value);
  const scale = 10n ** BigInt(Math.abs(exponent));
  const [top, bottom] = exponent < 0 ? [digits, scale] : [digits * scale, 1n];
  return nearestInteger(top * BigInt(per) - BigInt(add) * bottom, BigInt(times) * bottom);
}

/** Of a wide raw value and the doubles around it, the first that decodes to exactly the same number. */
function readingBackAs(field: Field, value: number, { raw }: { raw: bigint }): bigint {
  const size = (raw < 0n ? -raw : raw).toString(2).length;
  const step = 1n << BigInt(Math.max(0, size - DOUBLE_BITS));
  // Far outside of every range, and of the doubles, too.
  if (!Number.isFinite(Number(raw))) return raw;
  const double = BigInt(Number(raw));
  const near = [raw, double, double - step, double + step, double - 2n * step, double + 2n * step];
  return near.find((each) => inUnit(field, each) === value) ?? raw;
}

function nearest(field: Field, value: number): Raw {
  if ((field.bits ?? 0) > MAX_NUMBER_BITS) return readingBackAs(field, value, { raw: nearestExactly(field, value) });
  const raw = (value * field.per - field.add) / field.times;
  const whole = Math.round(raw);
  // Far outside the range any double will do.
  const sure = Math.abs(raw - whole) < 0.5 - UNSURE || Math.abs(raw) > 2 ** MAX_NUMBER_BITS;
  return sure ? whole : Number(nearestExactly(field, value));
}

/** Raw value of a number in the unit of its field. */
export function numberRaw(field: Field, value: unknown, { path }: { path: string }): Raw {
  if (typeof value !== "number" || Number.isNaN(value)) fail(path, `${quote(value)} is not a number`);
  const range = rawRangeOf(field);
  const [min, max] = [inUnit(field, range.min), inUnit(field, range.max)];
  const raw = Number.isFinite(value) ? nearest(field, value) : undefined;
  if (raw === undefined || raw < range.min || raw > range.max) {
    // The ends of wide fields lie between two doubles.
    if (value === min) return range.min;
    if (value === max) return range.max;
    fail(path, `${quote(value)} is outside ${min} to ${max}${field.unit === undefined ? "" : ` ${field.unit}`}`);
  }
  if (isNull(field, raw)) fail(path, `${quote(value)} means "not available"`);
  return raw;
}
