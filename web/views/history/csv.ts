import type { Line } from "./charts.ts";

const HEADER = ["time", "field", "source", "unit", "min", "avg", "max", "last", "count"];
/** Beginnings of texts that spreadsheets take for formulas. */
const FORMULA = /^[=+\-@\t\r\n]/;

/**
 * Lines as CSV (RFC 4180): a row for each bucket. Times are RFC 3339, figures those of the API. Texts from the bus that a
 * spreadsheet would take for a formula get an apostrophe.
 */
export function csvOf(lines: readonly Line[]): string {
  const rows = lines.flatMap(({ series, name, source }) => {
    const { field, unit = "", time, min, avg, max, last, count } = series;
    return time.map((ms, i) => [
      new Date(ms).toISOString(),
      field,
      `${source}: ${name}`,
      unit,
      ...[min?.[i], avg?.[i], max?.[i]],
      last[i],
      count[i],
    ]);
  });
  return [HEADER, ...rows].map((row) => row.map(cellOf).join(",") + "\r\n").join("");
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
