import { Buffer } from "node:buffer";

/** A piece of a body with its chunked transfer coding (RFC 9112 §7.1): made once, and sent on any number of connections. */
export class Chunk {
  /** The piece as HTTP/1.1 sends it where the length of the body is not known. */
  readonly coded: Buffer<ArrayBuffer>;
  /** The piece alone. */
  readonly data: Buffer<ArrayBuffer>;

  /** @param text not empty: an empty chunk ends the body */
  constructor(text: string) {
    const size = `${Buffer.byteLength(text).toString(16)}\r\n`;
    this.coded = Buffer.from(`${size}${text}\r\n`);
    this.data = this.coded.subarray(size.length, -2);
  }
}
