import type { Clock, Logger } from "../base/mod.ts";
import type { Filter } from "../filter/mod.ts";
import type { MissingFrames } from "./cursor.ts";
import type { CompileFilter, LiveFilter } from "./filters.ts";
import type { FrameSource } from "./frame_source.ts";
import type { SessionStream, StreamEnd } from "./session_stream.ts";
import type { StoredSession } from "./session_file.ts";
import type { SlotState } from "./slot_log.ts";

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

/** State of a session in memory. */
export interface Session {
  readonly id: string;
  /** Unique number: tells sessions apart that have had the same id. */
  readonly number: number;
  readonly slot: Slot | undefined;
  /** Name of the token that owns it; undefined: every reader may use it. */
  owner: string | undefined;
  /** Network of the client that created it; undefined: unknown. */
  readonly network: string | undefined;
  filter: Filter;
  timeoutMs: number;
  cursor: number;
  /** Whether the client ever opened a stream or acknowledged a frame. */
  wasRead: boolean;
  /** Highest number that its closed streams have read. */
  readThrough: number;
  /** Epoch of the client's numbers: `older` until a stream has reported the change, then `reported` until the client returns. */
  epoch: "current" | "older" | "reported";
  live: LiveFilter;
  state: { kind: "idle"; sinceMs: number } | { kind: "streaming"; stream: SessionStream; reader: string | undefined };
}

/** Options of a new session. */
export interface NewSession extends Pick<Session, "id" | "filter" | "timeoutMs"> {
  /** Number of a restored session; default: a new one. */
  number?: number | undefined;
  owner?: string | undefined;
  network?: string | undefined;
}

export function viewOf({ id, cursor, timeoutMs, filter, state, slot }: Session): SessionView {
  return { id, cursor, timeoutMs, filter, isStreaming: state.kind === "streaming", isSlot: slot !== undefined };
}

export function slotStateOf({ id, cursor, timeoutMs, state }: Session): SlotState {
  return { id, cursor, timeoutMs, isConnected: state.kind === "streaming" };
}

export function storedOf(session: Session): StoredSession {
  const { number, id, owner, network, timeoutMs, filter, cursor, wasRead, epoch } = session;
  const stored = { number, id, owner, network, timeoutMs, filter, wasRead };
  return { ...stored, cursor: epoch === "older" ? undefined : cursor };
}

/** Highest number that any of its streams has read. */
export function readThroughOf({ state, readThrough }: Session): number {
  return state.kind === "idle" ? readThrough : Math.max(readThrough, state.stream.readThrough);
}

/** Largest number of unread frames of a connected client; 0 when none is connected. */
export function largestLagOf(sessions: Iterable<Session>, head: number): number {
  let largest = 0;
  for (const { state } of sessions) {
    if (state.kind === "streaming") largest = Math.max(largest, head - state.stream.readThrough);
  }
  return largest;
}

/** Time for syncing the acknowledged frames. After it the acknowledgement is refused: the disk hangs or fails. */
export const SYNC_PATIENCE_MS = 5000;

/**
 * Waits until the frames up to a number are synced to disk. Without a journal it returns at once.
 *
 * @throws {SessionError} `not_durable`
 */
export async function syncThrough(
  seq: number,
  journal: { sync(through: number): Promise<void> } | undefined,
): Promise<void> {
  const synced = journal?.sync(seq);
  if (!synced) return;
  const timeout = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => timeout.resolve(false), SYNC_PATIENCE_MS);
  const isSynced = await Promise.race([synced.then(() => true, () => false), timeout.promise]);
  clearTimeout(timer);
  if (isSynced) return;
  throw new SessionError("not_durable", `The frames up to ${seq} are not synced to disk: see journal in /healthz`);
}
