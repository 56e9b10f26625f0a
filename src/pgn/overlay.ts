/**
 * PGN definitions in addition to the generated ones, read from the data files in `overlay/` (its README describes them).
 * Each entry has a `reason`: why it exists, and why it differs from canboat's.
 */
import ais from "./overlay/ais.json" with { type: "json" };
import corrections from "./overlay/corrections.json" with { type: "json" };
import electrical from "./overlay/electrical.json" with { type: "json" };
import engine from "./overlay/engine.json" with { type: "json" };
import environment from "./overlay/environment.json" with { type: "json" };
import navigation from "./overlay/navigation.json" with { type: "json" };
import newer from "./overlay/newer.json" with { type: "json" };
import newest from "./overlay/newest.json" with { type: "json" };
import proprietary from "./overlay/proprietary.json" with { type: "json" };
import rvc from "./overlay/rvc.json" with { type: "json" };
import sharedFields from "./overlay/shared.json" with { type: "json" };
import system from "./overlay/system.json" with { type: "json" };
import tables from "./overlay/tables.json" with { type: "json" };
import type { DefinitionSpec, FieldSpec, ItemSpec, LabelTable } from "./spec.ts";

/**
 * Framing of a PGN: in one frame (`single`), as an NMEA 2000 fast packet (`fast`), or `either`, when real devices do both.
 * One frame does not show which: the assembler holds a possible first fragment until the next frame, and remembers the
 * framing of each source.
 */
export type Framing = "single" | "fast" | "either";

/** A layout as in the data files. */
interface LayoutRow extends Omit<DefinitionSpec, "fields"> {
  /** By name of a field: the raw value that it must have. */
  match?: Readonly<Record<string, number>>;
  /** Fields, groups, and names of lists of `shared.json`. */
  fields: readonly (string | ItemSpec)[];
}

const shared = new Map(Object.entries(sharedFields as Record<string, (string | FieldSpec)[]>));

function expand(item: string | ItemSpec): ItemSpec[] {
  if (typeof item !== "string") return [item];
  const fields = shared.get(item);
  if (fields === undefined) throw new Error(`no shared fields named ${JSON.stringify(item)}`);
  return fields.flatMap(expand);
}

function definition({ match = {}, fields, ...row }: LayoutRow): DefinitionSpec {
  const unused = new Map(Object.entries(match));
  const matched = (item: ItemSpec): ItemSpec => {
    const { name = "" } = "group" in item ? {} : item;
    const value = unused.get(name);
    unused.delete(name);
    return value === undefined ? item : { ...item, match: value };
  };
  const spec = { ...row, fields: fields.flatMap(expand).map(matched) };
  if (unused.size > 0) throw new Error(`${row.pgn} ${row.id}: no field ${[...unused.keys()]} to match`);
  return spec;
}

const definitions = (rows: readonly unknown[]) => (rows as LayoutRow[]).map(definition);

/** Layouts with the field names and labels that existing clients use, and layouts unknown to canboat. */
export const OVERLAY_DEFINITIONS: readonly DefinitionSpec[] = definitions(
  [system, navigation, ais, environment, engine, electrical, rvc, proprietary].flat(),
);
/** Layouts that canboat has, or has changed, since the pinned package; derived from recorded payloads. */
export const NEWER_LAYOUTS: readonly DefinitionSpec[] = definitions(newer);
/** Layouts of canboat 8 that were not seen in a recording. */
export const NEWEST_LAYOUTS: readonly DefinitionSpec[] = definitions(newest);

/** Labels by table; a raw value without a label is decoded as its number. */
export const OVERLAY_TABLES: Readonly<Record<string, LabelTable>> = tables.overlay;
/** Labels of the newer layouts, by table. */
export const NEWER_TABLES: Readonly<Record<string, LabelTable>> = tables.newer;
/** Labels of canboat 8, by table. */
export const NEWEST_TABLES: Readonly<Record<string, LabelTable>> = tables.newest;

/**
 * Tolerances by field of layouts that only canboat has. Nothing else is corrected: wherever there are recorded frames
 * of these PGNs, canboat's decoder of 2026-08, which is newer than the package, reads the same numbers.
 */
export const TOLERANCES: readonly {
  pgn: number;
  id: string;
  reason: string;
  tolerances: Readonly<Record<string, number>>;
}[] = corrections.tolerances;

/** Rows for the values after keys, by key: changes of canboat's row, or a row that it lacks. */
export const KEY_ROWS = corrections.keys as readonly {
  table: string;
  reason: string;
  rows: Readonly<Record<string, FieldSpec>>;
}[];

/** PGNs that real devices frame differently from the definitions or the PGN ranges. */
export const FRAMING_CORRECTIONS = corrections.framing as readonly {
  framing: Framing;
  reason: string;
  pgns: readonly number[];
}[];

/** Common names of manufacturers in addition to those in the definitions: code by name in lower case. */
export const MANUFACTURER_ALIASES: Readonly<Record<string, number>> = corrections.manufacturers.codes;
