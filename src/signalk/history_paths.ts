import { MAPPINGS } from "./mapping/mappings.ts";
import type { ConversionName } from "./mapping/conversions.ts";
import type { PrepareName } from "./mapping/prepare.ts";
import type { PgnMapping, Row } from "./mapping/types.ts";
import { unitOf } from "./metadata.ts";
import { fieldsOfTemplate, pathPattern } from "./path_template.ts";

/** Where the values of a path come from. */
export interface PathOrigin {
  /** The path that the mapper gives. */
  readonly mapped: string;
  /** Keys of the wanted part of its objects: `["roll"]` for `navigation.attitude.roll`; empty: the value itself. */
  readonly member: readonly string[];
  /** Messages with its values, and those that they refer to. */
  readonly pgns: ReadonlySet<number>;
  /** The values are angles: rad. */
  readonly isAngle: boolean;
  /** The fields whose averages and extremes are enough to know those of the path; undefined: they are not. */
  readonly fields: readonly PlainField[] | undefined;
}

/** A decoded field that is, but for its unit, a value of a path. */
export interface PlainField {
  readonly pgn: number;
  readonly name: string;
  /** Fields that decide whether and where there is a value. */
  readonly decidedBy: readonly string[];
  /** Its minimum is that of the path. */
  readonly keepsOrder: boolean;
}

/** Conversions by a positive factor. */
const FACTORS: ReadonlySet<ConversionName> = new Set<ConversionName>([
  ...["ratio", "perMinute", "litresPerHour", "litres", "ampereHours", "kilowattHours", "powerFactor"] as const,
]);

/** Preparations that share what they remember of a device. */
const SHARED_STATES: readonly (readonly PrepareName[])[] = [
  ["course", "lastCourse", "lastCourseRoute"],
  ["alertText", "alert"],
];
/** Most keys of a part of an object. */
const MAX_MEMBER_KEYS = 2;

interface OwnRow {
  readonly mapping: PgnMapping;
  readonly row: Row;
  readonly pattern: RegExp;
}

let ownRows: readonly OwnRow[] | undefined;

/** Finds the messages with values for a path of the own vessel; undefined: there are none. */
export function originOfPath(path: string): PathOrigin | undefined {
  ownRows ??= MAPPINGS.filter(({ context }) => context === undefined).flatMap((mapping) =>
    mapping.rows.map((row) => ({ mapping, row, pattern: pathPattern(row[0]) }))
  );
  const parts = path.split(".");
  for (let keys = 0; keys <= MAX_MEMBER_KEYS && keys < parts.length; keys++) {
    const mapped = parts.slice(0, parts.length - keys).join(".");
    const member = parts.slice(parts.length - keys);
    const found = ownRows.filter(({ row, pattern }) => hasMember(row, member) && pattern.test(mapped));
    if (found.length === 0) continue;
    const fields = found.flatMap(plainFields);
    return {
      ...{ mapped, member, pgns: pgnsOf(found), isAngle: found.some(isAngle(member)) },
      fields: keys > 0 || fields.includes(undefined) ? undefined : fields.filter((each) => each !== undefined),
    };
  }
  return undefined;
}

function plainFields({ mapping, row: [path, source, rule = {}] }: OwnRow): (PlainField | undefined)[] {
  const { as, when = {}, each, is, alarm } = rule;
  const isPlain = typeof source === "string" && mapping.prepare === undefined && each === undefined &&
    is === undefined && !alarm && (as === undefined || as === "signedAngle" || FACTORS.has(as));
  if (!isPlain) return [undefined];
  const decidedBy = [...Object.keys(mapping.when ?? {}), ...Object.keys(when), ...fieldsOfTemplate(path)];
  const name = source.replace("?", "");
  return pgnList(mapping).map((pgn) => ({ pgn, name, decidedBy, keepsOrder: as !== "signedAngle" }));
}

function hasMember([, source]: Row, member: readonly string[]): boolean {
  return member.length === 0 || (typeof source === "object" && Object.hasOwn(source, member.join(".")));
}

function isAngle(member: readonly string[]): (own: OwnRow) => boolean {
  return ({ mapping, row: [path, source, rule = {}] }) => {
    const part = member.length > 0 ? new Map(Object.entries(source)).get(member.join(".")) : source;
    return part !== undefined && pgnList(mapping).some((pgn) => unitOf([path, part, rule], pgn) === "rad");
  };
}

function pgnsOf(rows: readonly OwnRow[]): Set<number> {
  const pgns = new Set(rows.flatMap(({ mapping }) => pgnList(mapping)));
  const prepares = new Set(rows.map(({ mapping: { prepare } }) => prepare));
  for (const shared of SHARED_STATES) {
    if (!shared.some((each) => prepares.has(each))) continue;
    for (const mapping of MAPPINGS) {
      if (mapping.prepare && shared.includes(mapping.prepare)) { for (const pgn of pgnList(mapping)) pgns.add(pgn); }
    }
  }
  return pgns;
}

function pgnList({ pgn }: PgnMapping): readonly number[] {
  return typeof pgn === "number" ? [pgn] : pgn;
}
