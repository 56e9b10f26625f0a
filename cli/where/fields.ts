/** Fields that an expression names: their definitions, and comparisons in their units and by their labels. */
import { describePgn, type ItemDescription, listPgns } from "@vessel/gateway/pgn";
import { convert, labelOf, type Measure, readUnit, unitsOf } from "@vessel/gateway/units";
import { nearest } from "../settings/nearest.ts";
import { type Matcher, matcherOf, never } from "./match.ts";
import type { Operator } from "./parse.ts";

/** Fields of a PGN at the end of a path, outermost name first; one per layout that has it. */
export function fieldsAt(pgn: number, path: readonly string[]): ItemDescription[] {
  let items: ItemDescription[] = describePgn(pgn)?.layouts.flatMap(({ fields }) => fields) ?? [];
  for (const [index, name] of path.entries()) {
    const found = items.filter((item) => item.name === name);
    if (index === path.length - 1) return found;
    items = found.flatMap((item) => item.type === "group" ? item.fields : []);
  }
  return [];
}

/** Fields of several PGNs, by default of all known ones. */
export function* fieldsOfAll(
  path: readonly string[],
  pgns: Iterable<number> | undefined,
): Generator<ItemDescription> {
  const all = pgns ?? Array.from(listPgns(), ({ pgn }) => pgn);
  for (const pgn of all) yield* fieldsAt(pgn, path);
}

/** A number and its unit, as written. */
export interface Amount {
  value: number;
  unit: string;
}

/** Relative rounding error of a conversion. */
const NOISE = 1e-9;

/** The error of a unit after a value of this field; undefined if it fits. `pgns`: those that frames can have. */
export function wrongUnit(
  path: readonly string[],
  { unit, pgns }: { unit: string; pgns: Iterable<number> | undefined },
): string | undefined {
  const name = path.join(".");
  const fields = [...fieldsOfAll(path, pgns)];
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
  { pgn, path, amount }: { pgn: number; path: readonly string[]; amount: Amount },
): Matcher {
  const written = readUnit(amount.unit);
  for (const field of fieldsAt(pgn, path)) {
    const measure = measureOf(field);
    if (!written || measure?.quantity !== written.quantity) continue;
    const value = convert(amount.value, written.unit, measure.unit);
    if (operator !== "==" && operator !== "!=") return matcherOf(operator, value);
    // A converted number is rarely a multiple of the field's step: equal means the nearest one.
    const step = field.type === "group" ? 0 : field.resolution ?? (field.type === "number" ? 1 : 0);
    const margin = step / 2 + Math.abs(value) * NOISE;
    const isSame = (found: unknown) => typeof found === "number" && Math.abs(found - value) <= margin;
    return operator === "==" ? isSame : (found) => typeof found === "number" && !isSame(found);
  }
  return never;
}

function measureOf(field: ItemDescription): Measure | undefined {
  return field.type === "group" || field.unit === undefined ? undefined : readUnit(field.unit);
}

/** Compares a number by its label, or by the labels of its bits, if the field has any in this PGN. */
export function labelMatcher(match: Matcher, { pgn, path }: { pgn: number; path: readonly string[] }): Matcher {
  const fields = fieldsAt(pgn, path).filter((field) => field.type !== "group");
  const coded = fields.find(({ type, labels, bit_labels }) => type === "number" && (labels ?? bit_labels));
  if (coded === undefined) return match;
  return (value) => {
    if (typeof value !== "number") return match(value);
    const label = labelOf(value, coded, {});
    return Array.isArray(label) ? label.some(match) : match(label ?? value);
  };
}
