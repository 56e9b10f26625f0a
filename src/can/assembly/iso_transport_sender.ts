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
 * The transport sessions that we open on one bus. There is one at a time between two addresses, and one
 * broadcast per source; later ones wait in order. Sessions with frames due take turns.
 * Pure: time and received frames are passed in.
 */
export class TransportSender {
  /** By source and destination; the first of each is active, the others wait. */
  readonly #lines = new Map<number, TransportSession[]>();

  /** Number of active and waiting sessions. */
  get size(): number {
    let size = 0;
    for (const line of this.#lines.values()) size += line.length;
    return size;
  }

  /** When the next frame is due, milliseconds; Infinity when all sessions wait for a response. */
  get dueMs(): number {
    let dueMs = Infinity;
    for (const [session] of this.#lines.values()) dueMs = Math.min(dueMs, session?.dueMs ?? Infinity);
    return dueMs;
  }

  /**
   * Opens a session as soon as its addresses are free. The caller removes it at its end.
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

  /** Removes a session that has ended or is given up. */
  remove(session: TransportSession): void {
    const key = sessionKey(session.src, session.dst);
    const rest = this.#lines.get(key)?.filter((each) => each !== session) ?? [];
    if (rest.length > 0) this.#lines.set(key, rest);
    else this.#lines.delete(key);
  }

  /** A due frame of the session that has waited longest for its turn; undefined when none is due. */
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

  /** Processes a received frame; returns the session that it ended. */
  heard(frame: CanFrame): { session: TransportSession; end: TransportEnd } | undefined {
    if (this.#lines.size === 0 || frame.length < MAX_CAN_BYTES || pgnOfId(frame.id) !== PGN.transportControl) {
      return undefined;
    }
    const [session] = this.#lines.get(sessionKey(destinationOfId(frame.id), sourceOfId(frame.id))) ?? [];
    const end = session?.heard(frame);
    return session && end && { session, end };
  }
}
