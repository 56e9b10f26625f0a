import {
  BROADCAST_ADDRESS,
  buildCanId,
  type CanFrame,
  destinationOfId,
  MAX_MESSAGE_BYTES,
  MAX_PGN,
  pgnOfId,
  priorityOfId,
  sourceOfId,
} from "../../frame/mod.ts";
import type { AssemblerDrops, FrameDrops } from "./drops.ts";

/** Longest wait for the next packet of a broadcast (T1, ISO 11783-3 §5.13.3). */
export const BROADCAST_TIMEOUT_MS = 750;
/** Longest wait within an addressed session, in which the receiver may pause the sender (T2, T3). */
export const ADDRESSED_TIMEOUT_MS = 1250;
/** Payload bytes of one data packet. */
export const PACKET_BYTES = 7;

/** First byte of a connection management frame (ISO 11783-3 §5.10.3). */
export const CONTROL = { rts: 16, cts: 17, endOfMessage: 19, bam: 32, abort: 255 } as const;

/** Reasons of an abort (ISO 11783-3 §5.10.3.5). */
export const ABORT = { busy: 1, timeout: 3, repeats: 5, badSequence: 7, tooLong: 9, other: 250 } as const;

/** A multi-packet message being transferred from one address to another. */
interface Session {
  key: number;
  /** PGN as announced; some senders put an address in its low byte. */
  announcedPgn: number;
  pgn: number;
  /** CAN identifier that the message would have in a single frame. */
  id: number;
  length: number;
  packets: number;
  /** Number of the last packet received; all before it have been received, too. */
  received: number;
  timeoutMs: number;
  touchedMs: number;
  /** Frames received for it: the announcement, and its packets, repeated ones included. */
  frames: number;
  data: Uint8Array<ArrayBuffer>;
}

/**
 * Reassembles the messages of ISO 11783-3 transport sessions, broadcast (BAM) and addressed (RTS/CTS). It only listens
 * and never sends: packets that an addressed receiver requests again are accepted as they pass.
 */
export class TransportListener {
  readonly #drops: AssemblerDrops;
  readonly #frameDrops: FrameDrops;
  readonly #maxSessions: number;
  readonly #sessions = new Map<number, Session>();

  /** @param counters `drops` counts the sessions that are given up, `frameDrops` their frames */
  constructor(
    { drops, frameDrops }: { drops: AssemblerDrops; frameDrops: FrameDrops },
    maxSessions: number,
  ) {
    this.#drops = drops;
    this.#frameDrops = frameDrops;
    this.#maxSessions = maxSessions;
  }

  /** Number of open sessions. */
  get pending(): number {
    return this.#sessions.size;
  }

