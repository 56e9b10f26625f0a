import {
  BROADCAST_ADDRESS,
  buildCanId,
  destinationOfId,
  MAX_CAN_BYTES,
  MAX_FAST_PACKET_BYTES,
  MAX_MESSAGE_BYTES,
  pgnOfId,
  priorityOfId,
  sourceOfId,
} from "../../frame/mod.ts";
import { framingOf, isFastPacket, PGN } from "../../pgn/mod.ts";
import { splitFastPacket } from "./fast_packet.ts";
import { CONTROL, controlData, PACKET_BYTES } from "./iso_transport.ts";

/** Framing of a message: one frame, a fast packet, or a session of the ISO transport protocol. */
export type MessageFraming = "single" | "fast" | "transport";

/** Maximum fast-packet counters per bus; an evicted counter restarts at 0. */
const MAX_COUNTERS = 4096;
/** In an announcement: reserved (BAM), or any number of packets may be requested at a time (RTS). */
const ANY_PACKETS = 0xff;

/** The framing of a payload. A PGN that allows single frame and fast packet uses a single frame if it fits. */
export function framingFor(pgn: number, length: number): MessageFraming {
  if (length <= MAX_CAN_BYTES && !isFastPacket(pgn)) return "single";
  return length <= MAX_FAST_PACKET_BYTES && framingOf(pgn) !== "single" ? "fast" : "transport";
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

/** A frame of a transport session. */
export interface SessionFrame {
  id: number;
  data: Uint8Array<ArrayBuffer>;
}

/**
 * The frames with which a sender transports a message (ISO 11783-3 §5.10): its announcement, BAM or RTS, and all packets, as
 * they pass on a bus; the frames of a receiver (CTS, end of message) are not among them. They have the priority of the
 * message, which is what an assembler gives the message again.
 *
 * @param id identifier that the message would have in a single frame
 * @throws {RangeError} the message is empty or longer than 1785 bytes
 */
export function splitTransport(id: number, data: Uint8Array): SessionFrame[] {
  const { length } = data;
  if (length < 1 || length > MAX_MESSAGE_BYTES) {
    throw new RangeError(`Cannot transport ${length} bytes: a session carries 1 to ${MAX_MESSAGE_BYTES}`);
  }
  const [dst, packets] = [destinationOfId(id), Math.ceil(length / PACKET_BYTES)];
  const idOf = (pgn: number) => buildCanId({ prio: priorityOfId(id), pgn, src: sourceOfId(id), dst });
  const kind = dst === BROADCAST_ADDRESS ? CONTROL.bam : CONTROL.rts;
  const head = controlData([kind, length & 0xff, length >> 8, packets, ANY_PACKETS], pgnOfId(id));
  const frames: SessionFrame[] = [{ id: idOf(PGN.transportControl), data: head }];
  for (let packet = 1; packet <= packets; packet++) {
    const frame = new Uint8Array(MAX_CAN_BYTES).fill(0xff);
    frame[0] = packet;
    frame.set(data.subarray((packet - 1) * PACKET_BYTES, packet * PACKET_BYTES), 1);
    frames.push({ id: idOf(PGN.transportData), data: frame });
  }
  return frames;
}
