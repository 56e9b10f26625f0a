import { type Field, MAX_NUMBER_BITS, type Raw } from "./model.ts";
import type { FieldType } from "./spec.ts";

/** Smallest and largest value of a field, both inclusive. */
export interface Range {
  min: number;
  max: number;
}

const NUMBERS: ReadonlySet<FieldType> = new Set(["number", "pgn", "index", "length"]);

/** Whether a raw value within the range is decoded as null. */
export function isNull({ nulls, signed }: Field, raw: Raw): boolean {
  // −1 is a value in the standard; it is null here because all ones mean "not available".
  return nulls.includes(raw) && !(signed && Number(raw) === -1);
}

/** Smallest and largest raw value that can be sent, without the codes of "not available". */
export function rawRangeOf(field: Field): { min: Raw; max: Raw } {
  const { bits = 0, signed } = field;
  const [low, high] = signed ? [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1) - 1n] : [0n, 2n ** BigInt(bits) - 1n];
  const raw = (value: bigint): Raw => bits > MAX_NUMBER_BITS ? value : Number(value);
  let [min, max] = [low, high];
  while (max > low && isNull(field, raw(max))) max--;
  while (min < max && isNull(field, raw(min))) min++;
  return { min: raw(min), max: raw(max) };
}

/** Converts a raw value to the unit of its field. */
export function inUnit({ times, add, per }: Field, raw: Raw): number {
  return (Number(raw) * times + add) / per;
}

/** Range of a number in its unit, without the values that mean "not available"; undefined for other fields. */
export function rangeOf(field: Field): Range | undefined {
  if (field.bits === undefined || !NUMBERS.has(field.type)) return undefined;
  const { min, max } = rawRangeOf(field);
  return { min: inUnit(field, min), max: inUnit(field, max) };
}
