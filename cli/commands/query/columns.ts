import { type DecodedValue, textOf } from "@vessel/gateway/pgn";

/** Rows of a chunk: the size of DuckDB's vectors. */
export const CHUNK_ROWS = 2048;

/** SQL type of a column. */
export type SqlType = "TIMESTAMP" | "BIGINT" | "INTEGER" | "UINTEGER" | "DOUBLE" | "VARCHAR";

/** A value of a column; undefined is NULL, too. */
export type ColumnValue = DecodedValue | undefined;

/** A text that is stored elsewhere. */
interface LongText {
  row: number;
  text: Uint8Array<ArrayBuffer>;
}

/** Texts of up to this many bytes are stored in place. */
const INLINE_BYTES = 12;
/** Bytes of a text in a vector: length u32, and the text in place or a pointer. */
const TEXT_BYTES = 16;
const TEXT_WORDS = TEXT_BYTES / 4;
/** Encoded texts that are remembered; fields with labels have few, others would fill the memory. */
const MAX_REMEMBERED_TEXTS = 4096;
const NO_WORDS = new Uint32Array(TEXT_WORDS);
const UINT32 = 2 ** 32;
const encoder = new TextEncoder();

/** Stores a value in a row; false: it has another type than the column. */
type Put = (row: number, value: ColumnValue) => boolean;

/** Values of one column in the layout of DuckDB's vectors. */
export class ColumnBuffer {
  /** Values by row. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** A bit for each row: 0 is NULL. */
  readonly validity: Uint8Array<ArrayBuffer> = new Uint8Array(CHUNK_ROWS / 8).fill(0xff);
  /** Texts that do not fit in place, with their rows. */
  readonly longTexts: LongText[];
  /** True if a row is NULL. */
  hasNulls = false;
  readonly #put: Put;

  /** @param options.longTexts gets texts from `put` */
  constructor({ bytes, put, longTexts = [] }: {
    bytes: Uint8Array<ArrayBuffer>;
    put: Put;
    longTexts?: LongText[];
  }) {
    this.bytes = bytes;
    this.longTexts = longTexts;
    this.#put = put;
  }

  /** Prepares for the next chunk. */
  clear(): void {
    if (this.hasNulls) this.validity.fill(0xff);
    this.hasNulls = false;
    this.longTexts.length = 0;
  }

  /** Sets a row; a value of another type than the column's is NULL. */
  set(row: number, value: ColumnValue): void {
    if (this.#put(row, value)) return;
    this.hasNulls = true;
    this.validity[row >> 3] = (this.validity[row >> 3] ?? 0) & ~(1 << (row & 7));
  }
}

/** TIMESTAMP, microseconds since 1970, and BIGINT: whole numbers of at most 53 bits. */
function wideColumn(): ColumnBuffer {
  const words = new Int32Array(2 * CHUNK_ROWS);
  const put: Put = (row, value) => {
    if (typeof value !== "number") return false;
    const high = Math.floor(value / UINT32);
    words[2 * row] = value - high * UINT32;
    words[2 * row + 1] = high;
    return true;
  };
  return new ColumnBuffer({ bytes: new Uint8Array(words.buffer), put });
}

/** INTEGER, UINTEGER and DOUBLE. */
function numberColumn(
  values: Int32Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>,
): ColumnBuffer {
  const put: Put = (row, value) => {
    if (typeof value !== "number") return false;
    values[row] = value;
    return true;
  };
  return new ColumnBuffer({ bytes: new Uint8Array(values.buffer), put });
}

/** VARCHAR. */
function textColumn(): ColumnBuffer {
  const words = new Uint32Array(TEXT_WORDS * CHUNK_ROWS);
  const remembered = new Map<string, Uint32Array | Uint8Array<ArrayBuffer>>();
  const longTexts: LongText[] = [];
  const put: Put = (row, value) => {
    const text = typeof value === "string" ? value : textOf(value);
    if (text === undefined) return false;
    let encoded = remembered.get(text);
    if (encoded === undefined) {
      if (remembered.size >= MAX_REMEMBERED_TEXTS) remembered.clear();
      remembered.set(text, encoded = encodeText(text));
    }
    const inPlace = encoded instanceof Uint32Array ? encoded : NO_WORDS;
    // Faster than `set` for so few.
    for (let i = 0, at = row * TEXT_WORDS; i < TEXT_WORDS; i++, at++) words[at] = inPlace[i] ?? 0;
    if (!(encoded instanceof Uint32Array)) longTexts.push({ row, text: encoded });
    return true;
  };
  return new ColumnBuffer({ bytes: new Uint8Array(words.buffer), put, longTexts });
}

/** A text as it is stored in place, or its bytes if it is too long. */
function encodeText(text: string): Uint32Array | Uint8Array<ArrayBuffer> {
  const bytes = encoder.encode(text);
  if (bytes.length > INLINE_BYTES) return bytes;
  const words = new Uint32Array(TEXT_WORDS);
  words[0] = bytes.length;
  new Uint8Array(words.buffer).set(bytes, 4);
  return words;
}

/** A buffer for a column of this type. */
export function columnBuffer(type: SqlType): ColumnBuffer {
  switch (type) {
    case "TIMESTAMP":
    case "BIGINT":
      return wideColumn();
    case "INTEGER":
      return numberColumn(new Int32Array(CHUNK_ROWS));
    case "UINTEGER":
      return numberColumn(new Uint32Array(CHUNK_ROWS));
    case "DOUBLE":
      return numberColumn(new Float64Array(CHUNK_ROWS));
    case "VARCHAR":
      return textColumn();
  }
}
