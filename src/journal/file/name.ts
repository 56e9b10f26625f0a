/** Extension of journal files. */
export const JOURNAL_EXTENSION = ".lpj";
/** Default prefix of file names. */
export const DEFAULT_PREFIX = "nmea2k";
/** Mode of files with frames: these tell where a vessel was, so only the owner and the group may read them. */
export const JOURNAL_FILE_MODE = 0o640;
/** Mode of created directories with such files. */
export const JOURNAL_DIRECTORY_MODE = 0o750;

const NAME = /^(.+)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:\.(\d{3}))?Z\.lpj$/;

/** Name of a file by the time of its first frame: `{prefix}-{YYYYMMDD}T{HHMMSS.mmm}Z.lpj`, UTC. */
export function formatFileName(prefix: string, timeUs: number): string {
  const text = new Date(Math.floor(timeUs / 1000)).toISOString();
  return `${prefix}-${text.replace(/[-:]/g, "")}${JOURNAL_EXTENSION}`;
}

/** Parses a file name; undefined if it has another form or an invalid date. Milliseconds may be missing. */
export function parseFileName(name: string): { prefix: string; timeMs: number } | undefined {
  const found = NAME.exec(name);
  if (found === null) return undefined;
  const [, prefix = "", ...parts] = found;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0] = parts.map((part) =>
    Number(part ?? 0)
  );
  const timeMs = Date.UTC(year, month - 1, day, hour, minute, second, ms);
  const isDate = month >= 1 && month <= 12 && new Date(timeMs).getUTCDate() === day && hour < 24 && minute < 60;
  return isDate ? { prefix, timeMs } : undefined;
}

/** Latest date in a name: a clock beyond it is wrong. */
const LATEST_MS = Date.UTC(2100, 0, 1);
/** Longest plausible pause of recording: a first frame further after the newest file has a wrong date. */
const MAX_PAUSE_MS = 10 * 366 * 86_400_000;
/** A frame further in the future was recorded with a wrong clock. */
const FUTURE_MS = 24 * 3_600_000;

/**
 * Name of a new file: the time of its first frame, advanced by milliseconds while the name is taken, and always after
 * `after`, the newest name. So names sort in the order of recording even if the clock steps back. An implausible date would
 * carry over to all later names: such a file is named right after the newest one, or, if it is the first, 1970.
 *
 * @param options.nowMs time of day, if known: replaces a time that is more than a day in the future
 */
export function nextFileName(
  prefix: string,
  { timeUs, after, isTaken, nowMs }: {
    timeUs: number;
    after?: string | undefined;
    isTaken: (name: string) => boolean;
    nowMs?: number | undefined;
  },
): string {
  const last = after === undefined ? undefined : parseFileName(after);
  const earliest = last === undefined ? 0 : (last.timeMs + 1) * 1000;
  const latestMs = Math.min(LATEST_MS, last === undefined ? Infinity : last.timeMs + MAX_PAUSE_MS);
  const isInFuture = nowMs !== undefined && timeUs / 1000 > nowMs + FUTURE_MS;
  const wantedUs = isInFuture ? Math.floor(nowMs) * 1000 : timeUs;
  for (let time = Math.max(wantedUs / 1000 < latestMs ? wantedUs : 0, earliest);; time += 1000) {
    const name = formatFileName(prefix, time);
    if (!isTaken(name)) return name;
  }
}

/** Extension of sidecars: files beside journal files with series of their values. They can be rebuilt at any time. */
export const SIDECAR_EXTENSION = ".lpr";
/** Extension of files beside journal files with the devices and values at their start. They can be rebuilt at any time. */
export const TABLES_EXTENSION = ".lpt";

/** Path, or name, of the sidecar of a journal file. */
export function sidecarOf(path: string): string {
  return path.slice(0, -JOURNAL_EXTENSION.length) + SIDECAR_EXTENSION;
}

/** Path, or name, of the devices and values at the start of a journal file. */
export function tablesOf(path: string): string {
  return path.slice(0, -JOURNAL_EXTENSION.length) + TABLES_EXTENSION;
}

/** Extension of the signed statement about a journal file, after the file's own. */
export const STATEMENT_EXTENSION = ".evidence";
/** Extension of the signature of such a statement, after the statement's own. */
export const SIGNATURE_EXTENSION = ".sig";

/** Path, or name, of the statement about a journal file. */
export function statementOf(path: string): string {
  return path + STATEMENT_EXTENSION;
}

/** Path, or name, of the signature of that statement. */
export function signatureOf(path: string): string {
  return statementOf(path) + SIGNATURE_EXTENSION;
}

/** The names of journal files among some, in the order of recording; each is parsed once. */
export function inOrder(names: Iterable<string>): string[] {
  const found: { name: string; timeMs: number }[] = [];
  for (const name of names) {
    const parsed = name.endsWith(JOURNAL_EXTENSION) ? parseFileName(name) : undefined;
    if (parsed) found.push({ name, timeMs: parsed.timeMs });
  }
  found.sort((a, b) => a.timeMs - b.timeMs || (a.name < b.name ? -1 : 1));
  return found.map(({ name }) => name);
}

/** Compares names by their times, as retention does: the order of recording, even if the clock was wrong. */
export function compareNames(one: string, other: string): number {
  const [first, second] = [one, other].map((name) => parseFileName(name)?.timeMs ?? 0);
  return (first ?? 0) - (second ?? 0) || (one < other ? -1 : one > other ? 1 : 0);
}
