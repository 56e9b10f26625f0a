import {
  BROADCAST_ADDRESS,
  buildCanId,
  type CanFrame,
  isAddressed,
  MAX_CAN_BYTES,
  MAX_MESSAGE_BYTES,
} from "../../frame/mod.ts";
import { PGN } from "../../pgn/mod.ts";
import { ABORT, announcedPgn, byteAt, CONTROL, controlData, PACKET_BYTES } from "./iso_transport.ts";

/** Pause between two packets of a broadcast; the standard requires 50 to 200 ms (ISO 11783-3 §5.13.3). */
const BROADCAST_PACKET_MS = 50;
/** Longest wait for the receiver's response to an announcement or to requested packets (T3). */
const ANSWER_TIMEOUT_MS = 1250;
/** Longest wait for the next frame of a receiver that has paused us (T4). */
const HOLD_TIMEOUT_MS = 1050;
/** Longest time that a receiver may pause us continuously. */
const MAX_HOLD_MS = 60_000;
/** Most announcements of an addressed session without a response. */
const MAX_ANNOUNCEMENTS = 3;
/** Most repeated requests of a receiver without progress. */
const MAX_REPEATS = 2;
/** Priority of transport frames, independent of the message (ISO 11783-3 §5.10.3). */
const TRANSPORT_PRIORITY = 7;
/** In an announcement: the receiver may request any number of packets at a time. */
const ANY_PACKETS = 0xff;

/** Texts of the reasons of an abort. */
const ABORT_REASONS: ReadonlyMap<number, string> = new Map([
  [ABORT.busy, "it has another session with us"],
  [2, "it needs its resources for another task"],
  [ABORT.timeout, "it waited too long"],
  [4, "packets were under way when it asked for more"],
  [ABORT.repeats, "it asked for packets again too often"],
  [6, "it did not expect a packet"],
  [ABORT.badSequence, "a packet had a bad number"],
  [8, "a packet came twice"],
  [ABORT.tooLong, "the message is too long"],
]);

/** A message for {@linkcode TransportSession}: 1 to 1785 bytes, which must not change any more. */
export interface TransportMessage {
  readonly pgn: number;
  readonly src: number;
  /** Destination address. 255, or a PGN without destination, makes it a broadcast. */
  readonly dst: number;
  readonly data: Uint8Array;
}

/** Result of a session. `message` is the reason, human-readable. */
export type TransportEnd =
  | { type: "done" }
  /** One side aborted: the receiver did, or it sent an invalid request. */
  | { type: "aborted"; message: string }
  | { type: "silent"; message: string };

/** A frame to be sent for a session. */
export interface TransportFrame {
  session: TransportSession;
  id: number;
  data: Uint8Array<ArrayBuffer>;
  /** Result of the session once this frame is sent; undefined when it continues. */
  end: TransportEnd | undefined;
}

type State =
  | { type: "announcing"; dueMs: number }
  /** Waiting for the receiver. At the deadline the announcement is repeated, up to its limit, then the session is given up. */
  | { type: "waiting"; dueMs: number; announcements: number }
  /** Packets `next` to `last` are to be sent. */
  | { type: "sending"; dueMs: number; next: number; last: number }
  /** An abort is to be sent. */
  | { type: "aborting"; dueMs: number; code: number; end: TransportEnd }
  | { type: "over"; dueMs: number };

const OVER: State = { type: "over", dueMs: Infinity };

/**
 * The sending side of one ISO 11783-3 transport session: a broadcast (BAM), or an exchange with one receiver (RTS/CTS).
 * Pure: time and responses are passed in; the caller takes the frames when they are due.
 */
export class TransportSession {
  /** Source and destination address on the bus: 255 is a broadcast. */
  readonly src: number;
  readonly dst: number;
  /** PGN as announced, without a destination. */
  readonly #pgn: number;
  readonly #data: Uint8Array;
  readonly #packets: number;
  #state: State;
  /** Number of the highest packet sent. */
  #sent = 0;
  /** Highest first packet of the receiver's requests, and the number of requests without progress. */
  #asked = 0;
  #repeats = 0;
  #heldSinceMs: number | undefined;

  /** @throws {RangeError} the message is empty or longer than 1785 bytes */
  constructor({ pgn, src, dst, data }: TransportMessage, nowMs: number) {
    if (data.length < 1 || data.length > MAX_MESSAGE_BYTES) {
      throw new RangeError(`Cannot transport ${data.length} bytes: a session carries 1 to ${MAX_MESSAGE_BYTES}`);
    }
    this.src = src;
    this.dst = isAddressed(pgn) ? dst : BROADCAST_ADDRESS;
    this.#pgn = isAddressed(pgn) ? pgn & 0x3ff00 : pgn;
    this.#data = data;
    this.#packets = Math.ceil(data.length / PACKET_BYTES);
    this.#state = { type: "announcing", dueMs: nowMs };
  }

  /** Whether the first announcement was sent. */
  get hasBegun(): boolean {
    return this.#state.type !== "announcing";
  }

  /** When the next frame is due, milliseconds; Infinity when none is. */
  get dueMs(): number {
    return this.#state.dueMs;
  }

