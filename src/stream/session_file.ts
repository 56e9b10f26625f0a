import type { Filter } from "../filter/mod.ts";

/** Name of the file in the state directory. */
export const SESSION_FILE = "sessions.json";
/** What ids of clients look like, of sessions and slots alike. */
export const CLIENT_ID: RegExp = /^[A-Za-z0-9_-]{1,64}$/;

const VERSION = 1;

/** What survives a restart. */
export interface StoredSession {
  id: string;
  /** Epoch that the cursor counts in. */
  epoch: string;
  /** Number of the first frame that has not been acknowledged. */
  cursor: number;
  timeoutMs: number;
  filter: Filter;
}

/** What is kept, as it is written down. */
export function keptSessions(sessions: readonly StoredSession[]): unknown {
  return { version: VERSION, sessions };
}

/**
 * Reads the file's content; entries that make no sense are left out.
 *
 * @throws {SyntaxError} it is no JSON
 * @throws {TypeError} it is no list of sessions
 */
export function parseSessions(text: string): StoredSession[] {
  const { version, sessions } = record(JSON.parse(text));
  if (version !== VERSION || !Array.isArray(sessions)) throw new TypeError(`no sessions of version ${VERSION}`);
  return sessions.map(readSession).filter((session) => session !== undefined);
}

function readSession(value: unknown): StoredSession | undefined {
  const { id, epoch, cursor, timeoutMs, filter } = record(value);
  if (typeof id !== "string" || !CLIENT_ID.test(id) || typeof epoch !== "string") return undefined;
  if (!Number.isSafeInteger(cursor) || Number(cursor) < 1 || !(Number(timeoutMs) > 0)) return undefined;
  return { id, epoch, cursor: Number(cursor), timeoutMs: Number(timeoutMs), filter: readFilter(record(filter)) };
}

/** Fields of a filter that have the right form; one that has not was written by nobody of ours. */
function readFilter(value: Record<string, unknown>): Filter {
  const filter: Filter = {};
  for (const key of ["pgn", "exclude_pgn", "instance"] as const) {
    const list = value[key];
    if (Array.isArray(list) && list.every((item) => typeof item === "number")) filter[key] = list;
  }
  for (const key of ["manufacturer", "name", "exclude_name", "bus"] as const) {
    const list = value[key];
    if (Array.isArray(list) && list.every((item) => typeof item === "string")) filter[key] = list;
  }
  return filter;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
