/** Units of an expression: whether a field can be compared with one, and how. */
import type { ItemDescription } from "@vessel/gateway/pgn";
import { convert, type Measure, readUnit, unitsOf } from "@vessel/gateway/units";
import { fieldsAt, fieldsOfAll } from "./fields.ts";
import { nearest } from "../settings/nearest.ts";
import { type Matcher, matcherOf, never } from "./match.ts";
import type { Operator } from "./parse.ts";

/** A number with its unit, as it was written. */
export interface Amount {
  value: number;
  unit: string;
}

/** Rounding noise of a conversion. */
const NOISE = 1e-9;

/** What is wrong with a unit behind what is compared with this field, or nothing. `pgns`: those that frames can have. */
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
  return `"${unit}" is no unit: did you mean "${nearest(unit, quantities.flatMap(unitsOf))}"? ${name} takes ${allowed}`;
}

/** What is wrong with a unit where there can be none. */
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
    // A converted number is no multiple of the field's step: the nearest one is meant.
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
