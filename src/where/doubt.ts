/** Names in an expression that nobody may know. */
import { hint } from "../units/mod.ts";
import { fieldsOf, type PgnCatalog } from "./fields.ts";
import { type Expression, parseExpression, type Subject } from "./parse.ts";

/** A warning about a field that no known PGN has; undefined if all are known. */
export function doubtFields(source: string, catalog: PgnCatalog): string | undefined {
  const strange = new Set(fieldNamesIn(parseExpression(source)));
  if (strange.size === 0) return undefined;
  const known = new Set<string>();
  for (const { pgn } of catalog.list()) {
    for (const { name } of fieldsOf(catalog, pgn) ?? []) {
      known.add(name);
      // Stops at the first match: describing all PGNs takes 0.1 s.
      if (strange.delete(name) && strange.size === 0) return undefined;
    }
  }
  const [first = ""] = strange;
  return `No known PGN has a field "${first}"${hint(first, { known })}`;
}

/** Manufacturers that an expression names. */
export function manufacturersIn(source: string): string[] {
  return comparisonsOf(parseExpression(source)).flatMap((comparison) => {
    const { subject } = comparison;
    if (subject.kind !== "device" || subject.name !== "manufacturer") return [];
    const isWhole = comparison.kind === "in" || ["==", "!="].includes(comparison.operator);
    const values = comparison.kind === "in" ? comparison.values : [comparison.value];
    return isWhole ? values.map(({ literal }) => literal).filter((literal) => typeof literal === "string") : [];
  });
}

/** Outermost names of the fields in an expression. */
function fieldNamesIn(expression: Expression): string[] {
  return comparisonsOf(expression).flatMap(({ subject }) => subject.kind === "field" ? [subject.path[0]] : []);
}

/** All comparisons of an expression. */
function comparisonsOf(expression: Expression): Extract<Expression, { subject: Subject }>[] {
  if ("subject" in expression) return [expression];
  return ("terms" in expression ? expression.terms : [expression.term]).flatMap(comparisonsOf);
}
