import type { Filter } from "../filter/mod.ts";

/** What ids of clients look like, of sessions and slots alike. */
export const CLIENT_ID: RegExp = /^[A-Za-z0-9_-]{1,64}$/;

/** A session as it is written down. */
export interface StoredSession {
  /** Unique among all sessions that ever had the same id. */
  number: number;
  id: string;
  /** Name of the token that it belongs to; undefined: of nobody. */
  owner: string | undefined;
  /** Network that it was made from, see `SessionClient`; undefined: not known. */
  network: string | undefined;
  timeoutMs: number;
  filter: Filter;
  /** Number of the first frame that has not been acknowledged; undefined: it counts in an older epoch. */
  cursor: number | undefined;
  /** Whether a stream was ever opened, or a frame acknowledged. */
  wasRead: boolean;
}

/** A session as releases before the line log kept it, in a file of JSON. */
export interface OldSession extends Pick<StoredSession, "id" | "timeoutMs" | "filter"> {
  epoch: string;
  cursor: number;
}

/** Version of the definitions. */
const VERSION = 2;
/** Version of the file of older releases. */
const OLD_VERSION = 1;

/** The first line of the definitions: sessions made from now on have this number or a higher one. */
export function headerLine(next: number): unknown {
  return { version: VERSION, next };
}

/** The line that defines a session; `epoch` is the one that its cursor counts in. */
export function definitionLine({ number, cursor, wasRead, ...rest }: StoredSession, epoch: string): unknown {
  return { n: number, ...rest, ...(cursor !== undefined && { epoch, cursor }), ...(wasRead && { read: true }) };
}

/** The line after which a session is no more. */
export function removalLine(number: number): unknown {
  return { n: number };
}

/** The line that tells in which epoch the positions after it count. */
export function epochLine(epoch: string): unknown {
  return { epoch };
}

/** The line that tells how far a session is. */
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
 * What the lines of both files say together, the oldest session first; `next` is a number that no session ever had.
 * Invalid lines are skipped. The position of a session is the highest one in the current epoch: after a crash that lost
 * a line, frames are sent again, never left out.
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
  // Of two with one id the removal of the older one was lost.
  const newest = new Map([...sessions.values()].map((session) => [session.id, session]));
  return { sessions: [...sessions.values()].filter((session) => newest.get(session.id) === session), next };
}

/**
 * Reads the file of older releases; entries that make no sense are left out.
 *
 * @throws {SyntaxError} it is no JSON
 * @throws {TypeError} it is no list of sessions
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

/** The file of older releases, so that they find the sessions after a roll back. */
export function oldSessionsText(sessions: Iterable<StoredSession>, epoch: string): string {
  const old = Array.from(sessions, ({ id, timeoutMs, filter, cursor }) => ({
    ...{ id, timeoutMs, filter },
    // A session without a cursor begins again: so does one of another epoch there.
    ...(cursor === undefined ? { epoch: "", cursor: 1 } : { epoch, cursor }),
  }));
  return JSON.stringify({ version: OLD_VERSION, sessions: old });
}

/**
 * The sessions after an older release may have run: it knows which there are, and their cursors; owners are known here.
 *
 * @param options.newNumber gives a session its number that was not here before
 */
export function mergeOld(
  sessions: readonly StoredSession[],
  { old, epoch, newNumber }: { old: readonly OldSession[]; epoch: string; newNumber: () => number },
): StoredSession[] {
  const known = new Map(sessions.map((session) => [session.id, session]));
  return old.map(({ id, timeoutMs, filter, epoch: its, cursor }) => {
    const before = known.get(id) ?? { number: newNumber(), owner: undefined, network: undefined, wasRead: true };
    return { ...before, id, timeoutMs, filter, cursor: its === epoch ? cursor : undefined };
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

/** The fields of a filter that have the right form; the others are skipped. */
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

/** The later of two cursors; what is none does not count. */
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
