import { paint, printable } from "./terminal.ts";

/** A column of a table. */
export interface Column {
  title: string;
  /** Default `left`. */
  align?: "left" | "right";
  /** Most characters of a cell. */
  max?: number;
}

/** A column that shows a text of each item. */
export interface ItemColumn<T> extends Column {
  text: (item: T) => string;
}

/** Columns and form of a printed table. */
export interface TableOptions {
  columns: readonly Column[];
  /** Characters of a line. */
  width: number;
  /** Whether the titles are bold. */
  color: boolean;
}

const GAP = "  ";
/** Least width of a column, characters. */
const MIN_COLUMN = 4;

/**
 * Formats a table as lines, without a final line break. To fit the width, the widest columns are cut and end with `…`.
 * Control characters in cells are escaped.
 */
export function formatTable(
  rows: readonly (readonly string[])[],
  { columns, width, color }: TableOptions,
): string {
  const cells = rows.map((row) => columns.map((_, index) => printable(row[index] ?? "")));
  const widths = columns.map(({ title, max = Infinity }, index) =>
    Math.min(max, Math.max(lengthOf(title), ...cells.map((row) => lengthOf(row[index] ?? ""))))
  );
  fit(widths, width - GAP.length * (columns.length - 1));
  const line = (row: readonly string[]) =>
    row.map((cell, index) => padded(cell, { width: widths[index] ?? 0, align: columns[index]?.align }))
      .join(GAP).trimEnd();
  const titles = line(columns.map(({ title }) => title));
  return [paint({ hasColor: color }, "bold", titles), ...cells.map(line)].join("\n");
}

/** Formats a table with a row for each item. */
export function formatItems<T>(
  items: readonly T[],
  { columns, ...form }: Omit<TableOptions, "columns"> & { columns: readonly ItemColumn<T>[] },
): string {
  return formatTable(items.map((item) => columns.map(({ text }) => text(item))), { columns, ...form });
}

/** The text cut to `width` characters, ending with `…` if cut. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  const characters = Array.from(text);
  return characters.length <= width ? text : characters.slice(0, Math.max(0, width - 1)).join("") + "…";
}

/** The text cut or padded to `width` characters. */
export function padded(
  text: string,
  { width, align = "left" }: { width: number; align?: "left" | "right" | undefined },
): string {
  const short = cut(text, width);
  const spaces = " ".repeat(Math.max(0, width - lengthOf(short)));
  return align === "right" ? spaces + short : short + spaces;
}

/** Narrows the widest columns until all fit or all have the least width. */
function fit(widths: number[], available: number): void {
  let excess = widths.reduce((sum, each) => sum + each, 0) - available;
  while (excess > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    const now = widths[widest] ?? 0;
    if (now <= MIN_COLUMN) return;
    widths[widest] = now - 1;
    excess--;
  }
}

/** Characters of a text. */
export function lengthOf(text: string): number {
  // deno-lint-ignore no-control-regex -- ASCII has a character for each unit
  return /^[\u0000-\u007f]*$/.test(text) ? text.length : Array.from(text).length;
}
