import { fastPacketFrames, splitFastPacket } from "../../can/mod.ts";
import { MAX_CAN_BYTES, MAX_FAST_PACKET_BYTES } from "../../frame/mod.ts";
import { framingOf, isFastPacket } from "../../pgn/mod.ts";

/** How a message travels: in one frame, as a fast packet, or in a session of the ISO transport protocol. */
export type Carriage = "single" | "fast" | "transport";

/** Fast-packet counters kept for one bus; of those that have not counted for longest, the next message begins at 0. */
const MAX_COUNTERS = 4096;

/** How a payload of `length` bytes travels. What may be both, a frame or a fast packet, goes in one frame if it fits. */
export function carriageOf(pgn: number, length: number): Carriage {
  if (length <= MAX_CAN_BYTES && !isFastPacket(pgn)) return "single";
  return length <= MAX_FAST_PACKET_BYTES && framingOf(pgn) !== "single" ? "fast" : "transport";
}

/** CAN frames that a message takes at once; those of a session leave one by one. */
export function framesAtOnce(carriage: Carriage, length: number): number {
  switch (carriage) {
    case "single":
      return 1;
    case "fast":
      return fastPacketFrames(length);
    case "transport":
      return 0;
  }
}

/** Cuts the messages of one bus into frames, and counts the fast packets of each PGN and source. */
export class FrameCutter {
  readonly #counters = new Map<number, number>();

  /** Payloads of the frames, in order. */
  cut(carriage: "single" | "fast", { pgn, src, data }: { pgn: number; src: number; data: Uint8Array }): Uint8Array[] {
    if (carriage === "single") return [data];
    const key = (pgn << 8) | src;
    const counter = this.#counters.get(key) ?? 0;
    this.#counters.delete(key);
    this.#counters.set(key, (counter + 1) & 7);
    const [oldest] = this.#counters.size > MAX_COUNTERS ? this.#counters.keys() : [];
    if (oldest !== undefined) this.#counters.delete(oldest);
    return splitFastPacket(data, counter);
  }
}
