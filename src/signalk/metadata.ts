import { describePgn } from "../pgn/mod.ts";
import type { ConversionName } from "./mapping/conversions.ts";
import { MAPPINGS } from "./mapping/mappings.ts";
import type { Row } from "./mapping/types.ts";
import { matchesTemplate } from "./path_template.ts";

/** What is known of the value at a path. */
export interface Metadata {
  /** SI unit; left out: none. */
  readonly units?: string;
  /** Message and fields that the value is from. */
  readonly description: string;
  /** After this time without a new value it is stale, seconds; left out: it does not expire. */
  readonly timeout?: number;
}

/** Units of what conversions give; a conversion that is not here keeps the unit of its field, or gives no number. */
const UNITS: Partial<Record<ConversionName, string>> = {
  ratio: "ratio",
  trim: "ratio",
  perMinute: "Hz",
  litresPerHour: "m3/s",
  litres: "m3",
  ampereHours: "C",
  kilowattHours: "J",
  volts: "V",
  belowSurface: "m",
  belowKeel: "m",
  fromCenter: "m",
  secondsUntil: "s",
};
/** Conversions that keep the unit. */
const KEEPING: ReadonlySet<ConversionName> = new Set(["signedAngle", "positive", "negative"]);
/** Units of fields that Signal K does not have. */
const WITHOUT_UNIT: ReadonlySet<string> = new Set(["Cos Phi", "d"]);
/** Units of fields that have another name in Signal K: its schema has every power in watts. */
const RENAMED: Readonly<Record<string, string>> = { VA: "W", VAR: "W" };

/** Describes the value at a path that a field of a PGN gives. */
export function metadataOf({ pgn, path, field }: { pgn: number; path: string; field: string }): Metadata {
  const row = rowOf({ pgn, path, field });
  const units = row && unitOf(row, pgn);
  const title = describePgn(pgn)?.description ?? `PGN ${pgn}`;
  const fields = (row ? fieldsOf(row[1]) : [field]).map((name) => name.replaceAll("_", " "));
  return { ...(units !== undefined && { units }), description: `${title}: ${fields.join(", ")}` };
}

function rowOf({ pgn, path, field }: { pgn: number; path: string; field: string }): Row | undefined {
  const rows = MAPPINGS.filter(({ pgn: pgns }) => typeof pgns === "number" ? pgns === pgn : pgns.includes(pgn))
    .flatMap(({ rows }) => rows);
  return rows.find(([template, source]) => firstField(source) === field && matchesTemplate(path, template));
}

function fieldsOf(source: Row[1]): string[] {
  const names = typeof source === "string" ? [source] : Object.values(source);
  return names.map((name) => name.replace("?", ""));
}

function firstField(source: Row[1]): string {
  return fieldsOf(source)[0] ?? "";
}

/** SI unit of the values of a row; undefined: none, or they are no numbers. */
export function unitOf([, source, { as, alarm, is } = {}]: Row, pgn: number): string | undefined {
  if (alarm || is !== undefined || (typeof source === "object" && !Array.isArray(source))) return undefined;
  if (as !== undefined && !KEEPING.has(as)) return UNITS[as];
  const name = firstField(source);
  for (const { fields } of describePgn(pgn)?.layouts ?? []) {
    for (const item of fields) {
      const found = item.type === "group" ? item.fields.find((each) => each.name === name) : item;
      if (found?.name === name) {
        if (found.unit === undefined || WITHOUT_UNIT.has(found.unit)) return undefined;
        return RENAMED[found.unit] ?? found.unit;
      }
    }
  }
  return undefined;
}
