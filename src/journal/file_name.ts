/** Ending of journal files. */
export const JOURNAL_EXTENSION = ".lpj";

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

/**
 * Name of a new file: by its first frame, a millisecond later as often as that is taken, and never before `after`, the
 * newest name there is, so that names sort as files follow each other even when the clock steps back.
 */
export function nextFileName(
  prefix: string,
  { timeUs, after, isTaken }: { timeUs: number; after?: string | undefined; isTaken: (name: string) => boolean },
): string {
  const last = after === undefined ? undefined : parseFileName(after);
  const earliest = last === undefined ? 0 : (last.timeMs + 1) * 1000;
  for (let time = Math.max(timeUs, earliest);; time += 1000) {
    const name = formatFileName(prefix, time);
    if (!isTaken(name)) return name;
  }
}