  /** The due frame; undefined when none is. */
  take(nowMs: number): TransportFrame | undefined {
    const state = this.#state;
    if (nowMs < state.dueMs) return undefined;
    switch (state.type) {
      case "announcing":
        return this.#announce(nowMs, MAX_ANNOUNCEMENTS - 1);
      case "waiting":
        if (state.announcements > 0) return this.#announce(nowMs, state.announcements - 1);
        return this.#abort(ABORT.timeout, { type: "silent", message: `${this.#receiver} did not answer in time` });
      case "sending":
        return this.#sendPacket(state, nowMs);
      case "aborting":
        return this.#abort(state.code, state.end);
      case "over":
        return undefined;
    }
  }

  /** Processes a connection management frame of the receiver. Returns the result when it ended the session. */
  heard(frame: CanFrame): TransportEnd | undefined {
    const { type } = this.#state;
    // Frames before our announcement belong to an earlier session.
    const isTurn = type === "waiting" || type === "sending";
    if (!isTurn || this.dst === BROADCAST_ADDRESS || announcedPgn(frame) !== this.#pgn) return undefined;
    switch (byteAt(frame, 0)) {
      case CONTROL.cts:
        this.#clear({ count: byteAt(frame, 1), from: byteAt(frame, 2) }, frame.monoMs);
        return undefined;
      case CONTROL.endOfMessage:
        if (this.#sent < this.#packets) return undefined;
        this.#state = OVER;
        return { type: "done" };
      case CONTROL.abort: {
        const reason = byteAt(frame, 1);
        const words = ABORT_REASONS.get(reason) ?? "for a reason of its own";
        this.#state = OVER;
        return { type: "aborted", message: `${this.#receiver} ended the session: ${words} (${reason})` };
      }
      default:
        return undefined;
    }
  }

  get #receiver(): string {
    return `the receiver at address ${this.dst}`;
  }

  /** The receiver requests packets, or pauses us with a count of 0. The last request counts. */
  #clear({ count, from }: { count: number; from: number }, nowMs: number): void {
    if (count === 0) return this.#hold(nowMs);
    this.#heldSinceMs = undefined;
    if (from < 1 || from > Math.min(this.#sent + 1, this.#packets)) {
      return this.#giveUp(ABORT.badSequence, {
        nowMs,
        end: {
          type: "aborted",
          message: `${this.#receiver} asked for packet ${from} after ${this.#sent} of ${this.#packets}`,
        },
      });
    }
    this.#repeats = from > this.#asked ? 0 : this.#repeats + 1;
    this.#asked = Math.max(this.#asked, from);
    if (this.#repeats > MAX_REPEATS) {
      return this.#giveUp(ABORT.repeats, {
        nowMs,
        end: { type: "aborted", message: `${this.#receiver} asked for packet ${from} again too often` },
      });
    }
    this.#state = { type: "sending", dueMs: nowMs, next: from, last: Math.min(from + count - 1, this.#packets) };
  }

  #hold(nowMs: number): void {
    this.#heldSinceMs ??= nowMs;
    if (nowMs - this.#heldSinceMs <= MAX_HOLD_MS) {
      this.#state = { type: "waiting", dueMs: nowMs + HOLD_TIMEOUT_MS, announcements: 0 };
      return;
    }
    const message = `${this.#receiver} held the session for more than ${MAX_HOLD_MS / 1000} s`;
    this.#giveUp(ABORT.timeout, { nowMs, end: { type: "silent", message } });
  }

  #giveUp(code: number, { nowMs, end }: { nowMs: number; end: TransportEnd }): void {
    this.#state = { type: "aborting", dueMs: nowMs, code, end };
  }

  #abort(code: number, end: TransportEnd): TransportFrame {
    this.#state = OVER;
    return this.#control([CONTROL.abort, code, 0xff, 0xff, 0xff], end);
  }

  #announce(nowMs: number, announcements: number): TransportFrame {
    const { length } = this.#data;
    const size = [length & 0xff, length >> 8, this.#packets];
    if (this.dst === BROADCAST_ADDRESS) {
      this.#state = { type: "sending", dueMs: nowMs + BROADCAST_PACKET_MS, next: 1, last: this.#packets };
      return this.#control([CONTROL.bam, ...size, 0xff]);
    }
    this.#state = { type: "waiting", dueMs: nowMs + ANSWER_TIMEOUT_MS, announcements };
    return this.#control([CONTROL.rts, ...size, ANY_PACKETS]);
  }

  #sendPacket({ next, last }: { next: number; last: number }, nowMs: number): TransportFrame {
    const isBroadcast = this.dst === BROADCAST_ADDRESS;
    const data = new Uint8Array(MAX_CAN_BYTES).fill(0xff);
    data[0] = next;
    data.set(this.#data.subarray((next - 1) * PACKET_BYTES, next * PACKET_BYTES), 1);
    this.#sent = Math.max(this.#sent, next);
    if (next < last) {
      this.#state = { type: "sending", dueMs: isBroadcast ? nowMs + BROADCAST_PACKET_MS : nowMs, next: next + 1, last };
    } else if (isBroadcast) this.#state = OVER;
    else this.#state = { type: "waiting", dueMs: nowMs + ANSWER_TIMEOUT_MS, announcements: 0 };
    return this.#frame(PGN.transportData, { data, end: next === last && isBroadcast ? { type: "done" } : undefined });
  }

  #control(head: readonly number[], end?: TransportEnd): TransportFrame {
    return this.#frame(PGN.transportControl, { data: controlData(head, this.#pgn), end });
  }

  #frame(pgn: number, { data, end }: Pick<TransportFrame, "data" | "end">): TransportFrame {
    const id = buildCanId({ prio: TRANSPORT_PRIORITY, pgn, src: this.src, dst: this.dst });
    return { session: this, id, data, end };
  }
}
