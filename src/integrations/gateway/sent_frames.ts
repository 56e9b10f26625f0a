import { splitFastPacket } from "../../can/mod.ts";
import { buildCanId, type CanFrame, MAX_CAN_BYTES, MAX_FAST_PACKET_BYTES } from "../../frame/mod.ts";
import { framingOf, isFastPacket } from "../../pgn/mod.ts";

/** Frames remembered; beyond, further ones are shown as received. */
export const MAX_SENT_FRAMES = 1024;
/** Time after which a frame is not expected any more, milliseconds: longer than the queues of all buses. */
const EXPECTED_MS = 15_000;
/** Bits of a fast packet's first byte without its sequence counter, which the sender chooses. */
const FRAGMENT_MASK = 0x1f;

interface SentFrame {
  bus: number;
  id: number;
  data: Uint8Array;
  isFast: boolean;
}

/** A message to be sent, with the source address that it gets. */
export interface SentMessage {
  bus: number;
  prio: number;
  pgn: number;
  src: number;
  dst: number;
  data: Uint8Array;
}

/** Recognizes the frames of clients' messages when they come back from the bus. */
export class SentFrames {
  #expected: (SentFrame & { untilMs: number })[] = [];

  /**
   * Expects the frames of a message. Those of ISO transport sessions are not recognized.
   *
   * @returns forgets them: the message is not sent
   */
  add(message: SentMessage, nowMs: number): () => void {
    const frames = framesOf(message).map((frame) => ({ ...frame, untilMs: nowMs + EXPECTED_MS }));
    this.#expected.push(...frames.slice(0, MAX_SENT_FRAMES - this.#expected.length));
    return () => this.#expected = this.#expected.filter((each) => !frames.includes(each));
  }

  /** True if this frame was expected; it is then no longer. */
  take(bus: number, frame: CanFrame): boolean {
    if (this.#expected.length === 0) return false;
    const index = this.#expected.findIndex((each) => each.bus === bus && isSame(each, frame));
    if (index < 0) return false;
    this.#expected.splice(index, 1);
    return true;
  }

  /** Forgets frames that did not come back. */
  expire(nowMs: number): void {
    if (this.#expected.length > 0) this.#expected = this.#expected.filter(({ untilMs }) => untilMs > nowMs);
  }
}

function isSame({ id, data, isFast }: SentFrame, frame: CanFrame): boolean {
  if (id !== frame.id || data.length !== frame.length) return false;
  return data.every((byte, index) => {
    const difference = byte ^ (frame.data[frame.offset + index] ?? 0);
    return (isFast && index === 0 ? difference & FRAGMENT_MASK : difference) === 0;
  });
}

function framesOf(message: SentMessage): SentFrame[] {
  const { bus, pgn, data } = message;
  const id = buildCanId(message);
  if (data.length <= MAX_CAN_BYTES && !isFastPacket(pgn)) return [{ bus, id, data, isFast: false }];
  if (framingOf(pgn) === "single" || data.length === 0 || data.length > MAX_FAST_PACKET_BYTES) return [];
  return splitFastPacket(data, 0).map((each) => ({ bus, id, data: each, isFast: true }));
}
