import type { Filter } from "../filter/mod.ts";
import type { LiveFilter } from "./filters.ts";
import type { StoredSession } from "./session_file.ts";
import type { SessionStream } from "./session_stream.ts";
import { SessionError, type SessionView, type Slot } from "./session_types.ts";
import type { SlotState } from "./slot_log.ts";

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
