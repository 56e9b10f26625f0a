import type { ByteBuffer } from "./byte_buffer.ts";

/** Characters of {@linkcode TimeText.write}, at most: years beyond 9999 have six digits and a sign. */
export const TIME_BYTES = 30;

const encoder = new TextEncoder();

/** Writes times in RFC 3339, UTC, with microseconds. */
export class TimeText {
  #second = NaN;
  /** Up to the point: `2026-01-01T00:00:00.` */
  #text = new Uint8Array(0);

  /** Adds a time, microseconds since 1970. */
  write(to: ByteBuffer, timeUs: number): void {
    const second = Math.floor(timeUs / 1e6);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = encoder.encode(new Date(second * 1000).toISOString().slice(0, -"000Z".length));
    }
    to.copy(this.#text);
    to.padded(timeUs - second * 1e6, 6);
    to.byte(0x5a);
  }
}
