/** Values of the columns of a Parquet table until their row group is written. */
import { type Decoded, textOf } from "../pgn/mod.ts";
import type { FieldColumn } from "./tables.ts";

/** Values of a column as the package takes them. */
export type ColumnValues =
  | BigInt64Array
  | Int32Array
  | Float64Array
  | (bigint | number | string | Uint8Array | null)[];

/** A column that collects values; `undefined` is null. */
export interface ValueColumn<T> {
  add(value: T | undefined): void;
  /** Takes the values, which are valid until the next `add`. */
  take(): ColumnValues;
}

const FIRST_ROWS = 256;
const WORD = 2 ** 32;

/** Numbers. They are not on the heap, where all of a row group would outlive the young generation. */
export class NumberColumn implements ValueColumn<number> {
  readonly #type: "int" | "long" | "double";
  #values = new Float64Array(FIRST_ROWS);
  #count = 0;
  #hasNull = false;

  constructor(type: "int" | "long" | "double") {
    this.#type = type;
  }

  add(value: number | undefined): void {
    if (this.#count === this.#values.length) {
      const grown = new Float64Array(2 * this.#count);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#hasNull ||= value === undefined;
    // No decoded value is NaN.
    this.#values[this.#count++] = value ?? NaN;
  }

  take(): ColumnValues {
    const values = this.#values.subarray(0, this.#count);
    const [isLong, hasNull] = [this.#type === "long", this.#hasNull];
    this.#count = 0;
    this.#hasNull = false;
    if (hasNull) return Array.from(values, (each) => Number.isNaN(each) ? null : isLong ? BigInt(each) : each);
    if (isLong) return asLongs(values);
    return this.#type === "int" ? Int32Array.from(values) : values;
  }
}

/** Numbers as 64-bit integers, without a bigint for each, which costs several times as much. */
function asLongs(values: Float64Array): BigInt64Array {
  const longs = new BigInt64Array(values.length);
  const words = new Int32Array(longs.buffer);
  for (let i = 0; i < values.length; i++) {
    const value = values[i] ?? 0;
    words[2 * i] = value | 0;
    words[2 * i + 1] = Math.floor(value / WORD);
  }
  return longs;
}

/** Texts. The array is reused: new ones would outlive the young generation, too. */
export class TextColumn implements ValueColumn<string> {
  readonly #values: (string | null)[] = [];
  #count = 0;

  add(value: string | undefined): void {
    this.#values[this.#count++] = value ?? null;
  }

  take(): ColumnValues {
    const values = this.#values;
    const taken = this.#count === values.length ? values : values.slice(0, this.#count);
    this.#count = 0;
    return taken;
  }
}

/** A field of decoded payloads. */
export class FieldValues {
  readonly #key: string;
  readonly #texts: TextColumn | undefined;
  readonly #numbers: NumberColumn | undefined;

  constructor({ key, type }: FieldColumn) {
    this.#key = key;
    if (type === "text") this.#texts = new TextColumn();
    else this.#numbers = new NumberColumn(type);
  }

  /** Adds the field of a payload; undefined: it was not decoded. */
  add(decoded: Decoded | undefined): void {
    const value = decoded?.[this.#key];
    this.#texts?.add(textOf(value));
    this.#numbers?.add(typeof value === "number" ? value : undefined);
  }

  take(): ColumnValues {
    return this.#texts?.take() ?? this.#numbers?.take() ?? [];
  }
}

/** Payloads in hex, in one buffer. */
export class HexColumn {
  #bytes = new Uint8Array(FIRST_ROWS * 16);
  #length = 0;
  /** Where each ends; −1: null. */
  #ends: number[] = [];

  add(data: Uint8Array, start: number, end: number): void {
    const needed = this.#length + 2 * (end - start);
    if (needed > this.#bytes.length) {
      const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    for (let at = this.#length, i = start; i < end; i++) {
      const value = data[i] ?? 0;
      this.#bytes[at++] = digit(value >>> 4);
      this.#bytes[at++] = digit(value & 15);
    }
    this.#length = needed;
    this.#ends.push(needed);
  }

  addNull(): void {
    this.#ends.push(-1);
  }

  /** Takes the values, which are valid until the next `add`. */
  take(): ColumnValues {
    let start = 0;
    const values = this.#ends.map((end) => {
      if (end < 0) return null;
      const value = this.#bytes.subarray(start, end);
      start = end;
      return value;
    });
    this.#ends = [];
    this.#length = 0;
    return values;
  }
}

function digit(value: number): number {
  return value < 10 ? 48 + value : 87 + value;
}
