import { type Column, formatTable } from "../../program/table.ts";

/** Formats that are printed. */
export type PrintedFormat = "table" | "csv" | "json";

/** Rows of a result, in parts. */
export interface Rows {
  names: readonly string[];
  /** Whether a column has numbers, which are aligned to the right. */
  isNumeric: readonly boolean[];
  parts: AsyncIterable<readonly (readonly unknown[])[]>;
}

/** Properties of a table. */
export interface TableForm {
  width: number;
  color: boolean;
}

/** Rows that a table shows: its columns are as wide as the widest of them. */
export const MAX_TABLE_ROWS = 10_000;

/**
 * Prints rows. CSV is as in RFC 4180, with a line of names, and NULL is empty; JSON has an object in each line. Returns true
 * if a table was cut after {@linkcode MAX_TABLE_ROWS}.
 */
export async function printRows(
  rows: Rows,
  { format, form, write }: { format: PrintedFormat; form: TableForm; write: (text: string) => Promise<void> },
): Promise<boolean> {
  if (format === "table") return await printTable(rows, { form, write });
  const { names } = rows;
  if (format === "csv") await write(csvLine(names));
  const line = format === "csv" ? csvLine : jsonLine(names);
  for await (const part of rows.parts) await write(part.map(line).join(""));
  return false;
}

async function printTable(
  { names, isNumeric, parts }: Rows,
  { form, write }: { form: TableForm; write: (text: string) => Promise<void> },
): Promise<boolean> {
  const cells: string[][] = [];
  let isCut = false;
  for await (const part of parts) {
    const room = MAX_TABLE_ROWS - cells.length;
    for (const row of part.slice(0, room)) cells.push(row.map((value) => value === null ? "" : String(plain(value))));
    isCut = part.length > room;
    if (isCut) break;
  }
  const columns = names.map((title, i): Column => ({ title, align: isNumeric[i] ? "right" : "left" }));
  await write(`${formatTable(cells, { columns, ...form })}\n`);
  return isCut;
}

function csvLine(row: readonly unknown[]): string {
  return row.map(csvCell).join(",") + "\n";
}

function csvCell(value: unknown): string {
  if (value === null) return "";
  const text = String(value);
  // An empty text is not NULL.
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function jsonLine(names: readonly string[]): (row: readonly unknown[]) => string {
  return (row) => JSON.stringify(Object.fromEntries(row.map((value, i) => [names[i], jsonOf(value)]))) + "\n";
}

/** A value as JSON shows it: numbers that a double holds as numbers, lists and structs as such, others as their text. */
function jsonOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return plain(value);
  if ("items" in value && Array.isArray(value.items)) return value.items.map(jsonOf);
  if ("entries" in value) {
    const { entries } = value;
    if (Array.isArray(entries)) return entries.map(({ key, value }) => ({ key: jsonOf(key), value: jsonOf(value) }));
    return Object.fromEntries(Object.entries(entries ?? {}).map(([key, each]) => [key, jsonOf(each)]));
  }
  // A decimal number.
  return "scale" in value ? Number(String(value)) : String(value);
}

function plain(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  // JSON has no such numbers.
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value;
}
