import type { KnownPgn, PgnDetails, PgnField, PgnGroup, PgnLayout } from "@vessel/gateway/client";
import { NOTHING } from "../../client/frame_text.ts";
import { formatItems, formatTable, type ItemColumn } from "../../program/table.ts";
import { paint, printable } from "../../program/terminal.ts";

/** Format of a text. */
interface Form {
  width: number;
  color: boolean;
}

const FRAMINGS: Readonly<Record<KnownPgn["framing"], string>> = {
  single: "single frame",
  fast: "fast packet",
  either: "single or fast",
};

const LIST_COLUMNS: readonly ItemColumn<KnownPgn>[] = [
  { title: "PGN", align: "right", text: ({ pgn }) => String(pgn) },
  { title: "DESCRIPTION", text: ({ description }) => description },
  { title: "FRAMES", text: ({ framing }) => framing },
  {
    title: "INTERVAL",
    align: "right",
    text: ({ interval_ms }) => interval_ms === undefined ? "" : `${interval_ms} ms`,
  },
  { title: "LAYOUTS", align: "right", text: ({ layouts }) => layouts === 1 ? "" : String(layouts) },
];

/** Text of the list. */
export function pgnListText(pgns: readonly KnownPgn[], form: Form): string {
  return formatItems(pgns, { columns: LIST_COLUMNS, ...form });
}

/** Text of the definition of a PGN. */
export function pgnDetailsText(details: PgnDetails, form: Form): string {
  const { pgn, description, framing, interval_ms, layouts } = details;
  const facts = [FRAMINGS[framing], ...(interval_ms === undefined ? [] : [`every ${interval_ms} ms`])].join(", ");
  const title = paint({ hasColor: form.color }, "bold", `PGN ${pgn}: ${printable(description)}`);
  const many = layouts.length > 1;
  return [`${title} (${facts})`, ...layouts.map((layout) => layoutText(layout, { ...form, many }))].join("\n\n");
}

function layoutText(layout: PgnLayout, { many, width, color }: Form & { many: boolean }): string {
  const { description, complete, fields, matches = [] } = layout;
  const when = matches.map(({ name = "bits", value, label }) => `${name} ${label ?? value}`).join(", ");
  const title = `${printable(description)}${when === "" ? "" : printable(` (where ${when})`)}`;
  const columns = [
    { title: "FIELD" },
    { title: "TYPE" },
    { title: "UNIT" },
    { title: "BITS", align: "right" },
    { title: "VALUES" },
  ] as const;
  const table = formatTable(fields.flatMap((field) => fieldRows(field)), { columns, width, color });
  const rest = complete ? [] : ["The rest of this message is unknown."];
  return [...(many ? [paint({ hasColor: color }, "bold", title)] : []), table, ...rest].join("\n");
}

function fieldRows(field: PgnField | PgnGroup, indent = ""): string[][] {
  if ("fields" in field) {
    const head = [indent + field.name, field.count === undefined ? "list" : `list of ${field.count}`];
    return [head, ...field.fields.flatMap((each) => fieldRows(each, `${indent}  `))];
  }
  const { name, type, unit = "", bits, repeat } = field;
  const kind = repeat === undefined ? type : `${type} × ${repeat}`;
  return [[indent + name, kind, unit, bits === undefined ? NOTHING : String(bits), valuesText(field)]];
}

function valuesText({ min, max, labels, by }: PgnField): string {
  if (labels) return Object.entries(labels).map(([value, label]) => `${value} ${label}`).join(", ");
  if (by !== undefined) return `as ${by} says`;
  return min === undefined || max === undefined ? "" : `${min} to ${max}`;
}
