/** Bytes that are not a valid message, or a message with a value that cannot be encoded. */
export class WireError extends Error {
  override readonly name = "WireError";
}

/** Wire types of protobuf. 3 and 4 (groups) are deprecated and refused. */
const VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5;

const MAX_VARINT_BYTES = 10;
const FIRST_BYTES = 4096;
/** A larger buffer is replaced by a small one after the message. */
const MAX_KEPT_BYTES = 256 * 1024;

const UTF8_DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const UTF8_ENCODER = new TextEncoder();

/**
 * Reads a protobuf message field by field, without copying. Lengths are checked against the received bytes.
 *
 * Every method throws {@linkcode WireError} if the bytes end early or have another wire type.
 */
export class WireReader {
  readonly #bytes: Uint8Array;
  #offset = 0;
  #end: number;
  #field = 0;
  #type = VARINT;

  constructor(bytes: Uint8Array) {
    // A view of a Buffer would be a Buffer, whose slice() does not copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#end = bytes.length;
  }

  /** Number of the next field, whose value must be read or skipped next; 0 at the end of the message. */
  next(): number {
    if (this.#offset === this.#end) return 0;
    const tag = this.#varint();
    if (tag > 0xffff_ffff || tag < 8) throw new WireError(`invalid field tag ${tag}`);
    this.#type = tag & 7;
    return this.#field = tag >>> 3;
  }

  /** An integer from 0 to 2^53 - 1. */
  uint64(): number {
    this.#expect(VARINT);
    return this.#varint();
  }

  /** An integer below 2^32. */
  uint32(): number {
    const value = this.uint64();
    if (value > 0xffff_ffff) throw new WireError(`field ${this.#field} is above 32 bits: ${value}`);
    return value;
  }

  bool(): boolean {
    return this.uint64() !== 0;
  }

  /** A view of at most `maxBytes` bytes. */
  bytes(maxBytes: number): Uint8Array {
    this.#expect(DELIMITED);
    const length = this.#length();
    if (length > maxBytes) throw new WireError(`field ${this.#field} has ${length} bytes, over ${maxBytes}`);
    return this.#bytes.subarray(this.#offset, this.#offset += length);
  }

  /** UTF-8 text of at most `maxBytes` bytes. */
  text(maxBytes: number): string {
    const bytes = this.bytes(maxBytes);
    try {
      return UTF8_DECODER.decode(bytes);
    } catch {
      throw new WireError(`field ${this.#field} is not UTF-8`);
    }
  }

  /** A nested message; `read` gets its fields only. */
  message<T>(read: (reader: WireReader) => T): T {
    this.#expect(DELIMITED);
    const length = this.#length();
    const end = this.#end;
    this.#end = this.#offset + length;
    const value = read(this);
    this.#end = end;
    return value;
  }

  /** Appends a value to its list of at most `max` values, and returns the list. */
  push<T>(list: T[], { max, read }: { max: number; read: (reader: WireReader) => T }): T[] {
    if (list.length >= max) throw new WireError(`field ${this.#field} occurs more than ${max} times`);
    list.push(read(this));
    return list;
  }

  /** Skips the value of an unknown field. */
  skip(): void {
    if (this.#type === VARINT) this.#skipVarint();
    else if (this.#type === DELIMITED) this.#skipBytes(this.#varint());
    else if (this.#type === FIXED64) this.#skipBytes(8);
    else if (this.#type === FIXED32) this.#skipBytes(4);
    else throw new WireError(`field ${this.#field} has wire type ${this.#type}`);
  }

  #expect(type: number): void {
    if (this.#type !== type) throw new WireError(`field ${this.#field} has wire type ${this.#type} instead of ${type}`);
  }

  #length(): number {
    const length = this.#varint();
    if (length > this.#end - this.#offset) throw new WireError(`field ${this.#field} is truncated`);
    return length;
  }

  #skipBytes(count: number): void {
    if (count > this.#end - this.#offset) throw new WireError(`field ${this.#field} is truncated`);
    this.#offset += count;
  }

  #varint(): number {
    const bytes = this.#bytes;
    let value = 0;
    for (let i = 0, scale = 1; i < MAX_VARINT_BYTES && this.#offset < this.#end; i++, scale *= 128) {
      const byte = bytes[this.#offset++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte >= 0x80) continue;
      if (value <= Number.MAX_SAFE_INTEGER) return value;
      throw new WireError(`field ${this.#field} is negative or above 2^53 - 1`);
    }
    throw new WireError(`varint after field ${this.#field} does not end`);
  }

  /** The varint of an unknown field may have any 64 bits. */
  #skipVarint(): void {
    for (let i = 0; i < MAX_VARINT_BYTES && this.#offset < this.#end; i++) {
      if ((this.#bytes[this.#offset++] ?? 0) < 0x80) return;
    }
    throw new WireError(`varint after field ${this.#field} does not end`);
  }
}

/**
 * Writes a protobuf message backwards, from its last byte to its first: the length of a nested message is known before
 * its prefix is written. Callers write the last field first. Default values are left out.
 *
 * Every method throws {@linkcode WireError} for a value that the field cannot have.
 */
export class WireWriter {
  #bytes = new Uint8Array(FIRST_BYTES);
  #offset = FIRST_BYTES;

  /** Starts a new message. */
  reset(): this {
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = new Uint8Array(FIRST_BYTES);
    this.#offset = this.#bytes.length;
    return this;
  }

  /** A copy of the written bytes. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(this.#offset);
  }

  /** Number of bytes so far, which is also the end of a nested message about to be written. */
  get length(): number {
    return this.#bytes.length - this.#offset;
  }

  uint64(field: number, value: number): void {
    if (value !== 0) this.presentUint64(field, value);
  }

  /** Writes 0, too, which {@linkcode WireWriter.uint64} leaves out. */
  presentUint64(field: number, value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new WireError(`field ${field} is not from 0 to 2^53 - 1: ${value}`);
    }
    this.#varint(value);
    this.#tag(field, VARINT);
  }

  uint32(field: number, value: number): void {
    if (value > 0xffff_ffff) throw new WireError(`field ${field} is above 32 bits: ${value}`);
    this.uint64(field, value);
  }

  bool(field: number, value: boolean): void {
    this.uint64(field, value ? 1 : 0);
  }

  bytes(field: number, value: Uint8Array, { max }: { max: number }): void {
    if (value.length > max) throw new WireError(`field ${field} has ${value.length} bytes, over ${max}`);
    if (value.length === 0) return;
    this.#delimited(field, value);
  }

  text(field: number, value: string, { max }: { max: number }): void {
    this.bytes(field, UTF8_ENCODER.encode(value), { max });
  }

  /** A list of texts; empty texts are written, too. */
  texts(field: number, values: readonly string[], { max, maxTexts }: { max: number; maxTexts: number }): void {
    this.list(field, values, {
      max: maxTexts,
      write: (value) => {
        const bytes = UTF8_ENCODER.encode(value);
        if (bytes.length > max) throw new WireError(`field ${field} has ${bytes.length} bytes, over ${max}`);
        this.#delimited(field, bytes);
      },
    });
  }

  /** Writes the length and tag of the nested message that began when {@linkcode WireWriter.length} was `end`. */
  message(field: number, end: number): void {
    this.#varint(this.length - end);
    this.#tag(field, DELIMITED);
  }

  /** Calls `write` for each value, last to first. */
  list<T>(field: number, values: readonly T[], { max, write }: { max: number; write: (value: T) => void }): void {
    if (values.length > max) throw new WireError(`field ${field} occurs ${values.length} times, over ${max}`);
    values.toReversed().forEach(write);
  }

  #delimited(field: number, value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#offset -= value.length);
    this.#varint(value.length);
    this.#tag(field, DELIMITED);
  }

  #tag(field: number, type: number): void {
    this.#varint(field * 8 + type);
  }

  #varint(value: number): void {
    this.#reserve(MAX_VARINT_BYTES);
    let offset = this.#offset -= varintBytes(value);
    // Shifts work on 32 bits only; larger values need a division.
    for (; value > 0x7fff_ffff; value = Math.floor(value / 128)) this.#bytes[offset++] = (value & 0x7f) | 0x80;
    for (; value > 0x7f; value >>>= 7) this.#bytes[offset++] = (value & 0x7f) | 0x80;
    this.#bytes[offset] = value;
  }

  #reserve(bytes: number): void {
    if (bytes <= this.#offset) return;
    const { length } = this;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, length + bytes));
    larger.set(this.#bytes.subarray(this.#offset), larger.length - length);
    this.#bytes = larger;
    this.#offset = larger.length - length;
  }
}

function varintBytes(value: number): number {
  let count = 1;
  for (let limit = 128; value >= limit; limit *= 128) count++;
  return count;
}
