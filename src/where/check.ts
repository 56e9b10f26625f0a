/** Static checks of an expression: values of the wrong kind, and fields that a PGN does not have. */
import { type DescribedField, nearest } from "../units/mod.ts";
import { fieldsOf, needlessUnit, type PgnCatalog, wrongUnit } from "./fields.ts";
import { type Span, WhereError } from "./tokens.ts";
import type { Expression, Operator, Subject, Value } from "./parse.ts";
import { bothOf, pgnsOf } from "./pins.ts";
import { DEVICE_FIELDS, HEADER_FIELDS, type ScalarKind } from "./subjects.ts";

/** One comparison with one value. */
interface Comparison {
  subject: Subject;
  operator: Operator;
  value: Value;
}

/** Most names listed besides the nearest one. */
const LISTED_NAMES = 12;
/** Item types known only from the payload. */
const OPEN_TYPES: ReadonlySet<string> = new Set(["variable", "value", "parameters"]);
const NUMBER_TYPES: ReadonlySet<string> = new Set(["number", "pgn", "index", "length", "float"]);
/** Item types whose values are labels, or numbers without a label. */
const LABEL_TYPES: ReadonlySet<string> = new Set(["enum", "indirect", "key"]);

/** Checks an expression. @throws {WhereError} for a comparison that can never be meaningful */
export function checkExpression(
  expression: Expression,
  { source, catalog }: { source: string; catalog: PgnCatalog },
): void {
  const fail = (what: string, span: Span) => new WhereError(what, { source, span });
  check(expression, { pins: undefined, catalog, fail });
}

interface Context {
  /** PGNs of the frames for which a part of the expression is evaluated; undefined: all. */
  pins: ReadonlySet<number> | undefined;
  catalog: PgnCatalog;
  fail: (what: string, span: Span) => WhereError;
}

function check(expression: Expression, context: Context): void {
  const here = { ...context, pins: bothOf(context.pins, pgnsOf(expression)) };
  switch (expression.kind) {
    case "or":
    case "and":
      return expression.terms.forEach((term) => check(term, here));
    case "not":
      return check(expression.term, here);
    case "compare":
      return checkComparison(expression, here);
    case "in":
      for (const value of expression.values) {
        checkComparison({ subject: expression.subject, operator: "==", value }, here);
      }
  }
}

function checkComparison(comparison: Comparison, context: Context): void {
  const { fail } = context;
  const { subject, operator, value } = comparison;
  if (subject.kind === "field") return checkField(comparison, context);
  const name = subject.kind === "header" ? subject.name : `${subject.side}.${subject.name}`;
  if (value.unit) throw fail(needlessUnit(name, value.unit.text), value.unit.span);
  const kind = subject.kind === "header" ? HEADER_FIELDS.get(subject.name) : DEVICE_FIELDS.get(subject.name)?.kind;
  const wrong = kind && wrongKind({ name, kind }, { operator, value });
  if (wrong !== undefined) throw fail(wrong, value.span);
}

/** The error of comparing a number or a text with this value; undefined if it fits. */
function wrongKind(
  field: { name: string; kind: ScalarKind; unit?: string | undefined },
  { operator, value: { literal } }: { operator: Operator; value: Value },
): string | undefined {
  const { name, kind, unit } = field;
  if (typeof literal === "boolean") return `${name} is a ${kind}: it is never ${literal}`;
  if (kind === "text") {
    return typeof literal === "number" ? `${name} is a text: write "${literal}"` : undefined;
  }
  const inUnit = unit === undefined ? "" : `, in ${unit}`;
  if (operator === "contains") return `${name} is a number${inUnit}: compare it with == or in`;
  return typeof literal === "string" ? `${name} is a number${inUnit}: expected a number` : undefined;
}

/** Items of the layouts of the PGNs; undefined if one of the PGNs is unknown. */
function itemsOf(pins: ReadonlySet<number>, catalog: PgnCatalog): DescribedField[] | undefined {
  const described = Array.from(pins, (pgn) => fieldsOf(catalog, pgn));
  return described.every((each) => each !== undefined) ? described.flat() : undefined;
}

