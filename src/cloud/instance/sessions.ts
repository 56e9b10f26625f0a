import { CAN_ID_MASK, type Message, pgnOfId, unpackBus } from "../../frame/mod.ts";
import { type LiveFrame, RangesFullError, RpcError } from "../../replication/mod.ts";
import type { Received } from "../state/received.ts";

/** A stream of a boat. */
export interface InstanceSession {
  /** Connection that carries it; default the empty string. */
  readonly connection?: string;
  /** Called when the stream is admitted. */
  started?(): void;
  /** Ends the stream; frames that arrive later are ignored. */
  end(error: RpcError): void;
}

/** Kind of a stream; a boat has at most one of each kind. */
export type SessionKind = "live" | "backfill";

/** Maximum connections of one boat whose handshake is remembered: the current one, and some whose loss is not noticed yet. */
export const MAX_PENDING_HANDSHAKES = 16;

/** The open streams of a boat, and the connections that may open one. */
export class InstanceSessions {
  /** Connections with a handshake in the current epoch, the newest last: streams name no epoch. */
  readonly #handshakes = new Set<string>();
  readonly #open = new Map<SessionKind, InstanceSession>();
  /** Monotonic time of the last handshake or end of a stream. */
  #presentMs: number;

  /** @param nowMs monotonic, like all times here; the boat counts as present at this time */
  constructor(nowMs: number) {
    this.#presentMs = nowMs;
  }

  /** True if a stream of the kind, or of any kind, is open. */
  isOpen(kind?: SessionKind): boolean {
    return kind === undefined ? this.#open.size > 0 : this.#open.has(kind);
  }

  /** True if a stream of another connection is open. */
  isOpenElsewhere(connection: string): boolean {
    return this.#open.values().some((session) => (session.connection ?? "") !== connection);
  }

  /** True if a stream of this connection is open. */
  isOpenBy(connection: string): boolean {
    return this.#open.values().some((session) => (session.connection ?? "") === connection);
  }

  /** A handshake was answered: its connection may open streams. */
  noteHandshake(connection: string, nowMs: number): void {
    this.#presentMs = nowMs;
    this.#handshakes.delete(connection);
    this.#handshakes.add(connection);
    const [oldest = ""] = this.#handshakes;
    if (this.#handshakes.size > MAX_PENDING_HANDSHAKES) this.#handshakes.delete(oldest);
  }

  /** New streams need another handshake; open ones continue. */
  forgetHandshakes(): void {
    this.#handshakes.clear();
  }

  /**
   * Adds a stream, and ends the open one of the same kind.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: its connection has made no handshake
   */
  enter(kind: SessionKind, session: InstanceSession): void {
    if (!this.#handshakes.has(session.connection ?? "")) throw handshakeRequired();
    const before = this.#open.get(kind);
    this.#open.set(kind, session);
    before?.end(new RpcError("ABORTED", "another connection of this boat took over"));
  }

  /** Removes a stream that has ended. */
  leave(session: InstanceSession, nowMs: number): void {
    this.#presentMs = nowMs;
    for (const [kind, each] of this.#open) if (each === session) this.#open.delete(kind);
  }

  /**
   * Which missing frames the boat is expected to send.
   *
   * - `asked`: those that the last handshake requested; the next one requests later gaps in the live stream
   * - `all`: the boat disconnected less than `graceMs` ago, and gets a request for everything when it comes back
   * - `nothing`: it disconnected earlier. A peer's boat does not declare what it cannot send, so nothing is expected of it
   *   either when its backfill has ended for that long
   */
  awaited(isPeer: boolean, { nowMs, graceMs }: { nowMs: number; graceMs: number }): "asked" | "all" | "nothing" {
    const isGrace = nowMs - this.#presentMs < graceMs;
    if (!this.#open.has("live")) return isGrace ? "all" : "nothing";
    return !isPeer || this.#open.has("backfill") || isGrace ? "asked" : "nothing";
  }

  /** Ends all streams; new ones need another handshake. */
  endAll(error: RpcError): void {
    this.forgetHandshakes();
    this.end(error);
  }

  /** Ends all streams; each removes itself. */
  end(error: RpcError): void {
    for (const session of [...this.#open.values()]) session.end(error);
  }
}

/** Error for a connection without a handshake. */
export function handshakeRequired(): RpcError {
  return new RpcError("FAILED_PRECONDITION", "a handshake comes first");
}

/** Error after which the boat tries again later. */
export function unavailable(reason: string): RpcError {
  return new RpcError("UNAVAILABLE", reason);
}

/** Error while it is unknown what the object store has of a boat. */
export function notListed(): RpcError {
  return unavailable("the object store does not answer: what it has of the boat is unknown");
}

/** Reads a live frame into a message, which then shares the frame's bytes. */
export function readLive({ timestampUs, canId, data }: LiveFrame, into: Message): void {
  into.id = canId & CAN_ID_MASK;
  into.bus = unpackBus(canId);
  into.pgn = pgnOfId(into.id);
  into.timeUs = timestampUs;
  into.monoMs = timestampUs / 1000;
  into.data = data;
  into.length = data.length;
}

/**
 * Records the number of a live frame. False if the frame was received before.
 *
 * @throws {RpcError} the number is invalid, or there are too many holes
 */
export function addLive(received: Received, seq: number): boolean {
  try {
    return received.addLive(seq);
  } catch (error) {
    if (error instanceof RangesFullError) throw new RpcError("RESOURCE_EXHAUSTED", `too many holes: ${error.message}`);
    if (error instanceof RangeError) throw new RpcError("INVALID_ARGUMENT", error.message);
    throw error;
  }
}
