import { type CanFrame, MAX_MESSAGE_BYTES, sourceOfId } from "../../frame/mod.ts";
import { ABORT, announcedPgn, byteAt, CONTROL, controlData, PACKET_BYTES } from "./iso_transport.ts";

/** Longest wait for the first requested packet (T2, ISO 11783-3 §5.13.3). */
const FIRST_PACKET_TIMEOUT_MS = 1250;
/** Longest wait for the next packet (T1). */
const NEXT_PACKET_TIMEOUT_MS = 750;
/** Packets requested at a time: some 40 ms of a full bus. */
const PACKETS_AT_A_TIME = 16;
/** Most repeated requests without progress. */
const MAX_REPEATS = 2;

/** A message that another node is sending to us. */
interface Session {
  readonly source: number;
  readonly pgn: number;
  readonly length: number;
  readonly packets: number;
  /** Most packets that the sender allows per request. */
  readonly atATime: number;
  /** Number of the next expected packet, from 1. */
  next: number;
  /** Number of the last requested packet. */
  last: number;
  repeats: number;
  dueMs: number;
}

/**
 * Receiving side of ISO 11783-3 transport sessions that other nodes open with us: requests the packets, lost ones again,
 * and confirms the complete message. The assembler, which listens, reads the payload. One session per source.
 * Pure: the caller passes in the frames addressed to us and sends the responses.
 */
export class TransportReceiver {
  readonly #answer: (dst: number, data: Uint8Array<ArrayBuffer>) => void;
  readonly #maxSessions: number;
  readonly #sessions = new Map<number, Session>();

  /**
   * @param answer sends 8 bytes of PGN 60416 to an address
   * @param options.maxSessions most sources that may send at once; others get an abort and may retry
   */
  constructor(answer: (dst: number, data: Uint8Array<ArrayBuffer>) => void, { maxSessions }: { maxSessions: number }) {
    this.#answer = answer;
    this.#maxSessions = maxSessions;
  }

  /** Number of open sessions. */
  get pending(): number {
    return this.#sessions.size;
  }

  /** Processes a frame of PGN 60416 addressed to us. */
  control(frame: CanFrame): void {
    if (frame.length < 8) return;
    const source = sourceOfId(frame.id);
    const kind = byteAt(frame, 0);
    if (kind === CONTROL.rts) this.#begin(frame, source);
    else if (kind === CONTROL.abort && this.#sessions.get(source)?.pgn === announcedPgn(frame)) {
      this.#sessions.delete(source);
    }
  }

  /** Processes a frame of PGN 60160 addressed to us. */
  data(frame: CanFrame): void {
    const session = this.#sessions.get(sourceOfId(frame.id));
    if (!session || frame.length < 2) return;
    const packet = byteAt(frame, 0);
    session.dueMs = frame.monoMs + NEXT_PACKET_TIMEOUT_MS;
    if (packet === session.next) session.next++;
    if (session.next > session.packets) return this.#confirm(session);
    if (session.next > session.last) {
      session.repeats = 0;
      this.#request(session, frame.monoMs);
    } else if (packet === session.last) {
      this.#requestAgain(session, { nowMs: frame.monoMs, code: ABORT.repeats });
    }
  }

  /** Requests missing packets again, and aborts sessions without progress. */
  expire(nowMs: number): void {
    for (const session of this.#sessions.values()) {
      if (nowMs > session.dueMs) this.#requestAgain(session, { nowMs, code: ABORT.timeout });
    }
  }

  /** Removes all sessions, after a change of our address. */
  clear(): void {
    this.#sessions.clear();
  }

  #begin(frame: CanFrame, source: number): void {
    const pgn = announcedPgn(frame);
    const length = byteAt(frame, 1) | (byteAt(frame, 2) << 8);
    const packets = byteAt(frame, 3);
    const refuse = (code: number) => this.#abort({ source, pgn }, code);
    if (length > MAX_MESSAGE_BYTES) return refuse(ABORT.tooLong);
    if (length === 0 || packets !== Math.ceil(length / PACKET_BYTES)) return refuse(ABORT.other);
    if (!this.#sessions.has(source) && this.#sessions.size >= this.#maxSessions) return refuse(ABORT.busy);
    const atATime = Math.min(PACKETS_AT_A_TIME, byteAt(frame, 4) || PACKETS_AT_A_TIME);
    const session = { source, pgn, length, packets, atATime, next: 1, last: 0, repeats: 0, dueMs: 0 };
    this.#sessions.set(source, session);
    this.#request(session, frame.monoMs);
  }

  #request(session: Session, nowMs: number): void {
    const { source, pgn, next, packets, atATime } = session;
    session.last = Math.min(packets, next + atATime - 1);
    session.dueMs = nowMs + FIRST_PACKET_TIMEOUT_MS;
    this.#answer(source, controlData([CONTROL.cts, session.last - next + 1, next, 0xff, 0xff], pgn));
  }

  #requestAgain(session: Session, { nowMs, code }: { nowMs: number; code: number }): void {
    if (session.repeats++ < MAX_REPEATS) return this.#request(session, nowMs);
    this.#sessions.delete(session.source);
    this.#abort(session, code);
  }

  #confirm({ source, pgn, length, packets }: Session): void {
    this.#sessions.delete(source);
    this.#answer(source, controlData([CONTROL.endOfMessage, length & 0xff, length >>> 8, packets, 0xff], pgn));
  }

  #abort({ source, pgn }: { source: number; pgn: number }, code: number): void {
    this.#answer(source, controlData([CONTROL.abort, code, 0xff, 0xff, 0xff], pgn));
  }
}
