import type { Filter } from "../filter/mod.ts";

/** Syntax of client ids, for sessions and slots. */
export const CLIENT_ID: RegExp = /^[A-Za-z0-9_-]{1,64}$/;

/** A session as stored. */
export interface StoredSession {
  /** Unique number: tells sessions apart that have had the same id. */
  number: number;
  id: string;
  /** Name of the token that owns it; undefined: no owner. */
  owner: string | undefined;
  /** Network of the client that created it, see `SessionClient`; undefined: unknown. */
  network: string | undefined;
  timeoutMs: number;
  filter: Filter;
  /** Number of the first unacknowledged frame; undefined: the position belongs to an older epoch. */
  cursor: number | undefined;
  /** Whether the client ever opened a stream or acknowledged a frame. */
  wasRead: boolean;
}

/** A session in the JSON file of releases before the line log. */
export interface OldSession extends Pick<StoredSession, "id" | "timeoutMs" | "filter"> {
  epoch: string;
  cursor: number;
}

/** Version of the definitions file. */
const VERSION = 2;
/** Version of the older releases' file. */
const OLD_VERSION = 1;

/** The first line of the definitions file. New sessions get the number `next` or a higher one. */
export function headerLine(next: number): unknown {
  return { version: VERSION, next };
}

/** The line that defines a session; `epoch` is that of its cursor. */
export function definitionLine({ number, cursor, wasRead, ...rest }: StoredSession, epoch: string): unknown {
  return { n: number, ...rest, ...(cursor !== undefined && { epoch, cursor }), ...(wasRead && { read: true }) };
}

/** The line that removes a session. */
export function removalLine(number: number): unknown {
  return { n: number };
}

/** The line that sets the epoch of the position lines after it. */
export function epochLine(epoch: string): unknown {
  return { epoch };
}

/** The line that stores the position of a session. */
export function positionLine(
  { number, cursor, wasRead }: Pick<StoredSession, "number" | "cursor" | "wasRead">,
): unknown {
  return wasRead ? [number, cursor, 1] : [number, cursor];
}

/** Lines of both files. */
export interface StoredLines {
  definitions: readonly unknown[];
  positions: readonly unknown[];
  /** The current epoch. */
  epoch: string;
}

/**
 * Merges the lines of both files; the oldest session comes first. `next` is a number that no session has had.
 * Invalid lines are skipped. The position of a session is the highest one in the current epoch: if a crash loses a line,
 * frames are sent again, never omitted.
 */
export function mergeLines(
  { definitions, positions, epoch }: StoredLines,
): { sessions: StoredSession[]; next: number } {
  const sessions = new Map<number, StoredSession>();
  let next = 1;
  for (const line of definitions) {
    const value = record(line);
    if (isPositive(value.next)) next = Math.max(next, value.next);
    if (!isPositive(value.n)) continue;
    next = Math.max(next, value.n + 1);
    const before = sessions.get(value.n);
    const session = readSession(value.n, value);
    if (!session) {
      sessions.delete(value.n);
      continue;
    }
    session.cursor = later(before?.cursor, value.epoch === epoch ? value.cursor : undefined);
    sessions.set(value.n, session);
  }
  let isCurrent = false;
  for (const line of positions) {
    if (!Array.isArray(line)) {
      isCurrent = record(line).epoch === epoch;
      continue;
    }
    const [number, cursor, flag]: unknown[] = line;
    if (!isPositive(number)) continue;
    next = Math.max(next, number + 1);
    const session = sessions.get(number);
    if (!session) continue;
    if (isCurrent) session.cursor = later(session.cursor, cursor);
    session.wasRead ||= flag === 1;
  }
  // Two sessions with one id: the removal of the older one was lost.
  const newest = new Map([...sessions.values()].map((session) => [session.id, session]));
  return { sessions: [...sessions.values()].filter((session) => newest.get(session.id) === session), next };
}

/**
 * Reads the file of older releases. Invalid entries are skipped.
 *
 * @throws {SyntaxError} the text is not JSON
 * @throws {TypeError} the text is not a list of sessions of that version
 */
export function parseOldSessions(text: string): OldSession[] {
  const { version, sessions } = record(JSON.parse(text));
  if (version !== OLD_VERSION || !Array.isArray(sessions)) throw new TypeError(`no sessions of version ${OLD_VERSION}`);
  return sessions.map((value: unknown) => {
    const { epoch, cursor, ...rest } = record(value);
    const session = readSession(1, rest);
    if (!session || typeof epoch !== "string" || !isPositive(cursor)) return undefined;
    const { id, timeoutMs, filter } = session;
    return { id, timeoutMs, filter, epoch, cursor };
  }).filter((session) => session !== undefined);
}

/** Text of the older releases' file, for a rollback. */
export function oldSessionsText(sessions: Iterable<StoredSession>, epoch: string): string {
  const old = Array.from(sessions, ({ id, timeoutMs, filter, cursor }) => ({
    ...{ id, timeoutMs, filter },
    // A session without a cursor starts again; older releases do the same with another epoch.
    ...(cursor === undefined ? { epoch: "", cursor: 1 } : { epoch, cursor }),
  }));
  return JSON.stringify({ version: OLD_VERSION, sessions: old });
}

/**
 * Merges the sessions of an older release that may have run since. Its file decides which sessions exist and where their
 * cursors are; the owners come from `sessions`.
 *
 * @param options.newNumber returns the number for a new session
 */
export function mergeOld(
  sessions: readonly StoredSession[],
  { old, epoch, newNumber }: { old: readonly OldSession[]; epoch: string; newNumber: () => number },
): StoredSession[] {
  const known = new Map(sessions.map((session) => [session.id, session]));
  return old.map(({ id, timeoutMs, filter, epoch: cursorEpoch, cursor }) => {
    const before = known.get(id) ?? { number: newNumber(), owner: undefined, network: undefined, wasRead: true };
    return { ...before, id, timeoutMs, filter, cursor: cursorEpoch === epoch ? cursor : undefined };
  });
}

function readSession(number: number, value: Record<string, unknown>): StoredSession | undefined {
  const { id, timeoutMs, filter, owner, network, read } = value;
  if (typeof id !== "string" || !CLIENT_ID.test(id) || !(Number(timeoutMs) > 0)) return undefined;
  return {
    number,
    id,
    owner: typeof owner === "string" ? owner : undefined,
    network: typeof network === "string" ? network : undefined,
    timeoutMs: Number(timeoutMs),
    filter: readFilter(record(filter)),
    cursor: undefined,
    wasRead: read === true,
  };
}

/** Reads the valid fields of a filter and skips the others. */
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

/** The higher of two cursors; an invalid one is ignored. */
function later(a: number | undefined, b: unknown): number | undefined {
  if (!isPositive(b)) return a;
  return a === undefined ? b : Math.max(a, b);
}

function isPositive(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
