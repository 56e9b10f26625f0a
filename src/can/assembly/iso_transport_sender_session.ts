import {
  BROADCAST_ADDRESS,
  buildCanId,
  type CanFrame,
  isAddressed,
  MAX_CAN_BYTES,
  MAX_MESSAGE_BYTES,
} from "../../frame/mod.ts";
import { PGN } from "../../pgn/mod.ts";
import { announcedPgn, byteAt, CONTROL, PACKET_BYTES } from "./iso_transport.ts";

/** Pause between two packets of a broadcast; the standard wants 50 to 200 ms (ISO 11783-3 §5.13.3). */
const BROADCAST_PACKET_MS = 50;
/** Longest wait for what the receiver says to an announcement, or to the packets that it asked for (T3). */
const ANSWER_TIMEOUT_MS = 1250;
/** Longest wait for the next word of a receiver that holds us (T4). */
const HOLD_TIMEOUT_MS = 1050;
/** Longest time that a receiver may hold us without a break. */
const MAX_HOLD_MS = 60_000;
/** Announcements of an addressed session, when no answer comes. */
const MAX_ANNOUNCEMENTS = 3;
/** How often a receiver may go back to packets that it asked for already, without getting on in between. */
const MAX_REPEATS = 2;
/** Priority of transport frames, whatever they carry (ISO 11783-3 §5.10.3). */
const TRANSPORT_PRIORITY = 7;
/** In an announcement: the receiver may ask for any number of packets at a time. */
const ANY_PACKETS = 0xff;

/** Why a side gives a session up (ISO 11783-3 §5.10.3.5), as the wire has it. */
const ABORT = { timeout: 3, repeats: 5, badSequence: 7 } as const;
/** The same in words. */
const ABORT_REASONS: ReadonlyMap<number, string> = new Map([
  [1, "it has another session with us"],
  [2, "it needs its resources for another task"],
  [ABORT.timeout, "it waited too long"],
  [4, "packets were under way when it asked for more"],
  [ABORT.repeats, "it asked for packets again too often"],
  [6, "it did not expect a packet"],
  [ABORT.badSequence, "a packet had a bad number"],
  [8, "a packet came twice"],
  [9, "the message is too long"],
]);

/** A message for {@linkcode TransportSession}: 1 to 1785 bytes that nobody changes any more. */
export interface TransportMessage {
  readonly pgn: number;
  readonly src: number;
  /** 255, or a PGN that carries no destination: a broadcast. */
  readonly dst: number;
  readonly data: Uint8Array;
}

/** What became of a session. `message` says why in words for a person. */
export type TransportEnd =
  | { type: "done" }
  /** One side gave it up: the receiver said so, or asked for what cannot be. */
  | { type: "aborted"; message: string }
  | { type: "silent"; message: string };

/** A frame that a session wants sent. */
export interface TransportFrame {
  session: TransportSession;
  id: number;
  data: Uint8Array<ArrayBuffer>;
  /** What the session has come to when this frame is out; undefined when it goes on. */
  end: TransportEnd | undefined;
}

type State =
  | { type: "announcing"; dueMs: number }
  /** It is the receiver's turn. When the time is over it is announced again, so many times, and then given up. */
  | { type: "waiting"; dueMs: number; announcements: number }
  /** Packets are due, from `next` to `last`. */
  | { type: "sending"; dueMs: number; next: number; last: number }
  /** The receiver is to be told that we give up. */
  | { type: "aborting"; dueMs: number; code: number; end: TransportEnd }
  | { type: "over"; dueMs: number };

const OVER: State = { type: "over", dueMs: Infinity };

/**
 * The sending side of one ISO 11783-3 transport session: a broadcast (BAM), or an exchange with one receiver (RTS/CTS).
 * Pure: time and answers are passed in, frames are taken out when they are due.
 */
export class TransportSession {
  /** Where from, where to on the wire: 255 is a broadcast. */
  readonly src: number;
  readonly dst: number;
  /** As it is announced, without a destination in it. */
  readonly #pgn: number;
  readonly #data: Uint8Array;
  readonly #packets: number;
  #state: State;
  /** Highest packet that was taken. */
  #sent = 0;
  /** Highest packet that the receiver has asked from, and how often it asked without getting beyond. */
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

  /** Whether its first announcement was taken. */
  get hasBegun(): boolean {
    return this.#state.type !== "announcing";
  }

  /** When the next frame is due, milliseconds; Infinity when none will be. */
  get dueMs(): number {
    return this.#state.dueMs;
  }

  /** The frame that is due; undefined when none is yet. */
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

  /** Takes a connection management frame of the receiver's; returns the end when that was it. */
  heard(frame: CanFrame): TransportEnd | undefined {
    const { type } = this.#state;
    // What comes before our announcement is about an earlier session.
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

  /** The receiver wants packets, or holds us with a count of 0. Of several wishes the last one counts. */
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
    const pgn = this.#pgn;
    const data = Uint8Array.of(...head, pgn & 0xff, (pgn >>> 8) & 0xff, pgn >>> 16);
    return this.#frame(PGN.transportControl, { data, end });
  }

  #frame(pgn: number, { data, end }: Pick<TransportFrame, "data" | "end">): TransportFrame {
    const id = buildCanId({ prio: TRANSPORT_PRIORITY, pgn, src: this.src, dst: this.dst });
    return { session: this, id, data, end };
  }
}
