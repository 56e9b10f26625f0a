/** How one decoded value is compared with a literal. */
import type { Literal, Operator } from "./parse.ts";

/** Whether a value that is no list matches. A missing field is null. */
export type Matcher = (value: unknown) => boolean;

/** Matches nothing. */
export const never: Matcher = () => false;

/** A text with a number, such as MMSI and NAME. */
const NUMERIC = /^(?:-?\d+(?:\.\d+)?|0x[\da-f]+)$/i;

const NUMBERS: Readonly<Record<Operator, (value: number, literal: number) => boolean>> = {
  "==": (value, literal) => value === literal,
  "!=": (value, literal) => value !== literal,
  "<": (value, literal) => value < literal,
  "<=": (value, literal) => value <= literal,
  ">": (value, literal) => value > literal,
  ">=": (value, literal) => value >= literal,
  contains: (value, literal) => value === literal,
};

/** Both in lower case. */
const TEXTS: Readonly<Record<Operator, (value: string, literal: string) => boolean>> = {
  "==": (value, literal) => value === literal,
  "!=": (value, literal) => value !== literal,
  "<": (value, literal) => value < literal,
  "<=": (value, literal) => value <= literal,
  ">": (value, literal) => value > literal,
  ">=": (value, literal) => value >= literal,
  contains: (value, literal) => value.includes(literal),
};

/** A value compared with a literal; values of another kind, null among them, match nothing but `!= null`. */
export function matcherOf(operator: Operator, literal: Literal): Matcher {
  if (literal === null) return operator === "==" ? (value) => value === null : (value) => value !== null;
  if (typeof literal === "number") return numberMatcher(operator, literal);
  if (typeof literal === "string") return textMatcher(operator, literal);
  return operator === "==" ? (value) => value === literal : (value) => value === !literal;
}

function numberMatcher(operator: Operator, literal: number): Matcher {
  const compare = NUMBERS[operator];
  const digits = String(literal);
  return (value) => {
    if (typeof value === "number") return compare(value, literal);
    if (typeof value === "string") {
      return operator === "contains" ? value.includes(digits) : NUMERIC.test(value) && compare(Number(value), literal);
    }
    const id = partOf(value, "id");
    return typeof id === "number" && compare(id, literal);
  };
}

function textMatcher(operator: Operator, literal: string): Matcher {
  const compare = TEXTS[operator];
  const lower = literal.toLowerCase();
  return (value) => {
    const text = typeof value === "string" ? value : partOf(value, "name");
    return typeof text === "string" && compare(text.toLowerCase(), lower);
  };
}

/** A member of an object; null if the value is no object or lacks it. */
export function partOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
  return Reflect.get(value, name) ?? null;
}
