/** PGNs as tables: their names, and values as texts. */
import { describePgn } from "./catalog.ts";
import type { DecodedValue } from "./spec.ts";

/** Description of a proprietary PGN with several layouts: no name for a table. */
const NAMELESS = "Proprietary";

/** Name of a PGN as a table, such as `wind_data`; `pgn_65280` where it has none. */
export function tableName(pgn: number): string {
  const { description = NAMELESS } = describePgn(pgn) ?? {};
  if (description === NAMELESS) return `pgn_${pgn}`;
  return description.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_").replaceAll(/^_|_$/g, "");
}

/** A decoded value as text: JSON of lists and objects, of a lookup its name or number; undefined for null. */
export function textOf(value: DecodedValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return undefined;
  if (typeof value === "number") return String(value);
  if (!Array.isArray(value) && "id" in value && Object.keys(value).every((key) => key === "id" || key === "name")) {
    return textOf(value.name ?? value.id);
  }
  return JSON.stringify(value);
}
