/** Ranges that end now. */
export const LAST_RANGES = [
  { id: "10m", name: "10 min", ms: 600_000 },
  { id: "1h", name: "1 h", ms: 3_600_000 },
  { id: "6h", name: "6 h", ms: 6 * 3_600_000 },
  { id: "day", name: "Day", ms: 86_400_000 },
  { id: "week", name: "Week", ms: 7 * 86_400_000 },
  { id: "month", name: "Month", ms: 30 * 86_400_000 },
] as const;
export type LastRange = (typeof LAST_RANGES)[number];

/** Times, milliseconds since 1970. */
export interface Span {
  fromMs: number;
  toMs: number;
}

/** What the charts cover. */
export type ChartRange = { type: "last"; last: LastRange } | { type: "span"; span: Span };

/** What the view shows. */
export interface HistoryPlace {
  range: ChartRange;
  /** Keys of quantities, and `PGN.field`. */
  chosen: readonly string[];
}

/** What is charted until somebody chooses. */
export const FIRST_CHOICE: readonly string[] = ["depth", "sog", "wind.apparent.speed"];
/** Most choices. The server takes at most 32 fields, and a quantity has up to four. */
export const MAX_CHOSEN = 8;
/** Shortest span, milliseconds. */
export const MIN_SPAN_MS = 1000;
/** In place of the choices: none. */
const NOTHING = "-";
const DEFAULT_RANGE: LastRange = LAST_RANGES[1];

/** Reads the end of a URL: `1h/depth/128259.speed_water`, `20261123T060000Z-20261123T070000.5Z/depth`. */
export function readPlace(rest: string | undefined): HistoryPlace {
  const [range = "", ...chosen] = (rest ?? "").split("/");
  return {
    range: readRange(range) ?? { type: "last", last: DEFAULT_RANGE },
    chosen: chosen.length === 0
      ? FIRST_CHOICE
      : [...new Set(chosen)].filter((each) => each !== "" && each !== NOTHING).slice(0, MAX_CHOSEN),
  };
}

/** The end of a URL; its parts need no other encoding. */
export function placeText({ range, chosen }: HistoryPlace): string {
  const text = range.type === "last" ? range.last.id : `${timeText(range.span.fromMs)}-${timeText(range.span.toMs)}`;
  return [text, ...(chosen.length === 0 ? [NOTHING] : chosen).map(encodeURIComponent)].join("/");
}

/** The times of a range. */
export function spanOf(range: ChartRange, nowMs: number): Span {
  return range.type === "span" ? range.span : { fromMs: nowMs - range.last.ms, toMs: nowMs };
}

function readRange(text: string): ChartRange | undefined {
  const last = LAST_RANGES.find(({ id }) => id === text);
  if (last) return { type: "last", last };
  const [fromMs = NaN, toMs = NaN] = text.split("-").map(readTime);
  return toMs - fromMs >= MIN_SPAN_MS ? { type: "span", span: { fromMs, toMs } } : undefined;
}

/** Basic format of ISO 8601: `20261123T060000Z`. */
function timeText(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[-:]/g, "").replace(/\.?0*Z$/, "Z");
}

function readTime(text: string): number {
  const [, y, mo, d, h, mi, s, fraction = ""] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\.\d{1,3})?Z$/.exec(text) ??
    [];
  return Date.parse(`${y}-${mo}-${d}T${h}:${mi}:${s}${fraction}Z`);
}
