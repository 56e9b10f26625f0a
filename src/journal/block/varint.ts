// Unsigned LEB128, the varint of the block format, for integers from 0 to 2^53 - 1.

/** Longest varint of a number below 2^53, bytes. */
const MAX_BYTES = 8;

/** Appends a number to a list of bytes. */
export function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push(rest % 0x80 | 0x80);
  bytes.push(rest);
}

/** Reads consecutive varints; undefined at the end of the bytes, or for 2^53 or more. */
export class VarintReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** True when all bytes are consumed. */
  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Offset of the next varint. */
  get position(): number {
    return this.#at;
  }

  next(): number | undefined {
    let value = 0;
    for (let i = 0, unit = 1; i < MAX_BYTES; i++, unit *= 0x80) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) return undefined;
      value += (byte & 0x7f) * unit;
      if (byte < 0x80) return Number.isSafeInteger(value) ? value : undefined;
    }
    return undefined;
  }

  /** Copies the next bytes. */
  bytes(count: number): Uint8Array<ArrayBuffer> | undefined {
    const found = this.#bytes.slice(this.#at, this.#at + count);
    this.#at += count;
    return found.length === count ? new Uint8Array(found) : undefined;
  }
}