function checkField(comparison: Comparison, context: Context): void {
  const { subject, value } = comparison;
  const { pins, catalog, fail } = context;
  if (subject.kind !== "field") return;
  const items = pins === undefined || pins.size === 0 ? undefined : itemsOf(pins, catalog);
  if (pins === undefined || items === undefined) return checkUnit(comparison, { ...context, pins: undefined });
  const [first, ...parts] = subject.path;
  let found = named(items, { name: first, owner: `PGN ${[...pins].join(", ")}`, span: subject.span }, fail);
  let owner: string = first;
  for (const part of parts) {
    const inner = partsOf(found);
    if (inner === undefined) return checkUnit(comparison, context);
    found = named(inner, { name: part, owner, span: subject.span }, fail);
    owner += `.${part}`;
  }
  checkUnit(comparison, context);
  const wrong = found.map((item) => wrongValue(item, comparison));
  const [what] = wrong;
  if (what !== undefined && wrong.every((each) => each !== undefined)) throw fail(what, value.span);
}

function checkUnit({ subject, value: { unit } }: Comparison, { pins, catalog, fail }: Context): void {
  if (unit === undefined || subject.kind !== "field") return;
  const wrong = wrongUnit(unit.text, { catalog, path: subject.path, pgns: pins });
  if (wrong !== undefined) throw fail(wrong, unit.span);
}

/** The items with this name, at least one. */
function named(
  items: readonly DescribedField[],
  { name, owner, span }: { name: string; owner: string; span: Span },
  fail: Context["fail"],
): DescribedField[] {
  const found = items.filter((item) => item.name === name);
  if (found.length > 0) return found;
  const known = new Set(items.map((item) => item.name));
  if (known.size === 0) throw fail(`${owner} has no parts`, span);
  const listed = [...known].slice(0, LISTED_NAMES).join(", ") + (known.size > LISTED_NAMES ? ", …" : "");
  throw fail(`${owner} has no "${name}": did you mean "${nearest(name, known)}"? There are ${listed}`, span);
}

/** Names inside an item; undefined if known only from the payload. */
function partsOf(items: readonly DescribedField[]): DescribedField[] | undefined {
  if (items.some(({ type }) => OPEN_TYPES.has(type))) return undefined;
  return items.flatMap(({ type, fields }): readonly DescribedField[] => {
    if (type === "group") return fields ?? [];
    return type === "lookup" ? [{ name: "id", type: "number" }, { name: "name", type: "text" }] : [];
  });
}

/** The error of a comparison with this field; undefined if it fits. */
function wrongValue(item: DescribedField, { operator, value }: Comparison): string | undefined {
  const { name, type } = item;
  const { literal } = value;
  if (literal === null || OPEN_TYPES.has(type)) return undefined;
  if (item.type === "group") {
    return `${name} is a list: name one of its fields, such as ${name}.${item.fields?.[0]?.name}`;
  }
  if (typeof literal === "boolean") return `${name} is never ${literal}`;
  const isCode = item.labels !== undefined || item.bit_labels !== undefined || item.labels_by !== undefined;
  if (NUMBER_TYPES.has(type) && !(isCode && typeof literal === "string")) {
    return wrongKind({ name, kind: "number", unit: item.unit }, { operator, value });
  }
  if (operator !== "==" && operator !== "!=") return undefined;
  return wrongLabel(item, literal);
}

function wrongLabel(
  { name, type, bit_labels, labels = bit_labels }: DescribedField,
  literal: string | number,
): string | undefined {
  if (labels === undefined) return undefined;
  if (typeof literal === "number") {
    const label = LABEL_TYPES.has(type) ? labels[literal] : undefined;
    return label === undefined ? undefined : `${name} is a label: write "${label}"`;
  }
  const known = new Set(Object.values(labels));
  if (known.size === 0 || [...known].some((label) => label.toLowerCase() === literal.toLowerCase())) return undefined;
  return `${name} is never "${literal}": did you mean "${nearest(literal, known)}"`;
}
