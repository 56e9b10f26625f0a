import { RpcError } from "../../replication/mod.ts";

/** A boat's stream, as far as the boat's other streams matter. */
export interface InstanceSession {
  /** The connection it came by; left out where there is but one. */
  readonly connection?: string;
  /** It was admitted. */
  started?(): void;
  /** Ends it; of what it brings nothing counts any more. */
  end(error: RpcError): void;
}

/** What a stream brings; a boat has one of each kind. */
export type SessionKind = "live" | "backfill";

/** Connections of one boat whose handshake is remembered: it has one, and perhaps a few that nobody has noticed to be cut. */
export const MAX_PENDING_HANDSHAKES = 16;

/** The streams of a boat: who may open one, and which have to go. */
export class InstanceSessions {
  /** Connections that have told this very run of numbers, the newest last: streams do not name theirs. */
  readonly #greeted = new Set<string>();
  readonly #open = new Map<SessionKind, InstanceSession>();
  /** When the boat was last here, as far as it is not now. */
  #hereMs: number;

  /** @param nowMs monotonic, as all times here: the boat may have been here a moment before */
  constructor(nowMs: number) {
    this.#hereMs = nowMs;
  }

  /** Whether a stream is open: of this kind, or of any. */
  isOpen(kind?: SessionKind): boolean {
    return kind === undefined ? this.#open.size > 0 : this.#open.has(kind);
  }

  /** Whether a stream of another connection is open. */
  isOpenElsewhere(connection: string): boolean {
    return this.#open.values().some((session) => (session.connection ?? "") !== connection);
  }

  /** Whether a stream of this connection is open. */
  isOpenBy(connection: string): boolean {
    return this.#open.values().some((session) => (session.connection ?? "") === connection);
  }

  /** A connection has made its handshake: streams are taken of it. */
  greet(connection: string, nowMs: number): void {
    this.#hereMs = nowMs;
    this.#greeted.delete(connection);
    this.#greeted.add(connection);
    const [oldest = ""] = this.#greeted;
    if (this.#greeted.size > MAX_PENDING_HANDSHAKES) this.#greeted.delete(oldest);
  }

  /** Streams need another handshake from now on; those that are open go on. */
  forgetGreetings(): void {
    this.#greeted.clear();
  }

  /**
   * A stream begins; one of its kind that is open has to go.
   *
   * @throws {RpcError} `FAILED_PRECONDITION`: its connection has made no handshake
   */
  enter(kind: SessionKind, session: InstanceSession): void {
    if (!this.#greeted.has(session.connection ?? "")) throw handshakeFirst();
    const before = this.#open.get(kind);
    this.#open.set(kind, session);
    before?.end(new RpcError("ABORTED", "another connection of this boat took over"));
  }

  /** A stream has ended. */
  leave(session: InstanceSession, nowMs: number): void {
    this.#hereMs = nowMs;
    for (const [kind, each] of this.#open) if (each === session) this.#open.delete(kind);
  }

  /**
   * Whether what is missing is on its way.
   *
   * - `asked`: what the boat was asked for at its handshake; what is missing of its live frames it is asked for at the next
   * - `all`: the boat has gone no longer ago than `graceMs`, and is asked for everything when it comes back
   * - `nothing`: it has gone for longer. Peers' boats do not tell what they cannot send: of them nothing comes when their
   *   backfill has ended for so long
   */
  awaited(isPeer: boolean, { nowMs, graceMs }: { nowMs: number; graceMs: number }): "asked" | "all" | "nothing" {
    const isGrace = nowMs - this.#hereMs < graceMs;
    if (!this.#open.has("live")) return isGrace ? "all" : "nothing";
    return !isPeer || this.#open.has("backfill") || isGrace ? "asked" : "nothing";
  }

  /** Ends all streams; another handshake is needed for new ones, also by who has made one and opened none yet. */
  startOver(error: RpcError): void {
    this.forgetGreetings();
    this.end(error);
  }

  /** Ends all streams; each leaves when it is over. */
  end(error: RpcError): void {
    for (const session of [...this.#open.values()]) session.end(error);
  }
}

/** What who has made no handshake is told. */
export function handshakeFirst(): RpcError {
  return new RpcError("FAILED_PRECONDITION", "a handshake comes first");
}
