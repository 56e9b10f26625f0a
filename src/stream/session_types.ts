import type { Filter } from "../filter/mod.ts";

/** A session that the settings name: it is there from the start, and never goes away. */
export interface Slot {
  /** What its client calls it, see {@linkcode CLIENT_ID}. */
  id: string;
  /** It begins anew when its client is away for so long, milliseconds. */
  timeoutMs: number;
  /** Frames that it is for. */
  filter: Filter;
}

/** What sessions may cost; read whenever it matters. */
export interface SessionLimits {
  /** Most sessions, slots not counted. */
  maxSessions: number;
  /** Most sessions of one token, or of one network where there are no tokens. */
  maxSessionsPerOwner: number;
  /** Longest time that a session is kept for a client that is away. */
  maxTimeoutMs: number;
}

/** Who uses sessions. */
export interface SessionClient {
  /** Name of its token; undefined where nobody needs one. */
  token: string | undefined;
  /** It may use every session. */
  isAdmin: boolean;
  /** Where it comes from; clients without a token share the limit of their network. */
  network: string;
}

/** What a session is to be. */
export interface SessionWish {
  filter: Filter;
  /** How long it is kept while its client is away, milliseconds. */
  timeoutMs: number;
}

/** A session as clients see it. */
export interface SessionView {
  readonly id: string;
  readonly cursor: number;
  readonly timeoutMs: number;
  readonly filter: Filter;
  readonly isStreaming: boolean;
  readonly isSlot: boolean;
}

/**
 * - `missing`: there is no such session, or it is another one's
 * - `full`: no more are kept; `owner-full`: no more of this client
 * - `ahead`: nothing has that number yet
 * - `not_durable`: the frames could not be synced to disk
 */
export type SessionErrorReason = "missing" | "full" | "owner-full" | "ahead" | "not_durable";

/** What a client asked of its session cannot be done. */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly reason: SessionErrorReason;

  constructor(reason: SessionErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** What a client is told of a session that is not there, or not for it. */
export function noSession(id: string): string {
  return `There is no session "${id}": make it with PUT /clients/${id}`;
}
