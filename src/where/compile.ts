import { type Device, formatName, type Frame, readName } from "../frame/mod.ts";
import { amountMatcher, labelMatcher, type PgnCatalog } from "./fields.ts";
import { type Matcher, matcherOf, partOf } from "./match.ts";
import type { Expression, Literal, Operator, Subject, Value } from "./parse.ts";
import { DEVICE_FIELDS } from "./subjects.ts";

/** Frame fields that expressions use. `decoded` may be a getter: it is read only if the result depends on it. */
export interface WhereFrame extends Pick<Frame, "pgn" | "src" | "dst" | "prio" | "seq" | "bus"> {
  /** Null or undefined if the PGN has no definition. */
  readonly decoded?: { readonly [name: string]: unknown } | null | undefined;
}

/** The device at an address, if known; `bus` as in the frame. */
export type DeviceAt = (bus: string | undefined, src: number) => Partial<Device> | undefined;

/** Whether a frame matches. */
export type Test = (frame: WhereFrame, deviceAt: DeviceAt) => boolean;

/** A test and its cost: 0 reads only the header, 1 also devices, 2 also the decoded payload. */
interface Part {
  test: Test;
  cost: 0 | 1 | 2;
}

/** PGN for comparisons outside the payload: no frame has it. */
const NO_PGN = -1;

/** Compiles an expression into one function. */
export function compileExpression(expression: Expression, catalog: PgnCatalog): Test {
  return partOfExpression(expression, catalog).test;
}

function partOfExpression(expression: Expression, catalog: PgnCatalog): Part {
  switch (expression.kind) {
    case "and":
      return cheapestFirst(expression.terms.map((term) => partOfExpression(term, catalog)), {
        join: (one, other) => (frame, at) => one(frame, at) && other(frame, at),
      });
    case "or":
      return cheapestFirst(expression.terms.map((term) => partOfExpression(term, catalog)), {
        join: (one, other) => (frame, at) => one(frame, at) || other(frame, at),
      });
    case "not": {
      const { test, cost } = partOfExpression(expression.term, catalog);
      return { test: (frame, at) => !test(frame, at), cost };
    }
    case "compare": {
      const { subject, operator, value } = expression;
      return lookup(subject, comparing(subject, { operator, value, catalog }));
    }
    case "in": {
      const { subject, values } = expression;
      const makers = values.map((value) => comparing(subject, { operator: "==", value, catalog }));
      return lookup(subject, (pgn) => {
        const matchers = makers.map((make) => make(pgn));
        return (value) => matchers.some((match) => match(value));
      });
    }
  }
}

/** Cheap terms first: a frame that the header rules out is not decoded. */
function cheapestFirst(parts: readonly Part[], { join }: { join: (one: Test, other: Test) => Test }): Part {
  return parts.toSorted((one, other) => one.cost - other.cost)
    .reduceRight((other, one) => ({ test: join(one.test, other.test), cost: other.cost }));
}

/** A NAME is written as hex, with or without `0x`. */
function literalFor(subject: Subject, literal: Literal): Literal {
  if (subject.kind !== "device" || subject.name !== "name" || typeof literal !== "string") return literal;
  const name = readName(literal);
  return name === undefined ? literal : formatName(name);
}

/** Makes the matcher for a field of a PGN. */
type MakeMatcher = (pgn: number) => Matcher;

/** Units and labels of a field depend on the PGN. */
function comparing(
  subject: Subject,
  { operator, value, catalog }: { operator: Operator; value: Value; catalog: PgnCatalog },
): MakeMatcher {
  const literal = literalFor(subject, value.literal);
  const match = matcherOf(operator, literal);
  if (subject.kind !== "field") return () => match;
  const { path } = subject;
  if (value.unit && typeof literal === "number") {
    const amount = { value: literal, unit: value.unit.text };
    return (pgn) => amountMatcher(operator, { catalog, pgn, path, amount });
  }
  return typeof literal === "string" ? (pgn) => labelMatcher(match, { catalog, pgn, path }) : () => match;
}

function lookup(subject: Subject, make: MakeMatcher): Part {
  const match = make(NO_PGN);
  switch (subject.kind) {
    case "header": {
      const { name } = subject;
      if (name === "pgn") return { test: ({ pgn }) => match(pgn), cost: 0 };
      return { test: (frame) => match(frame[name] ?? null), cost: 0 };
    }
    case "device": {
      const { side, name } = subject;
      const key = DEVICE_FIELDS.get(name)?.key;
      if (key === undefined) throw new Error(`a device has no ${name}`);
      return { test: (frame, deviceAt) => match(deviceAt(frame.bus, frame[side])?.[key] ?? null), cost: 1 };
    }
    case "field": {
      const { path } = subject;
      const matchers = new Map<number, Matcher>();
      const matcherFor = (pgn: number) => {
        const known = matchers.get(pgn);
        if (known) return known;
        const made = make(pgn);
        matchers.set(pgn, made);
        return made;
      };
      return {
        test: ({ pgn, decoded }) => matchesAt(decoded ?? null, { path, from: 0, match: matcherFor(pgn) }),
        cost: 2,
      };
    }
  }
}

/** Whether the value at the end of a path matches; of lists, on the way and at the end, any element. */
function matchesAt(value: unknown, way: { path: readonly string[]; from: number; match: Matcher }): boolean {
  const { path, match } = way;
  for (let from = way.from; from < path.length; from++) {
    if (Array.isArray(value)) return value.some((each) => matchesAt(each, { path, from, match }));
    value = partOf(value, path[from] ?? "");
  }
  return Array.isArray(value)
    ? value.some((each) => matchesAt(each, { path, from: path.length, match }))
    : match(value);
}
