/** Bytes that are no message of the protocol, or a message that the protocol has no bytes for. */
export class WireError extends Error {
  override readonly name = "WireError";
}

/** How a field's value lies on the wire; 3 and 4, groups, are of protobuf's past and refused. */
const VARINT = 0, FIXED64 = 1, DELIMITED = 2, FIXED32 = 5;

const MAX_VARINT_BYTES = 10;
const FIRST_BYTES = 4096;
/** A writer that has grown beyond this gives its memory back after the message. */
const KEEP_BYTES = 256 * 1024;

const UTF8_IN = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const UTF8_OUT = new TextEncoder();

/**
 * Reads a protobuf message field by field. Nothing is copied, and no length is believed before the bytes are there.
 *
 * Every method throws {@linkcode WireError} when the bytes end too early or are not what it reads.
 */
export class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #end: number;
  #field = 0;
  #type = VARINT;

  constructor(bytes: Uint8Array) {
    // Views of a Buffer would be Buffers, whose slice() does not copy.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#end = bytes.length;
  }

  /** Number of the next field; 0 at the end of the message. Its value is to be read or skipped. */
  next(): number {
    if (this.#at === this.#end) return 0;
    const tag = this.#varint();
    if (tag > 0xffff_ffff || tag < 8) throw new WireError(`field tag ${tag} is none`);
    this.#type = tag & 7;
    return this.#field = tag >>> 3;
  }

  /** A whole number from 0 to 2^53 - 1. */
  uint64(): number {
    this.#expect(VARINT);
    return this.#varint();
  }

  /** A whole number below 2^32. */
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
    return this.#bytes.subarray(this.#at, this.#at += length);
  }

  /** A text of at most `maxBytes` bytes. */
  text(maxBytes: number): string {
    const bytes = this.bytes(maxBytes);
    try {
      return UTF8_IN.decode(bytes);
    } catch {
      throw new WireError(`field ${this.#field} is not UTF-8`);
    }
  }

  /** A message inside this one: `read` sees its fields alone. */
  message<T>(read: (reader: WireReader) => T): T {
    this.#expect(DELIMITED);
    const length = this.#length();
    const end = this.#end;
    this.#end = this.#at + length;
    const value = read(this);
    this.#end = end;
    return value;
  }

  /** Puts what `read` gives behind the others of its list, unless that is full. */
  push<T>(list: T[], { max, read }: { max: number; read: () => T }): void {
    if (list.length >= max) throw new WireError(`field ${this.#field} is there more than ${max} times`);
    list.push(read());
  }

  /** Passes over the value of a field that nobody asks for. */
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
    if (length > this.#end - this.#at) throw new WireError(`field ${this.#field} is cut short`);
    return length;
  }

  #skipBytes(count: number): void {
    if (count > this.#end - this.#at) throw new WireError(`field ${this.#field} is cut short`);
    this.#at += count;
  }

  #varint(): number {
    const bytes = this.#bytes;
    let value = 0;
    for (let i = 0, scale = 1; i < MAX_VARINT_BYTES && this.#at < this.#end; i++, scale *= 128) {
      const byte = bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte >= 0x80) continue;
      if (value <= Number.MAX_SAFE_INTEGER) return value;
      throw new WireError(`field ${this.#field} is negative or above 2^53 - 1`);
    }
    throw new WireError(`number behind field ${this.#field} does not end`);
  }

  /** Of a field that nobody knows any 64 bits may be right. */
  #skipVarint(): void {
    for (let i = 0; i < MAX_VARINT_BYTES && this.#at < this.#end; i++) {
      if ((this.#bytes[this.#at++] ?? 0) < 0x80) return;
    }
    throw new WireError(`number behind field ${this.#field} does not end`);
  }
}

/**
 * Writes a protobuf message from its last byte to its first, so that the length of what is inside is known when its
 * turn comes. Fields are given last to first, lists too. What has its default value is left out.
 *
 * Every method throws {@linkcode WireError} for a value that the field cannot have.
 */
export class WireWriter {
  #bytes = new Uint8Array(FIRST_BYTES);
  #at = FIRST_BYTES;

  /** Forgets what was written. */
  reset(): this {
    if (this.#bytes.length > KEEP_BYTES) this.#bytes = new Uint8Array(FIRST_BYTES);
    this.#at = this.#bytes.length;
    return this;
  }

  /** A copy of what was written. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.#bytes.slice(this.#at);
  }

  /** Count of bytes so far: where a message that lies inside ends. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  uint64(field: number, value: number): void {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new WireError(`field ${field} is not from 0 to 2^53 - 1: ${value}`);
    }
    if (value === 0) return;
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
    this.bytes(field, UTF8_OUT.encode(value), { max });
  }

  /** Texts of a list, empty ones too. */
  texts(field: number, values: readonly string[], { max, maxTexts }: { max: number; maxTexts: number }): void {
    this.list(field, values, {
      max: maxTexts,
      write: (value) => {
        const bytes = UTF8_OUT.encode(value);
        if (bytes.length > max) throw new WireError(`field ${field} has ${bytes.length} bytes, over ${max}`);
        this.#delimited(field, bytes);
      },
    });
  }

  /** Closes the message that was written since there were `end` bytes. */
  message(field: number, end: number): void {
    this.#varint(this.length - end);
    this.#tag(field, DELIMITED);
  }

  /** Hands the values over last to first. */
  list<T>(field: number, values: readonly T[], { max, write }: { max: number; write: (value: T) => void }): void {
    if (values.length > max) throw new WireError(`field ${field} is there ${values.length} times, over ${max}`);
    values.toReversed().forEach(write);
  }

  #delimited(field: number, value: Uint8Array): void {
    this.#room(value.length);
    this.#bytes.set(value, this.#at -= value.length);
    this.#varint(value.length);
    this.#tag(field, DELIMITED);
  }

  #tag(field: number, type: number): void {
    this.#varint(field * 8 + type);
  }

  #varint(value: number): void {
    this.#room(MAX_VARINT_BYTES);
    let at = this.#at -= varintBytes(value);
    // Shifts see 32 bits; what is above needs a division.
    for (; value > 0x7fff_ffff; value = Math.floor(value / 128)) this.#bytes[at++] = (value & 0x7f) | 0x80;
    for (; value > 0x7f; value >>>= 7) this.#bytes[at++] = (value & 0x7f) | 0x80;
    this.#bytes[at] = value;
  }

  #room(bytes: number): void {
    if (bytes <= this.#at) return;
    const { length } = this;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, length + bytes));
    larger.set(this.#bytes.subarray(this.#at), larger.length - length);
    this.#bytes = larger;
    this.#at = larger.length - length;
  }
}

function varintBytes(value: number): number {
  let count = 1;
  for (let limit = 128; value >= limit; limit *= 128) count++;
  return count;
}
