import { buildCanId, CAN_ID_MASK, formatHex, MAX_CAN_BYTES, MAX_MESSAGE_BYTES, pgnOfId } from "../../frame/mod.ts";
import { assumedStartUs, TimerClock } from "./clocks.ts";
import { passed, type Reading, type RecordingContext, whyNotHeader } from "./recording.ts";

/** Message received by the gateway: one length byte, priority, PGN, destination, source, time, length, payload. */
const RECEIVED = 0x93;
/** Message that a program sent through the gateway; it has no source. */
export const TO_SEND = 0x94;
/** CAN frame: one length byte, time, identifier, data. */
const CAN_FRAME = 0x95;
/** Message in the newer form, with two length bytes for the whole message. */
const MESSAGE = 0xd0;

/** Header bytes of both forms of messages. */
const MESSAGE_HEADER_BYTES = 13;
const FRAME_HEADER_BYTES = 8;
/** Units of a frame's time, 1 ms down to 1 µs, by the upper two bits of its identifier field. */
const FRAME_UNITS_US = [1000, 100, 10, 1];

/** The bytes of a message's header. */
interface MessageHeader {
  prio: number;
  /** Destination or lowest byte of the PGN, depending on the PDU format. */
  specific: number;
  format: number;
  page: number;
  dst: number;
  src: number;
  /** Offset of the counter. */
  timeAt: number;
}

/**
 * Time of Actisense's binary messages: they carry a counter of the gateway, with an arbitrary start, and
 * separate records give dates. The first message after a date gets that date; the counter dates those after it.
 */
export class GatewayClock {
  readonly #context: RecordingContext;
  #nowUs: number | undefined;
  #counter: { clock: TimerClock; roundUs: number } | undefined;

  constructor(context: RecordingContext) {
    this.#context = context;
  }

  /** Sets the time from a record. */
  set(timeUs: number): void {
    this.#nowUs = timeUs;
    this.#counter = undefined;
  }

  /** Time of a message whose counter has `bits` and counts units of `unitUs`. */
  at(count: number, { unitUs, bits }: { unitUs: number; bits: number }): number {
    this.#nowUs ??= assumedStartUs(this.#context);
    const roundUs = unitUs * 2 ** bits;
    if (this.#counter?.roundUs !== roundUs) {
      this.#counter = { clock: new TimerClock(this.#nowUs, roundUs), roundUs };
    }
    this.#nowUs = this.#counter.clock.at(count * unitUs);
    return this.#nowUs;
  }
}

/**
 * Reads Actisense's binary messages (BST) without their framing. Actisense publishes their layouts ("BST 93",
 * "BST 95" and "BST D0" among the data formats of its SDK).
 */
export class BstReader {
  readonly #context: RecordingContext;
  readonly #clock: GatewayClock;

  constructor(context: RecordingContext, clock: GatewayClock) {
    this.#context = context;
    this.#clock = clock;
  }

  /** Reads a message without its checksum. */
  read(bytes: Uint8Array): Reading {
    const [form = 0, low = 0, high = 0] = bytes;
    const hasLongLength = form >= 0xd0 && form <= 0xdf;
    const length = hasLongLength ? low | (high << 8) : 2 + low;
    if (bytes.length < (hasLongLength ? 3 : 2) || length !== bytes.length) return badBytes("wrong length", bytes);
    switch (form) {
      case RECEIVED:
        return this.#received(bytes);
      case CAN_FRAME:
        return this.#frame(bytes);
      case MESSAGE:
        return this.#message(bytes);
      case TO_SEND:
        return passed("to_gateway");
      default:
        return passed("status");
    }
  }

  #received(bytes: Uint8Array): Reading {
    const [, , prio = 0, specific = 0, format = 0, page = 0, dst = 0, src = 0] = bytes;
    if (bytes[MESSAGE_HEADER_BYTES - 1] !== bytes.length - MESSAGE_HEADER_BYTES) return badBytes("wrong length", bytes);
    if (page > 3) return passed("vendor_pgn");
    return this.#whole(bytes, { prio, specific, format, page, dst, src, timeAt: 8 });
  }

  #message(bytes: Uint8Array): Reading {
    const [, , , dst = 0, src = 0, specific = 0, format = 0, pageAndPrio = 0] = bytes;
    if (bytes.length < MESSAGE_HEADER_BYTES) return badBytes("wrong length", bytes);
    const [prio, page] = [(pageAndPrio >>> 2) & 7, pageAndPrio & 3];
    return this.#whole(bytes, { prio, specific, format, page, dst, src, timeAt: 9 });
  }

  #whole(bytes: Uint8Array, { prio, specific, format, page, dst, src, timeAt }: MessageHeader): Reading {
    const pgn = pgnOfId((page << 24) | (format << 16) | (specific << 8));
    // 255 cannot be a source address. Where a broadcast has it as source, the writer has exchanged the two.
    const isExchanged = format >= 240 && src === 255 && dst !== 255;
    if (isExchanged) this.#context.note("addresses_exchanged");
    const header = { prio, pgn, src: isExchanged ? dst : src, dst: isExchanged ? src : dst };
    const data = bytes.slice(MESSAGE_HEADER_BYTES);
    const why = whyNotHeader(header) ?? (data.length > MAX_MESSAGE_BYTES ? "longer than any message" : undefined);
    if (why !== undefined) return badBytes(why, bytes);
    const timeUs = this.#clock.at(viewOf(bytes).getUint32(timeAt, true), { unitUs: 1000, bits: 32 });
    return { type: "item", item: { kind: "message", bus: 0, id: buildCanId(header), timeUs, data } };
  }

  #frame(bytes: Uint8Array): Reading {
    const data = bytes.slice(FRAME_HEADER_BYTES);
    if (bytes.length < FRAME_HEADER_BYTES || data.length > MAX_CAN_BYTES) return badBytes("wrong length", bytes);
    const view = viewOf(bytes);
    const word = view.getUint32(4, true);
    const unitUs = FRAME_UNITS_US[(word >>> 29) & 3] ?? 1000;
    const timeUs = this.#clock.at(view.getUint16(2, true), { unitUs, bits: 16 });
    return { type: "item", item: { kind: "frame", bus: 0, id: word & CAN_ID_MASK, timeUs, data } };
  }
}

/** Bytes of a bad record in the summary. */
const SHOWN_BYTES = 40;

/** A bad reading with the beginning of the bytes in hex. */
export function badBytes(why: string, bytes: Uint8Array): Reading {
  return { type: "bad", why, text: formatHex(bytes.subarray(0, SHOWN_BYTES)) };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
