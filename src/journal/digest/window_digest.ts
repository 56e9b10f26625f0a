/**
 * Digests of frames by their numbers: two sides compare them to verify that they have the same frames under the same
 * numbers. Numbers are divided into aligned windows of 65 536: window w has the numbers from 65 536 w to 65 536 w +
 * 65 535 (number 0 is never assigned). A digest covers consecutive frames within one window.
 *
 * The digest is the sum of the hashes of its frames, each of the two lanes modulo 2^32, so it is independent of their
 * order. The hash of one frame, with 32-bit words, `*` modulo 2^32 and `rot` to the left:
 *
 *   a = (low word of the number ^ bus << 16 ^ 0x9e3779b9) * 0x85ebca6b,        a ^= a >> 15
 *   b = (low word of the time ^ 0x7f4a7c15) * 0xc2b2ae35,                      b ^= b >> 13
 *   a = (a ^ identifier) * 0x27d4eb2f,                                         a ^= a >> 15
 *   b = (b ^ (time / 2^32, truncated) ^ length << 21) * 0x165667b1,            b ^= b >> 13
 *   for each whole 8 bytes of the payload, as two little-endian words u and v:
 *     u = u * 0xcc9e2d51,  a = rot((a ^ u ^ u >> 11) * 0x9e3779b1, 13)
 *     v = v * 0x1b873593,  b = rot((b ^ v ^ v >> 11) * 0x85ebca77, 17)
 *   for each remaining byte x:
 *     a = rot((a ^ x) * 0x9e3779b1, 13)
 *   a = (a ^ b >> 15) * 0x2c1b3c6d,  b = (b ^ a >> 13) * 0x297a2d39,  a ^= b >> 16
 *
 * The time is in microseconds since 1970. On the wire and on disk a digest is a, then b, little-endian. It is not a
 * cryptographic hash: it detects copied disks and mistakes, not forgeries.
 */
import { CAN_ID_MASK, type Message } from "../../frame/mod.ts";
import { pushVarint, VarintReader } from "../block/varint.ts";

/** The parts of a frame that its hash covers, besides its number. */
type DigestFrame = Pick<Message, "id" | "bus" | "timeUs" | "data" | "offset" | "length">;

/** Size of a window, numbers. */
export const DIGEST_WINDOW = 65_536;
/** Maximum number of finished digests; the newest remain. */
export const MAX_WINDOW_DIGESTS = 64;
/** Size of a digest, bytes. */
export const DIGEST_BYTES = 8;

/** Digest of the frames from `firstSeq` through `lastSeq`, both in one window. */
export interface WindowDigest {
  /** First sequence number. */
  firstSeq: number;
  /** Last sequence number. */
  lastSeq: number;
  /** {@linkcode DIGEST_BYTES} bytes. */
  hash: Uint8Array<ArrayBuffer>;
}

/** Digests as a block stores them: of the frames before it. */
export interface DigestNote {
  /** Finished digests, oldest first. */
  finished: readonly WindowDigest[];
  /** Digest of the unfinished window; omitted before its first frame. */
  open?: WindowDigest;
}

/** First number of the window that contains a number. */
export function windowStart(seq: number): number {
  return seq - seq % DIGEST_WINDOW;
}

/** Last number of the window that contains a number. */
export function windowEnd(seq: number): number {
  return windowStart(seq) + DIGEST_WINDOW - 1;
}

