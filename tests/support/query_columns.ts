import type { ColumnBuffer, SqlType } from "../../cli/commands/query/columns.ts";
import type { Decoded, DecodedValue } from "../../src/pgn/mod.ts";

/** Values of a column as DuckDB reads them from memory: by the C interface's layout of vectors, without our code. */
export function readColumn(
  { bytes, validity, longTexts }: ColumnBuffer,
  { type, rows }: { type: SqlType; rows: number },
) {
  const view = new DataView(bytes.buffer);
  const long = new Map(longTexts.map(({ row, text }) => [row, new TextDecoder().decode(text)]));
  return Array.from({ length: rows }, (_, row) => {
    if ((validity[row >> 3]! >> (row & 7) & 1) === 0) return null;
    switch (type) {
      case "TIMESTAMP":
      case "BIGINT":
        return Number(view.getBigInt64(8 * row, true));
      case "INTEGER":
        return view.getInt32(4 * row, true);
      case "UINTEGER":
        return view.getUint32(4 * row, true);
      case "DOUBLE":
        return view.getFloat64(8 * row, true);
      case "VARCHAR": {
        const length = view.getUint32(16 * row, true);
        return long.get(row) ?? new TextDecoder().decode(bytes.subarray(16 * row + 4, 16 * row + 4 + length));
      }
    }
  });
}

/** What a column of a field must have for a decoded payload, as the page about queries says it. */
export function wantedValue(decoded: Decoded | undefined, { field, type }: { field: string; type: SqlType }) {
  const value: DecodedValue = decoded?.[field] ?? null;
  if (value === null) return null;
  if (type !== "VARCHAR") return typeof value === "number" ? value : `not a number: ${JSON.stringify(value)}`;
  if (typeof value !== "object") return `${value}`;
  const isLookup = !Array.isArray(value) && typeof value.id === "number";
  return isLookup ? `${value.name ?? value.id}` : JSON.stringify(value);
}
