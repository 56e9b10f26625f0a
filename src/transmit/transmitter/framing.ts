import { fastPacketFrames, splitFastPacket } from "../../can/mod.ts";
import { MAX_CAN_BYTES, MAX_FAST_PACKET_BYTES } from "../../frame/mod.ts";
import { framingOf, isFastPacket } from "../../pgn/mod.ts";

/** Framing of a message: one frame, a fast packet, or a session of the ISO transport protocol. */
export type Framing = "single" | "fast" | "transport";

/** Maximum fast-packet counters per bus; an evicted counter restarts at 0. */
const MAX_COUNTERS = 4096;

/** The framing of a payload. A PGN that allows single frame and fast packet uses a single frame if it fits. */
export function framingFor(pgn: number, length: number): Framing {
  if (length <= MAX_CAN_BYTES && !isFastPacket(pgn)) return "single";
  return length <= MAX_FAST_PACKET_BYTES && framingOf(pgn) !== "single" ? "fast" : "transport";
}

/** CAN frames of a message, for the rate limit; 0 for a session, whose frames are counted one by one. */
export function frameCount(framing: Framing, length: number): number {
  switch (framing) {
    case "single":
      return 1;
    case "fast":
      return fastPacketFrames(length);
    case "transport":
      return 0;
  }
}

/** Splits the messages of one bus into frames, with a fast-packet counter per PGN and source. */
export class FrameSplitter {
  readonly #counters = new Map<number, number>();

  /** Payloads of the frames, in order. */
  split(framing: "single" | "fast", { pgn, src, data }: { pgn: number; src: number; data: Uint8Array }): Uint8Array[] {
    if (framing === "single") return [data];
    const key = (pgn << 8) | src;
    const counter = this.#counters.get(key) ?? 0;
    this.#counters.delete(key);
    this.#counters.set(key, (counter + 1) & 7);
    const [oldest] = this.#counters.size > MAX_COUNTERS ? this.#counters.keys() : [];
    if (oldest !== undefined) this.#counters.delete(oldest);
    return splitFastPacket(data, counter);
  }
}
