import { nearest } from "../units/mod.ts";
import { DEVICE_FIELDS, type DeviceField, HEADER_FIELDS, type HeaderField } from "./subjects.ts";
import { type Span, type Token, tokensOf, WhereError } from "./tokens.ts";

/** A value that fields are compared with. */
export type Literal = number | string | boolean | null;

/** A literal and its position. */
export interface Value {
  literal: Literal;
  /** Unit of a number; undefined: the unit of the field. */
  unit?: { text: string; span: Span };
  span: Span;
}

/** The part of a frame that is compared. */
export type Subject =
  & { span: Span }
  & (
    | { kind: "header"; name: HeaderField }
    /** A field of the sending or the addressed device. */
    | { kind: "device"; side: "src" | "dst"; name: DeviceField }
    /** A field of the decoded payload: outermost name first. */
    | { kind: "field"; path: readonly [string, ...string[]] }
  );

/** Comparison operators. */
export type Operator = "==" | "!=" | "<" | "<=" | ">" | ">=" | "contains";

/** Syntax tree of an expression. */
export type Expression =
  | { kind: "or" | "and"; terms: readonly Expression[] }
  | { kind: "not"; term: Expression }
  | { kind: "compare"; subject: Subject; operator: Operator; value: Value }
  | { kind: "in"; subject: Subject; values: readonly Value[] };

/** Longest expression, in UTF-16 units. */
export const MAX_WHERE_LENGTH = 10_000;
/** Deepest nesting of parentheses and negations. */
export const MAX_WHERE_DEPTH = 100;

const COMPARISON = "== != < <= > >= in contains";
const OPERATORS: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);
/** Precedence of the binary operators. */
const POWERS = { or: 1, and: 2 } as const;

/** Parses an expression. @throws {WhereError} */
export function parseExpression(source: string): Expression {
  if (source.length > MAX_WHERE_LENGTH) {
    throw new WhereError(`it is longer than ${MAX_WHERE_LENGTH} characters`, {
      source,
      span: { start: MAX_WHERE_LENGTH, end: MAX_WHERE_LENGTH + 1 },
    });
  }
  return new Parser(source).whole();
}