/** True if two digests of the same numbers are equal. */
export function isSameHash(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

/** Sum of the hashes of frames. */
export class FrameSum {
  #low = 0;
  #high = 0;

  /** Adds a frame. */
  add(seq: number, { id, bus, timeUs, data, offset, length }: DigestFrame): void {
    let a = Math.imul(seq ^ (bus << 16) ^ 0x9e3779b9, 0x85ebca6b);
    let b = Math.imul(timeUs ^ 0x7f4a7c15, 0xc2b2ae35);
    a = Math.imul(a ^ (a >>> 15) ^ (id & CAN_ID_MASK), 0x27d4eb2f);
    b = Math.imul(b ^ (b >>> 13) ^ (timeUs / 0x1_0000_0000) ^ (length << 21), 0x165667b1);
    a ^= a >>> 15;
    b ^= b >>> 13;
    const end = offset + length;
    let at = offset;
    for (; at + 8 <= end; at += 8) {
      const u = Math.imul(word(data, at), 0xcc9e2d51);
      const v = Math.imul(word(data, at + 4), 0x1b873593);
      a = Math.imul(a ^ u ^ (u >>> 11), 0x9e3779b1);
      b = Math.imul(b ^ v ^ (v >>> 11), 0x85ebca77);
      a = (a << 13) | (a >>> 19);
      b = (b << 17) | (b >>> 15);
    }
    for (; at < end; at++) {
      a = Math.imul(a ^ (data[at] ?? 0), 0x9e3779b1);
      a = (a << 13) | (a >>> 19);
    }
    a = Math.imul(a ^ (b >>> 15), 0x2c1b3c6d);
    b = Math.imul(b ^ (a >>> 13), 0x297a2d39);
    this.#low = (this.#low + (a ^ (b >>> 16))) | 0;
    this.#high = (this.#high + b) | 0;
  }

  /** Digest of the added frames. */
  get hash(): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(DIGEST_BYTES);
    const view = new DataView(bytes.buffer);
    view.setInt32(0, this.#low, true);
    view.setInt32(4, this.#high, true);
    return bytes;
  }

  /** Replaces the sum by a digest; default 0. */
  set(hash?: Uint8Array<ArrayBuffer>): void {
    const view = hash && new DataView(hash.buffer, hash.byteOffset, hash.length);
    this.#low = view?.getInt32(0, true) ?? 0;
    this.#high = view?.getInt32(4, true) ?? 0;
  }
}

function word(data: Uint8Array, at: number): number {
  return (data[at] ?? 0) | ((data[at + 1] ?? 0) << 8) | ((data[at + 2] ?? 0) << 16) | ((data[at + 3] ?? 0) << 24);
}

/** The digests of a recording, updated with each frame. A gap in the numbers ends a digest before its window ends. */
export class WindowDigests {
  readonly #sum = new FrameSum();
  #finished: WindowDigest[];
  /** Range of the unfinished digest, without `#next`. */
  #first = 0;
  #next = 0;

  /** Continues with the digests stored in a block; default none. */
  constructor({ finished, open }: DigestNote = { finished: [] }) {
    this.#finished = finished.slice(-MAX_WINDOW_DIGESTS);
    if (!open) return;
    this.#sum.set(open.hash);
    this.#first = open.firstSeq;
    this.#next = open.lastSeq + 1;
  }

  /** Adds a frame. Ignores numbers that were added before. */
  add(seq: number, frame: DigestFrame): void {
    if (seq !== this.#next) {
      if (seq < this.#next) return;
      this.#finish();
      this.#first = seq;
    }
    this.#sum.add(seq, frame);
    this.#next = seq + 1;
    if ((this.#next & (DIGEST_WINDOW - 1)) === 0) this.#finish();
  }

  /** Discards all digests, for a new epoch. */
  reset(): void {
    this.#finished = [];
    this.#sum.set();
    this.#first = this.#next = 0;
  }

  /** The digests to store in a block that begins now. */
  note(maxFinished: number = MAX_WINDOW_DIGESTS): DigestNote {
    const open = this.#open;
    return { finished: this.#finished.slice(-Math.max(1, maxFinished)), ...(open && { open }) };
  }

  /** All digests, oldest first; the last one may be unfinished. */
  list(): WindowDigest[] {
    const open = this.#open;
    return open ? [...this.#finished, open] : [...this.#finished];
  }

  get #open(): WindowDigest | undefined {
    if (this.#next === this.#first) return undefined;
    return { firstSeq: this.#first, lastSeq: this.#next - 1, hash: this.#sum.hash };
  }

  #finish(): void {
    const open = this.#open;
    this.#sum.set();
    this.#first = this.#next;
    if (!open) return;
    if (this.#finished.length >= MAX_WINDOW_DIGESTS) this.#finished.shift();
    this.#finished.push(open);
  }
}

// Body of tag 6: the unfinished digest, then the finished ones, newest first; each one is
//
//   numbers between it and the previous one in the list, varint (of the first: its last number) | count of its numbers,
//   varint | digest, 8 bytes
//
// Without an unfinished digest, the first has a count of 0.

/** Encodes digests for the metadata of a block. */
export function encodeDigestNote({ finished, open }: DigestNote): Uint8Array {
  const bytes: number[] = [];
  const newest = finished.at(-1)?.lastSeq ?? 0;
  const none = { firstSeq: newest + 1, lastSeq: newest, hash: new Uint8Array(DIGEST_BYTES) };
  let before: number | undefined;
  for (const { firstSeq, lastSeq, hash } of [open ?? none, ...finished.toReversed()]) {
    pushVarint(bytes, before === undefined ? lastSeq : before - lastSeq - 1);
    pushVarint(bytes, lastSeq - firstSeq + 1);
    bytes.push(...hash);
    before = firstSeq;
  }
  return Uint8Array.from(bytes);
}

/** Decodes the output of {@linkcode encodeDigestNote}; undefined if the bytes are invalid. */
export function decodeDigestNote(body: Uint8Array): DigestNote | undefined {
  const reader = new VarintReader(body);
  const found: WindowDigest[] = [];
  let before: number | undefined;
  while (!reader.isAtEnd && found.length <= MAX_WINDOW_DIGESTS) {
    const [distance, count, hash] = [reader.next(), reader.next(), reader.bytes(DIGEST_BYTES)];
    if (distance === undefined || count === undefined || hash === undefined || count > DIGEST_WINDOW) return undefined;
    const lastSeq = before === undefined ? distance : before - distance - 1;
    const firstSeq = lastSeq - count + 1;
    if (firstSeq < 1 || (count > 0 && windowStart(firstSeq) !== windowStart(lastSeq))) return undefined;
    found.push({ firstSeq, lastSeq, hash });
    before = firstSeq;
  }
  const [open, ...finished] = found;
  if (!open || finished.some(({ firstSeq, lastSeq }) => lastSeq < firstSeq)) return undefined;
  return { finished: finished.reverse(), ...(open.lastSeq >= open.firstSeq && { open }) };
}