  /** Frames of the open sessions. */
  get waitingFrames(): number {
    let frames = 0;
    for (const session of this.#sessions.values()) frames += session.frames;
    return frames;
  }

  /** Processes a frame of PGN 60416, connection management. */
  control(frame: CanFrame): void {
    const source = sourceOfId(frame.id);
    const destination = destinationOfId(frame.id);
    const kind = byteAt(frame, 0);
    if (frame.length < 8) {
      this.#dropMalformed();
    } else if (kind === CONTROL.bam || kind === CONTROL.rts) {
      this.#begin(frame, { source, destination });
    } else if (kind === CONTROL.cts || kind === CONTROL.endOfMessage) {
      const session = this.#sessions.get(sessionKey(destination, source));
      if (session) session.touchedMs = frame.monoMs;
      this.#frameDrops.tp_control++;
    } else if (kind === CONTROL.abort) {
      for (const key of [sessionKey(source, destination), sessionKey(destination, source)]) {
        if (this.#sessions.get(key)?.announcedPgn === announcedPgn(frame)) this.#abort(key);
      }
      this.#frameDrops.tp_control++;
    } else {
      this.#dropMalformed();
    }
  }

  /** Processes a frame of PGN 60160, data transfer. Returns the session when this was its last packet. */
  data(frame: CanFrame): Session | undefined {
    const session = this.#sessions.get(sessionKey(sourceOfId(frame.id), destinationOfId(frame.id)));
    const packet = byteAt(frame, 0);
    if (!session || frame.length < 2 || packet < 1 || packet > session.packets || packet > session.received + 1) {
      this.#drops.tp_unexpected++;
      this.#frameDrops.tp_unexpected++;
      return undefined;
    }
    session.frames++;
    session.touchedMs = frame.monoMs;
    const at = (packet - 1) * PACKET_BYTES;
    for (let i = 0; i < PACKET_BYTES && at + i < session.length; i++) {
      session.data[at + i] = i + 1 < frame.length ? byteAt(frame, i + 1) : 0xff;
    }
    session.received = Math.max(session.received, packet);
    if (session.received < session.packets) return undefined;
    this.#sessions.delete(session.key);
    return session;
  }

  /** Drops sessions whose next packet did not arrive in time. */
  expire(nowMs: number): void {
    for (const session of this.#sessions.values()) {
      if (nowMs - session.touchedMs <= session.timeoutMs) continue;
      this.#giveUp(session, "tp_timeout");
    }
  }

  #begin(frame: CanFrame, { source, destination }: { source: number; destination: number }): void {
    const length = byteAt(frame, 1) | (byteAt(frame, 2) << 8);
    const packets = byteAt(frame, 3);
    const broadcast = byteAt(frame, 0) === CONTROL.bam;
    const fits = length > 0 && length <= MAX_MESSAGE_BYTES && packets === Math.ceil(length / PACKET_BYTES);
    if (!fits || broadcast !== (destination === BROADCAST_ADDRESS)) {
      this.#dropMalformed();
      return;
    }
    const key = sessionKey(source, destination);
    this.#abort(key);
    if (this.#sessions.size >= this.#maxSessions) {
      const [oldest] = this.#sessions.values();
      if (oldest) this.#giveUp(oldest, "overflow");
    }
    const pgn = announcedPgn(frame);
    const id = buildCanId({ prio: priorityOfId(frame.id), pgn, src: source, dst: destination });
    this.#sessions.set(key, {
      key,
      announcedPgn: pgn,
      pgn: pgnOfId(id),
      id,
      length,
      packets,
      received: 0,
      timeoutMs: broadcast ? BROADCAST_TIMEOUT_MS : ADDRESSED_TIMEOUT_MS,
      touchedMs: frame.monoMs,
      frames: 1,
      data: new Uint8Array(length),
    });
  }

  #abort(key: number): void {
    const session = this.#sessions.get(key);
    if (session) this.#giveUp(session, "tp_aborted");
  }

  #giveUp({ key, frames }: Session, reason: "overflow" | "tp_timeout" | "tp_aborted"): void {
    this.#sessions.delete(key);
    this.#drops[reason]++;
    this.#frameDrops[reason] += frames;
  }

  #dropMalformed(): void {
    this.#drops.malformed++;
    this.#frameDrops.malformed++;
  }
}

/** PGN of the message that a connection management frame refers to. */
export function announcedPgn(frame: CanFrame): number {
  return (byteAt(frame, 5) | (byteAt(frame, 6) << 8) | (byteAt(frame, 7) << 16)) & MAX_PGN;
}

/** Data of a connection management frame: five bytes and the PGN. */
export function controlData(head: readonly number[], pgn: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(...head, pgn & 0xff, (pgn >>> 8) & 0xff, pgn >>> 16);
}

/** A data byte of a frame; 0xFF, as padding, beyond its end. */
export function byteAt(frame: CanFrame, index: number): number {
  return frame.data[frame.offset + index] ?? 0xff;
}

/** Combines two addresses to a map key. */
export function sessionKey(source: number, destination: number): number {
  return (source << 8) | destination;
}
