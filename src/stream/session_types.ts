import type { Clock, Logger } from "../base/mod.ts";
import type { Filter } from "../filter/mod.ts";
import type { MissingFrames } from "./cursor.ts";
import type { CompileFilter } from "./filters.ts";
import type { FrameSource } from "./frame_source.ts";
import type { StreamEnd } from "./session_stream.ts";

/** A session defined in the settings: it exists from the start and is never removed. */
export interface Slot {
  /** Id of its client, see {@linkcode CLIENT_ID}. */
  id: string;
  /** After this time without a client the slot is reset to the newest frame, milliseconds. */
  timeoutMs: number;
  /** Frames that its client gets. */
  filter: Filter;
}

/** Limits of sessions; read at each use, because settings can be reloaded. */
export interface SessionLimits {
  /** Most sessions, without slots. */
  maxSessions: number;
  /** Most sessions of one token, or of one network for clients without a token. */
  maxSessionsPerOwner: number;
  /** Longest time that a session is kept without a connected client, milliseconds. */
  maxTimeoutMs: number;
}

/** A client of sessions. */
export interface SessionClient {
  /** Name of its token; undefined when no token is required. */
  token: string | undefined;
  /** Whether it may use every session. */
  isAdmin: boolean;
  /** Network of its address. Clients without a token share the limit of their network. */
  network: string;
}

/** Settings that a client requests for its session. */
export interface SessionRequest {
  filter: Filter;
  /** How long the session is kept without a connected client, milliseconds. */
  timeoutMs: number;
}

/** A session as the API shows it. */
export interface SessionView {
  readonly id: string;
  readonly cursor: number;
  readonly timeoutMs: number;
  readonly filter: Filter;
  readonly isStreaming: boolean;
  readonly isSlot: boolean;
}

/**
 * - `missing`: there is no such session, or another client owns it
 * - `full`: the limit of all sessions is reached; `owner-full`: the limit of this client
 * - `ahead`: no frame has that number yet
 * - `not_durable`: the frames could not be synced to disk
 */
export type SessionErrorReason = "missing" | "full" | "owner-full" | "ahead" | "not_durable";

/** A session request that cannot be fulfilled. */
export class SessionError extends Error {
  override readonly name = "SessionError";
  readonly reason: SessionErrorReason;

  constructor(reason: SessionErrorReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Error message for a session that does not exist or belongs to another client. */
export function noSessionMessage(id: string): string {
  return `There is no session "${id}": create it with PUT /clients/${id}`;
}

/** Options of {@linkcode Sessions}. */
export interface SessionsOptions {
  source: FrameSource;
  compile: CompileFilter;
  clock: Clock;
  log: Logger;
  limits: () => SessionLimits;
  slots?: readonly Slot[] | undefined;
  /** First sequence number for new slots; default: the next frame. */
  slotsFrom?: number | undefined;
  /** Epoch of the sequence numbers. */
  epoch?: string | undefined;
  /** Directory where sessions are stored; default none: they do not survive a restart. */
  directory?: string | undefined;
  /** An acknowledgement waits until the journal has synced its frames to disk. */
  journal?: { sync(through: number): Promise<void> } | undefined;
}

/** Options of a session's stream. */
export interface SessionStreamOptions {
  /** Called once, when the stream has ended. */
  ended: (how: StreamEnd) => void;
  /** Called with frames that were not recorded, or that an unclean stop may have lost. */
  missing?: (frames: MissingFrames) => void;
  /** Name of the reader's token. */
  reader?: string | undefined;
}
