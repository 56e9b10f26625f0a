/** Fields that an expression names: their definitions, and comparisons in their units and by their labels. */
import { convert, type DescribedField, labelOf, type Measure, nearest, readUnit, unitsOf } from "../units/mod.ts";
import { type Matcher, matcherOf, never } from "./match.ts";
import type { Operator } from "./parse.ts";

/** Descriptions of PGNs, as in `/pgns` and `/pgns/{pgn}`. */
export interface PgnCatalog {
  /** Description of a PGN; undefined: unknown. */
  describe(pgn: number): { readonly layouts: readonly { readonly fields: readonly DescribedField[] }[] } | undefined;
  /** All known PGNs. */
  list(): Iterable<{ readonly pgn: number }>;
}

/** Fields of all layouts of a PGN; undefined: it is unknown. */
export function fieldsOf(catalog: PgnCatalog, pgn: number): DescribedField[] | undefined {
  return catalog.describe(pgn)?.layouts.flatMap(({ fields }) => fields);
}

/** A path to a field, outermost name first. */
interface Way {
  catalog: PgnCatalog;
  path: readonly string[];
}

/** Fields of a PGN at the end of a path; one per layout that has it. */
function fieldsAt(pgn: number, { catalog, path }: Way): DescribedField[] {
  let items = fieldsOf(catalog, pgn) ?? [];
  for (const [index, name] of path.entries()) {
    const found = items.filter((item) => item.name === name);
    if (index === path.length - 1) return found;
    items = found.flatMap(({ fields = [] }) => fields);
  }
  return [];
}

/** A number and its unit, as written. */
export interface Amount {
  value: number;
  unit: string;
}

/** Relative rounding error of a conversion. */
const NOISE = 1e-9;

/** The error of a unit after a value of this field; undefined if it fits. `pgns`: those that frames can have; default all. */
export function wrongUnit(
  unit: string,
  { catalog, path, pgns }: Way & { pgns: Iterable<number> | undefined },
): string | undefined {
  const name = path.join(".");
  const all = pgns ?? Array.from(catalog.list(), ({ pgn }) => pgn);
  const fields = [...all].flatMap((pgn) => fieldsAt(pgn, { catalog, path }));
  const measures = fields.map(measureOf).filter((measure) => measure !== undefined);
  const written = readUnit(unit);
  if (written && measures.some(({ quantity }) => quantity === written.quantity)) return undefined;
  const quantities = [...new Set(measures.map(({ quantity }) => quantity))];
  const allowed = quantities.flatMap(unitsOf).join(", ");
  if (fields.length === 0) return `no known PGN has a field "${name}": its unit is not known`;
  if (quantities.length === 0) return `${name} has no unit`;
  if (written) {
    return `${name} is measured in ${allowed}: ${unit} is a unit of ${written.quantity}`;
  }
  return `"${unit}" is not a unit: did you mean "${
    nearest(unit, quantities.flatMap(unitsOf))
  }"? ${name} takes ${allowed}`;
}

/** The error of a unit after a value without one. */
export function needlessUnit(name: string, unit: string): string {
  return readUnit(unit) ? `${name} has no unit` : `expected and, or, or the end, found ${unit}`;
}

/** Compares a field in its own unit; fields of other quantities match nothing. */
export function amountMatcher(
  operator: Operator,
  { pgn, amount, ...way }: Way & { pgn: number; amount: Amount },
): Matcher {
  const written = readUnit(amount.unit);
  for (const field of fieldsAt(pgn, way)) {
    const measure = measureOf(field);
    if (!written || measure?.quantity !== written.quantity) continue;
    const value = convert(amount.value, written.unit, measure.unit);
    if (operator !== "==" && operator !== "!=") return matcherOf(operator, value);
    // A converted number is rarely a multiple of the field's step: equal means the nearest one.
    const step = field.resolution ?? (field.type === "number" ? 1 : 0);
    const margin = step / 2 + Math.abs(value) * NOISE;
    const isSame = (found: unknown) => typeof found === "number" && Math.abs(found - value) <= margin;
    return operator === "==" ? isSame : (found) => typeof found === "number" && !isSame(found);
  }
  return never;
}

function measureOf(field: DescribedField): Measure | undefined {
  return field.unit === undefined ? undefined : readUnit(field.unit);
}

/** Compares a number by its label, or by the labels of its bits, if the field has any in this PGN. */
export function labelMatcher(match: Matcher, { pgn, ...way }: Way & { pgn: number }): Matcher {
  const coded = fieldsAt(pgn, way).find(({ type, labels, bit_labels }) => type === "number" && (labels ?? bit_labels));
  if (coded === undefined) return match;
  return (value) => {
    if (typeof value !== "number") return match(value);
    const label = labelOf(value, coded, {});
    return Array.isArray(label) ? label.some(match) : match(label ?? value);
  };
}
