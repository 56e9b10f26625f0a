import type { Filter } from "../filter/mod.ts";
import type { LiveFilter } from "./filters.ts";
import type { StoredSession } from "./session_file.ts";
import type { SessionStream } from "./session_stream.ts";
import type { SessionView, Slot } from "./session_types.ts";
import type { SlotState } from "./slot_log.ts";

/** A session as the server keeps it. */
export interface Session {
  readonly id: string;
  /** Unique among all sessions that ever had the same id. */
  readonly number: number;
  readonly slot: Slot | undefined;
  /** Name of the token that it belongs to; undefined: every reader may use it. */
  owner: string | undefined;
  /** Network that it was made from; undefined: not known. */
  readonly network: string | undefined;
  filter: Filter;
  timeoutMs: number;
  cursor: number;
  /** Whether a stream was ever opened, or a frame acknowledged. */
  wasRead: boolean;
  /** Newest number that its streams that have ended came to. */
  readThrough: number;
  /** Which epoch the client counts in: an older one, until it is told, and once it was told until it comes back. */
  epoch: "current" | "older" | "told";
  live: LiveFilter;
  state: { kind: "idle"; sinceMs: number } | { kind: "streaming"; stream: SessionStream; reader: string | undefined };
}

/** What a session is made with. */
export interface NewSession extends Pick<Session, "id" | "filter" | "timeoutMs"> {
  /** Left out: it is new, and gets one. */
  number?: number | undefined;
  owner?: string | undefined;
  network?: string | undefined;
}

/** A session as clients see it. */
export function viewOf({ id, cursor, timeoutMs, filter, state, slot }: Session): SessionView {
  return { id, cursor, timeoutMs, filter, isStreaming: state.kind === "streaming", isSlot: slot !== undefined };
}

/** A slot as it is logged. */
export function slotStateOf({ id, cursor, timeoutMs, state }: Session): SlotState {
  return { id, cursor, timeoutMs, isConnected: state.kind === "streaming" };
}

/** A session as it is written down. */
export function storedOf(session: Session): StoredSession {
  const { number, id, owner, network, timeoutMs, filter, cursor, wasRead, epoch } = session;
  const stored = { number, id, owner, network, timeoutMs, filter, wasRead };
  return { ...stored, cursor: epoch === "older" ? undefined : cursor };
}

/** Newest number that any of its streams came to. */
export function readThroughOf({ state, readThrough }: Session): number {
  return state.kind === "idle" ? readThrough : Math.max(readThrough, state.stream.readThrough);
}

/** Frames that the connected client furthest behind has not read yet; 0 where none is connected. */
export function largestLagOf(sessions: Iterable<Session>, head: number): number {
  let largest = 0;
  for (const { state } of sessions) {
    if (state.kind === "streaming") largest = Math.max(largest, head - state.stream.readThrough);
  }
  return largest;
}
