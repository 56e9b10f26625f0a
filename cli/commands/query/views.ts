import { describePgn, type FieldDescription, type ItemDescription, tableName } from "@vessel/gateway/pgn";
import type { SqlType } from "./columns.ts";

/** Where a column's values come from: the frame, its sender, or a field of its payload. */
export type ColumnSource =
  | { kind: "time" | "bus" | "source" | "name" | "model" | "seq" | "epoch" | "layout" | "data" }
  | { kind: "field"; field: string };

/** A column of a view. */
export interface ViewColumn {
  name: string;
  type: SqlType;
  /** Unit of the values, if they have one. */
  unit?: string;
}

/** A column of a view of messages. */
export interface MessageColumn extends ViewColumn {
  source: ColumnSource;
}

/** The messages of one PGN. */
export interface MessageView {
  pgn: number;
  /** Name in SQL. */
  name: string;
  columns: readonly MessageColumn[];
}

/** Columns of the view of the devices. */
export const DEVICE_COLUMNS = [
  { name: "bus", type: "VARCHAR" },
  { name: "source", type: "INTEGER" },
  { name: "name", type: "VARCHAR" },
  { name: "manufacturer", type: "VARCHAR" },
  { name: "model", type: "VARCHAR" },
  { name: "first_seen", type: "TIMESTAMP" },
  { name: "last_seen", type: "TIMESTAMP" },
  { name: "messages", type: "BIGINT" },
] as const satisfies readonly ViewColumn[];

/** Columns of the view of missing sequence numbers; both numbers are missing. */
export const GAP_COLUMNS = [
  { name: "epoch", type: "VARCHAR" },
  { name: "from_seq", type: "BIGINT" },
  { name: "to_seq", type: "BIGINT" },
  { name: "from_time", type: "TIMESTAMP" },
  { name: "to_time", type: "TIMESTAMP" },
  { name: "reason", type: "VARCHAR" },
] as const satisfies readonly ViewColumn[];

const column = (kind: Exclude<ColumnSource["kind"], "field">, type: SqlType): MessageColumn => ({
  ...{ name: kind, type, source: { kind } },
});
const FRAME_COLUMNS: readonly MessageColumn[] = [
  column("time", "TIMESTAMP"),
  column("bus", "VARCHAR"),
  column("source", "INTEGER"),
  column("name", "VARCHAR"),
  column("model", "VARCHAR"),
  column("seq", "BIGINT"),
];
const EPOCH = column("epoch", "VARCHAR");
const LAYOUT = column("layout", "VARCHAR");
const DATA = column("data", "VARCHAR");
/** A field with one of these names is a column with the prefix `field_`. */
const TAKEN: ReadonlySet<string> = new Set([...FRAME_COLUMNS, EPOCH, LAYOUT, DATA].map(({ name }) => name));

const NUMBERS: ReadonlySet<FieldDescription["type"]> = new Set(["number", "pgn", "index", "length", "float"]);
const MAX_INT32 = 2 ** 31 - 1;
const MAX_UINT32 = 2 ** 32 - 1;

/**
 * The view of a PGN. Fields have their names in decoded payloads. Without a definition there is only the payload.
 *
 * @param options.hasEpochs the recording has several epochs: adds a column
 */
export function messageView(pgn: number, { hasEpochs = false } = {}): MessageView {
  const layouts = describePgn(pgn)?.layouts ?? [];
  const columns = [
    ...FRAME_COLUMNS,
    ...(hasEpochs ? [EPOCH] : []),
    ...(layouts.length > 1 ? [LAYOUT] : []),
    ...fieldColumns(layouts.flatMap(({ fields }) => fields)),
    DATA,
  ];
  return { pgn, name: tableName(pgn), columns };
}

/** One column for each name. Fields of several layouts with different types are texts. */
function fieldColumns(fields: readonly ItemDescription[]): MessageColumn[] {
  const columns = new Map<string, MessageColumn>();
  for (const field of fields) {
    const type = typeOf(field);
    const unit = field.type === "group" ? undefined : field.unit;
    const before = columns.get(field.name);
    const name = TAKEN.has(field.name) ? `field_${field.name}` : field.name;
    const common = before === undefined || before.type === type ? type : commonType(before.type, type);
    columns.set(field.name, {
      ...{ name, type: common, source: { kind: "field", field: field.name } },
      ...(unit !== undefined && (before === undefined || before.unit === unit) && { unit }),
    });
  }
  return [...columns.values()];
}

function commonType(one: SqlType, other: SqlType): SqlType {
  return one === "VARCHAR" || other === "VARCHAR" ? "VARCHAR" : "DOUBLE";
}

/** Whole numbers are integers; lists, groups and everything that is no number are texts. */
function typeOf(field: ItemDescription): SqlType {
  if (field.type === "group" || field.repeat !== undefined || !NUMBERS.has(field.type)) return "VARCHAR";
  const { type, resolution, bits = 64, min, max } = field;
  if (type === "float" || resolution !== undefined) return "DOUBLE";
  // Without a range there is one possible value.
  if (min === undefined || max === undefined) return bits < 32 ? "INTEGER" : "DOUBLE";
  if (!Number.isInteger(min)) return "DOUBLE";
  // Reserved values, which some definitions decode, are beyond the range.
  const least = min < 0 ? min - 1 : min;
  const most = least + 2 ** bits - 1;
  if (least >= -MAX_INT32 - 1 && most <= MAX_INT32) return "INTEGER";
  return least >= 0 && most <= MAX_UINT32 ? "UINTEGER" : "DOUBLE";
}
