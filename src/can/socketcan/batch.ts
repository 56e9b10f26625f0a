import * as c from "./libc.ts";

const TWO_TO_32 = 2 ** 32;

/**
 * Memory for the frames received by one call of recvmmsg: headers, frames, and the control messages with
 * time and drops. One block, allocated once and reused, because its headers contain its address.
 */
export class SocketCanBatch {
  /** Capacity, frames. */
  readonly frames: number;
  /** The whole block; the data of frames is at {@linkcode dataOffset}. */
  readonly bytes: Uint8Array;
  /** Address of the first header. */
  readonly pointer: Deno.PointerValue;
  readonly #view: DataView;
  readonly #framesAt: number;
  readonly #controlAt: number;

  /** @param frames capacity */
  constructor(frames: number) {
    this.frames = frames;
    const iovecsAt = frames * c.MMSGHDR.bytes;
    this.#framesAt = iovecsAt + frames * c.IOVEC.bytes;
    this.#controlAt = this.#framesAt + frames * c.CAN_FRAME.bytes;
    this.bytes = new Uint8Array(new ArrayBuffer(this.#controlAt + frames * c.CONTROL_BYTES));
    this.#view = new DataView(this.bytes.buffer);
    this.pointer = Deno.UnsafePointer.of(this.bytes);
    const base = Deno.UnsafePointer.value(this.pointer);
    for (let i = 0; i < frames; i++) {
      const header = i * c.MMSGHDR.bytes;
      const iovec = iovecsAt + i * c.IOVEC.bytes;
      this.#setU64(header + c.MMSGHDR.iov, base + BigInt(iovec));
      this.#setU64(header + c.MMSGHDR.iovCount, 1n);
      this.#setU64(header + c.MMSGHDR.control, base + BigInt(this.#controlAt + i * c.CONTROL_BYTES));
      this.#setU64(iovec + c.IOVEC.base, base + BigInt(this.#framesAt + i * c.CAN_FRAME.bytes));
      this.#setU64(iovec + c.IOVEC.length, BigInt(c.CAN_FRAME.bytes));
    }
  }

  /** Resets the lengths of the control messages, which the kernel shortens. Call it before each use. */
  prepare(): void {
    for (let i = 0; i < this.frames; i++) {
      this.#view.setUint32(i * c.MMSGHDR.bytes + c.MMSGHDR.controlLength, c.CONTROL_BYTES, true);
    }
  }

  /** Whether frame `i` is complete. */
  isWhole(i: number): boolean {
    return this.#view.getUint32(i * c.MMSGHDR.bytes + c.MMSGHDR.received, true) === c.CAN_FRAME.bytes;
  }

  /** Identifier with flags of frame `i`. */
  canId(i: number): number {
    return this.#view.getUint32(this.#framesAt + i * c.CAN_FRAME.bytes + c.CAN_FRAME.id, true);
  }

  /** Number of data bytes of frame `i`. */
  length(i: number): number {
    return this.bytes[this.#framesAt + i * c.CAN_FRAME.bytes + c.CAN_FRAME.length] ?? 0;
  }

  /** Offset of the data of frame `i` in {@linkcode bytes}. */
  dataOffset(i: number): number {
    return this.#framesAt + i * c.CAN_FRAME.bytes + c.CAN_FRAME.data;
  }

  /** When the kernel received frame `i`, microseconds since 1970; 0 if unknown. */
  timeUs(i: number): number {
    const at = this.#control(i, c.SO_TIMESTAMPNS);
    if (at < 0) return 0;
    const seconds = this.#view.getUint32(at, true) + this.#view.getInt32(at + 4, true) * TWO_TO_32;
    return seconds * 1e6 + Math.floor(this.#view.getUint32(at + 8, true) / 1000);
  }

  /** Frames that the socket had dropped when frame `i` arrived, u32; also 0 if unknown. */
  drops(i: number): number {
    const at = this.#control(i, c.SO_RXQ_OVFL);
    return at < 0 ? 0 : this.#view.getUint32(at, true);
  }

  /** Offset of the data of a control message of frame `i`; -1 if it is missing. */
  #control(i: number, type: number): number {
    const start = this.#controlAt + i * c.CONTROL_BYTES;
    const end = start + this.#view.getUint32(i * c.MMSGHDR.bytes + c.MMSGHDR.controlLength, true);
    for (let at = start; at + c.CMSGHDR.data <= end;) {
      const length = this.#view.getUint32(at, true);
      if (length < c.CMSGHDR.data) return -1;
      const isSocketLevel = this.#view.getInt32(at + c.CMSGHDR.level, true) === c.SOL_SOCKET;
      if (isSocketLevel && this.#view.getInt32(at + c.CMSGHDR.type, true) === type) return at + c.CMSGHDR.data;
      at += Math.ceil(length / c.CMSGHDR.alignment) * c.CMSGHDR.alignment;
    }
    return -1;
  }

  #setU64(at: number, value: bigint): void {
    this.#view.setBigUint64(at, value, true);
  }
}
