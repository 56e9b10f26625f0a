/** What every frame that matches an expression has: its PGN, the NAME of its sender. */
import { type Filter, MAX_FILTER_ENTRIES } from "../filter/mod.ts";
import { formatName, readName } from "../frame/mod.ts";
import type { Expression, Literal, Subject } from "./parse.ts";

/** The values that matching frames can have; undefined: all. */
type Pins<T> = ReadonlySet<T> | undefined;

/** Values of a literal that is compared with a subject by `==`; undefined: it is another subject, or any value. */
type Pin<T> = (subject: Subject, literal: Literal) => readonly T[] | undefined;

const MAX_PGN = 0x3_ff_ff;

/** PGNs that a matching frame can have; undefined: all. */
export function pgnsOf(expression: Expression): ReadonlySet<number> | undefined {
  return pinsOf(expression, (subject, literal) => {
    if (subject.kind !== "header" || subject.name !== "pgn") return undefined;
    return typeof literal === "number" ? [literal] : [];
  });
}

/** NAMEs that the sender of a matching frame can have; undefined: all. */
function namesOf(expression: Expression): ReadonlySet<string> | undefined {
  return pinsOf(expression, (subject, literal) => {
    if (subject.kind !== "device" || subject.side !== "src" || subject.name !== "name") return undefined;
    const name = typeof literal === "string" ? readName(literal) : undefined;
    return name === undefined ? undefined : [formatName(name)];
  });
}

/**
 * The part of an expression that a server can filter by: PGNs, and NAMEs of senders. Every frame that matches the
 * expression passes the filter. Empty: all frames.
 */
export function filterOf(expression: Expression): Filter {
  const pgn = [...pgnsOf(expression) ?? []].filter((each) => Number.isInteger(each) && each >= 0 && each <= MAX_PGN);
  const name = [...namesOf(expression) ?? []];
  if (pgn.length + name.length > MAX_FILTER_ENTRIES) return {};
  // An empty list would not exclude anything either.
  return { ...(pgn.length > 0 && { pgn }), ...(name.length > 0 && { name }) };
}

function pinsOf<T>(expression: Expression, pin: Pin<T>): Pins<T> {
  switch (expression.kind) {
    case "compare": {
      const { subject, operator, value } = expression;
      return operator === "==" ? pinsOfValues(subject, [value.literal], pin) : undefined;
    }
    case "in":
      return pinsOfValues(expression.subject, expression.values.map(({ literal }) => literal), pin);
    case "and":
      return expression.terms.map((term) => pinsOf(term, pin)).reduce(bothOf);
    case "or":
      return expression.terms.map((term) => pinsOf(term, pin)).reduce((one, other) => one && other && one.union(other));
    case "not":
      return undefined;
  }
}

function pinsOfValues<T>(subject: Subject, literals: readonly Literal[], pin: Pin<T>): Pins<T> {
  const values = literals.map((literal) => pin(subject, literal));
  return values.every((each) => each !== undefined) ? new Set(values.flat()) : undefined;
}

/** The values that both allow. */
export function bothOf<T>(one: Pins<T>, other: Pins<T>): Pins<T> {
  return one && other ? one.intersection(other) : one ?? other;
}
