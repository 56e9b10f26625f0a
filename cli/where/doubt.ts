/** Warnings about an expression: fields and manufacturers that this version does not know; a newer server may. */
import { describePgn, listPgns } from "@vessel/gateway/pgn";
import { doubtManufacturers } from "../settings/filter_names.ts";
import { hint } from "../settings/nearest.ts";
import { type Expression, parseExpression, type Subject } from "./parse.ts";

/** Names a field that no known PGN has, or an unknown manufacturer; undefined if all are known. */
export function doubtWhere(source: string): string | undefined {
  const expression = parseExpression(source);
  return doubtFields(expression) ?? doubtManufacturers([...manufacturersOf(expression)]);
}

function doubtFields(expression: Expression): string | undefined {
  const strange = new Set(fieldsOf(expression));
  if (strange.size === 0) return undefined;
  const known = new Set<string>();
  for (const name of knownFields()) {
    known.add(name);
    // Stops at the first match: describing all PGNs takes 0.1 s.
    if (strange.delete(name) && strange.size === 0) return undefined;
  }
  const [first = ""] = strange;
  return `No known PGN has a field "${first}"${hint(first, { known })}`;
}

/** All comparisons of an expression. */
function* comparisonsOf(expression: Expression): Generator<Extract<Expression, { subject: Subject }>> {
  if ("subject" in expression) yield expression;
  if ("term" in expression) yield* comparisonsOf(expression.term);
  if ("terms" in expression) { for (const term of expression.terms) yield* comparisonsOf(term); }
}

/** Outermost names of the fields in an expression. */
function* fieldsOf(expression: Expression): Generator<string> {
  for (const { subject } of comparisonsOf(expression)) if (subject.kind === "field") yield subject.path[0];
}

/** Manufacturers named in an expression. */
function* manufacturersOf(expression: Expression): Generator<string> {
  for (const comparison of comparisonsOf(expression)) {
    const { subject } = comparison;
    if (subject.kind !== "device" || subject.name !== "manufacturer") continue;
    const isWhole = comparison.kind === "in" || ["==", "!="].includes(comparison.operator);
    for (const { literal } of comparison.kind === "in" ? comparison.values : [comparison.value]) {
      if (isWhole && typeof literal === "string") yield literal;
    }
  }
}

function* knownFields(): Generator<string> {
  for (const { pgn } of listPgns()) {
    for (const { fields } of describePgn(pgn)?.layouts ?? []) yield* fields.map(({ name }) => name);
  }
}
