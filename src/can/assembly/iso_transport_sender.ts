import { type CanFrame, destinationOfId, MAX_CAN_BYTES, pgnOfId, sourceOfId } from "../../frame/mod.ts";
import { PGN } from "../../pgn/mod.ts";
import { sessionKey } from "./iso_transport.ts";
import {
  type TransportEnd,
  type TransportFrame,
  type TransportMessage,
  TransportSession,
} from "./iso_transport_sender_session.ts";

export type { TransportEnd, TransportFrame, TransportMessage, TransportSession };

/**
 * All transport sessions that begin on our side of one bus. Between two addresses there is one at a time, and one
 * broadcast of a source: what comes later waits for its turn, in order. Sessions that have frames due take turns.
 * Pure: time and what is heard are passed in.
 */
export class TransportSender {
  /** By source and destination; the first of each is under way. */
  readonly #lines = new Map<number, TransportSession[]>();

  /** Sessions under way and waiting. */
  get size(): number {
    let size = 0;
    for (const line of this.#lines.values()) size += line.length;
    return size;
  }

  /** When the next frame is due, milliseconds; Infinity when none will be without an answer. */
  get dueMs(): number {
    let dueMs = Infinity;
    for (const [session] of this.#lines.values()) dueMs = Math.min(dueMs, session?.dueMs ?? Infinity);
    return dueMs;
  }

  /**
   * Begins a session as soon as it may. It stays until it is removed: whoever began it does that at its end.
   *
   * @throws {RangeError} the message is empty or longer than 1785 bytes
   */
  begin(message: TransportMessage, nowMs: number): TransportSession {
    const session = new TransportSession(message, nowMs);
    const key = sessionKey(session.src, session.dst);
    const line = this.#lines.get(key);
    if (line) line.push(session);
    else this.#lines.set(key, [session]);
    return session;
  }

  /** Forgets a session, which is over or given up. */
  remove(session: TransportSession): void {
    const key = sessionKey(session.src, session.dst);
    const rest = this.#lines.get(key)?.filter((each) => each !== session) ?? [];
    if (rest.length > 0) this.#lines.set(key, rest);
    else this.#lines.delete(key);
  }

  /** A frame that is due, of the session that has waited longest for its turn. */
  take(nowMs: number): TransportFrame | undefined {
    for (const [key, line] of this.#lines) {
      const frame = line[0]?.take(nowMs);
      if (!frame) continue;
      this.#lines.delete(key);
      this.#lines.set(key, line);
      return frame;
    }
    return undefined;
  }

  /** Hears any frame of the bus; returns the session that ended by it. */
  heard(frame: CanFrame): { session: TransportSession; end: TransportEnd } | undefined {
    if (this.#lines.size === 0 || frame.length < MAX_CAN_BYTES || pgnOfId(frame.id) !== PGN.transportControl) {
      return undefined;
    }
    const [session] = this.#lines.get(sessionKey(destinationOfId(frame.id), sourceOfId(frame.id))) ?? [];
    const end = session?.heard(frame);
    return session && end && { session, end };
  }
}