/** Precedence climbing: `or` binds less than `and`, that less than `not`, that less than a comparison. */
class Parser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = [...tokensOf(source)];
  }

  whole(): Expression {
    if (this.#peek().kind === "end") this.#fail("it is empty: expected such as pgn == 127250 and heading > 1.5");
    const expression = this.#binary(POWERS.or);
    if (this.#peek().kind !== "end") this.#unexpected("and, or, or the end");
    return expression;
  }

  #peek(): Token {
    const token = this.#tokens[this.#next];
    if (token === undefined) throw new Error("read past the end of an expression");
    return token;
  }

  /** Consumes the next token if it is this sign or word. */
  #takes(text: string): boolean {
    const token = this.#peek();
    const found = (token.kind === "sign" && token.sign === text) || (token.kind === "word" && token.word === text);
    if (found) this.#next++;
    return found;
  }

  #binary(power: number): Expression {
    let left = this.#unary();
    for (let kind = this.#connective(); kind !== undefined && POWERS[kind] >= power; kind = this.#connective()) {
      const terms = [left];
      while (this.#connective() === kind) {
        this.#next++;
        terms.push(this.#binary(POWERS[kind] + 1));
      }
      left = { kind, terms };
    }
    return left;
  }

  #connective(): "and" | "or" | undefined {
    const token = this.#peek();
    const text = token.kind === "word" ? token.word : token.kind === "sign" ? token.sign : undefined;
    if (text === "and" || text === "&&") return "and";
    return text === "or" || text === "||" ? "or" : undefined;
  }

  #unary(): Expression {
    if (this.#takes("not") || this.#takes("!")) return this.#inside(() => ({ kind: "not", term: this.#unary() }));
    if (!this.#takes("(")) return this.#comparison();
    const inner = this.#inside(() => this.#binary(POWERS.or));
    if (!this.#takes(")")) this.#unexpected("and, or, or a closing )");
    return inner;
  }

  #inside(read: () => Expression): Expression {
    if (++this.#depth > MAX_WHERE_DEPTH) this.#fail(`there are more than ${MAX_WHERE_DEPTH} inside each other`);
    const inner = read();
    this.#depth--;
    return inner;
  }

  #comparison(): Expression {
    const subject = this.#subject();
    if (this.#takes("not")) {
      if (!this.#takes("in")) this.#unexpected("in");
      return { kind: "not", term: { kind: "in", subject, values: this.#list() } };
    }
    if (this.#takes("in")) return { kind: "in", subject, values: this.#list() };
    const operator = this.#operator();
    const span = this.#peek();
    const value = this.#value();
    const orderless = value.literal === null || typeof value.literal === "boolean";
    if (orderless && operator !== "==" && operator !== "!=") {
      this.#fail(`${operator} needs a number or a text: ${value.literal} can be compared with == and !=`, span);
    }
    return { kind: "compare", subject, operator, value };
  }

  #operator(): Operator {
    if (this.#takes("contains")) return "contains";
    const token = this.#peek();
    if (token.kind === "sign" && isOperator(token.sign)) {
      this.#next++;
      return token.sign;
    }
    return this.#unexpected(`a comparison (${COMPARISON})`);
  }

  #subject(): Subject {
    const span = this.#peek();
    if (span.kind !== "path") return this.#unexpected("the name of a field");
    this.#next++;
    const [first, second, ...others] = span.names;
    if (first === "decoded" && second !== undefined) return { kind: "field", path: [second, ...others], span };
    if ((first === "src" || first === "dst") && second !== undefined) {
      const name = second;
      if (isDeviceField(name) && others.length === 0) return { kind: "device", side: first, name, span };
      const known = DEVICE_FIELDS.keys();
      const hint = nearest([second, ...others].join("."), known);
      return this.#fail(`a device has no "${[second, ...others].join(".")}": did you mean ${first}.${hint}`, span);
    }
    if (!isHeaderField(first)) return { kind: "field", path: span.names, span };
    if (second !== undefined) this.#fail(`${first} has no parts`, span);
    return { kind: "header", name: first, span };
  }

  #list(): Value[] {
    if (!this.#takes("[")) this.#unexpected("a list such as [1, 2]");
    const values = [this.#value()];
    while (this.#takes(",")) values.push(this.#value());
    if (!this.#takes("]")) this.#unexpected("a comma or a closing ]");
    return values;
  }

  #value(): Value {
    const token = this.#peek();
    const span = { start: token.start, end: token.end };
    if (token.kind === "number" || token.kind === "text") {
      this.#next++;
      const next = this.#peek();
      if (next.kind !== "unit" || this.#isCompared(this.#next + 1)) return { literal: token.value, span };
      this.#next++;
      return { literal: token.value, unit: { text: next.unit, span: { start: next.start, end: next.end } }, span };
    }
    if (this.#takes("null")) return { literal: null, span };
    if (this.#takes("true")) return { literal: true, span };
    if (this.#takes("false")) return { literal: false, span };
    const quote = token.kind === "path" ? `: put a text in quotes` : "";
    return this.#fail(`expected a number, a text, true, false or null, found ${this.#found()}${quote}`);
  }

  /** Whether the token before this one is a field, so that an "and" is missing. */
  #isCompared(index: number): boolean {
    const token = this.#tokens[index];
    if (token?.kind === "sign") return OPERATORS.has(token.sign);
    return token?.kind === "word" && ["contains", "in", "not"].includes(token.word);
  }

  #found(): string {
    const { kind, start, end } = this.#peek();
    return kind === "end" ? "the end" : this.#source.slice(start, end);
  }

  #unexpected(expected: string): never {
    this.#fail(`expected ${expected}, found ${this.#found()}`);
  }

  #fail(what: string, span: Span = this.#peek()): never {
    throw new WhereError(what, { source: this.#source, span });
  }
}

function isOperator(sign: string): sign is Operator {
  return OPERATORS.has(sign);
}

function isHeaderField(name: string): name is HeaderField {
  return HEADER_FIELDS.has(name);
}

function isDeviceField(name: string): name is DeviceField {
  return DEVICE_FIELDS.has(name);
}
