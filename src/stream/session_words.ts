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
  /** Longest time that a session is kept for a client that is away. */
  maxTimeoutMs: number;
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

/** `missing`: there is no such session; `full`: no more are kept; `ahead`: nothing has that number yet. */
export type SessionErrorReason = "missing" | "full" | "ahead";

/** What a client asked of its session cannot be done. */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly reason: SessionErrorReason;

  constructor(reason: SessionErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}
