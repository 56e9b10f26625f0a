/** Extension of journal files. */
export const JOURNAL_EXTENSION = ".lpj";
/** Default prefix of file names. */
export const DEFAULT_PREFIX = "nmea2k";
/** Mode of files with frames: these tell where a vessel was, so only the owner and the group may read them. */
export const JOURNAL_FILE_MODE = 0o640;
/** Mode of created directories with such files. */
export const JOURNAL_DIRECTORY_MODE = 0o750;

const NAME = /^(.+)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:\.(\d{3}))?Z\.lpj$/;

/** The name at the end of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Name of a file that begins at a time: `{prefix}-{YYYYMMDD}T{HHMMSS.mmm}Z.lpj`, UTC. */
export function formatFileName(prefix: string, timeUs: number): string {
  const text = new Date(Math.floor(timeUs / 1000)).toISOString();
  return `${prefix}-${text.replace(/[-:]/g, "")}${JOURNAL_EXTENSION}`;
}

/** What a file's name says; undefined when it is not one of ours, or no date. Milliseconds may be missing. */
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

/** No file is named after a later date: a clock that says so is wrong. */
const LATEST_MS = Date.UTC(2100, 0, 1);
/** Nobody has recorded nothing for so long: a first frame that is so much later than the newest file has a wrong date. */
const MAX_PAUSE_MS = 10 * 366 * 86_400_000;
/** A frame that is so far in the future was recorded with a wrong clock. */
const FUTURE_MS = 24 * 3_600_000;

/**
 * Name of a new file: by its first frame, a millisecond later as often as that is taken, and never before `after`, the
 * newest name there is, so that names sort as files follow each other even when the clock steps back. A date that cannot
 * be true would be in the names of all later files: such a file is named right after the newest one, or, where it is the
 * first, as one of a clock that was not set.
 *
 * @param options.nowMs time of day, where it is known: what is later than tomorrow is named after now
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
  const isFuture = nowMs !== undefined && timeUs / 1000 > nowMs + FUTURE_MS;
  const wantedUs = isFuture ? Math.floor(nowMs) * 1000 : timeUs;
  for (let time = Math.max(wantedUs / 1000 < latestMs ? wantedUs : 0, earliest);; time += 1000) {
    const name = formatFileName(prefix, time);
    if (!isTaken(name)) return name;
  }
}
