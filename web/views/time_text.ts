const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/**
 * Texts at a time axis in local time, each with one or two lines: the day stands where it begins, and at the first.
 *
 * @param stepMs distance of two
 */
export function tickTexts(times: readonly number[], stepMs: number): string[] {
  let day = "";
  return times.map((ms) => {
    const date = dayText(ms);
    if (stepMs >= DAY) return date;
    const clock = stepMs >= MINUTE ? clockText(ms).slice(0, 5) : stepMs >= SECOND ? clockText(ms) : finestText(ms);
    if (date === day) return clock;
    day = date;
    return `${clock}\n${date}`;
  });
}

/** Local date and time of a bucket, as exact as its width. */
export function momentText(ms: number, bucketMs: number): string {
  const clock = bucketMs >= MINUTE ? clockText(ms).slice(0, 5) : bucketMs >= SECOND ? clockText(ms) : finestText(ms);
  return `${dayText(ms)}, ${clock}`;
}

/** A width of buckets: `5 s`, `2 min`, `1 h`. */
export function widthText(ms: number): string {
  const units = [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"], [SECOND, "s"]] as const;
  const [size, name] = units.find(([each]) => ms >= each) ?? [1, "ms"];
  return `${Number((ms / size).toFixed(1))} ${name}`;
}

/** Value of an input of type `datetime-local`. */
export function inputText(ms: number): string {
  return new Date(ms - new Date(ms).getTimezoneOffset() * MINUTE).toISOString().slice(0, 19);
}

/** Milliseconds since 1970 of such a value; undefined: it is empty or wrong. */
export function readInput(text: string): number | undefined {
  const ms = new Date(text).getTime();
  return text === "" || Number.isNaN(ms) ? undefined : ms;
}

/** Date and time for people, as exact as needed: `2026-11-25 14:03 UTC`; what is no time stays as it is. */
export function utcText(time: string): string {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) return time;
  return `${new Date(ms).toISOString().replace("T", " ").replace(/(?::00)?\.000Z$|Z$/, "")} UTC`;
}

/** Difference of local time from UTC: `UTC+2`, `UTC-3:30`. */
export function zoneText(ms: number): string {
  const minutes = -new Date(ms).getTimezoneOffset();
  const size = Math.abs(minutes);
  const rest = size % 60 === 0 ? "" : `:${two(size % 60)}`;
  return minutes === 0 ? "UTC" : `UTC${minutes < 0 ? "−" : "+"}${Math.floor(size / 60)}${rest}`;
}

function dayText(ms: number): string {
  const date = new Date(ms);
  return `${date.getDate()} ${MONTHS[date.getMonth()]}`;
}

function clockText(ms: number): string {
  const date = new Date(ms);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
}

function finestText(ms: number): string {
  return `${clockText(ms)}.${String(new Date(ms).getMilliseconds()).padStart(3, "0")}`;
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/** A span for people, in local time: `23 Nov 2026, 14:05:00 – 15:05:00 (UTC+1)`. */
export function spanText({ fromMs, toMs }: { fromMs: number; toMs: number }): string {
  const [from, to] = [dayText(fromMs), dayText(toMs)];
  const year = new Date(toMs).getFullYear();
  const end = from === to ? clockText(toMs) : `${to}, ${clockText(toMs)}`;
  return `${from} ${year}, ${clockText(fromMs)} – ${end} (${zoneText(toMs)})`;
}
