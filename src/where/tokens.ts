/** Part of an expression, in UTF-16 units. */
export interface Span {
  /** First offset. */
  start: number;
  /** Offset after the last one. */
  end: number;
}

/** Characters of a long expression that are shown on each side of the mistake. */
const SHOWN_CHARACTERS = 60;

/**
 * A filter expression is wrong. The message has three lines: the mistake and what was expected, the expression,
 * and a caret under the mistake.
 */
export class WhereError extends RangeError {
  /** `WhereError`. */
  override name = "WhereError";
  /** Column where the mistake begins, in characters, from 1. */
  readonly column: number;

  /** @ignore */
  constructor(what: string, { source, span }: { source: string; span: Span }) {
    const before = Array.from(source.slice(0, span.start));
    const marked = Array.from(source.slice(span.start, span.end)).slice(0, SHOWN_CHARACTERS);
    const after = Array.from(source.slice(span.end)).slice(0, SHOWN_CHARACTERS);
    const shown = before.slice(-SHOWN_CHARACTERS);
    const line = [...shown, ...marked, ...after].join("").replace(/\p{Cc}/gu, " ");
    const caret = " ".repeat(shown.length) + "^".repeat(Math.max(1, marked.length));
    super(`Cannot read the expression at column ${before.length + 1}: ${what}\n  ${line}\n  ${caret}`);
    this.column = before.length + 1;
  }
}

/** A token of an expression. */
export type Token =
  & Span
  & (
    | { kind: "path"; names: readonly [string, ...string[]] }
    | { kind: "number"; value: number }
    /** A possible unit: it follows a number. */
    | { kind: "unit"; unit: string }
    | { kind: "text"; value: string }
    | { kind: "word"; word: Word }
    | { kind: "sign"; sign: Sign }
    | { kind: "end" }
  );

/** Keywords, in lower case; case does not matter. */
export type Word = "and" | "or" | "not" | "in" | "contains" | "true" | "false" | "null";
/** Operators and punctuation. */
export type Sign = "==" | "!=" | "<" | "<=" | ">" | ">=" | "&&" | "||" | "!" | "(" | ")" | "[" | "]" | ",";

const WORDS: readonly Word[] = ["and", "or", "not", "in", "contains", "true", "false", "null"];
/** Longer signs before their prefixes. */
const SIGNS: readonly Sign[] = ["==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ","];
/** Operators of other languages, with ours for the hint. */
const HABITS = new Map([["=", "=="], ["&", "&& or the word and"], ["|", "|| or the word or"]]);

const SPACE = /\s*/y;
/** After a dot a name may begin with a digit, as some field names do. */
const PATH = /[A-Za-z_]\w*(?:\.\w+)*/y;
const NUMBER = /-?(?:0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)/y;
/** Characters that must not follow a number. */
const TRAIL = /(?:[\d._]|[xX](?![A-Za-z]))[\w.]*/y;
const UNIT = /[A-Za-z°µ%‰][\w°µ%³/]*(?![\w.])/y;
const TEXT = /(["'])((?:\\[^]|(?!\1)[^\\])*)\1/y;

/** Splits an expression into tokens; the last has the kind `end`. @throws {WhereError} */
export function* tokensOf(source: string): Generator<Token, void> {
  let at = matchAt(SPACE, source, 0)?.[0].length ?? 0;
  let isAfterNumber = false;
  while (at < source.length) {
    const token: Token = (isAfterNumber ? readUnit(source, at) : undefined) ?? readToken(source, at);
    yield token;
    isAfterNumber = token.kind === "number";
    at = token.end + (matchAt(SPACE, source, token.end)?.[0].length ?? 0);
  }
  yield { kind: "end", start: source.length, end: source.length };
}

function matchAt(pattern: RegExp, source: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(source);
}

function readToken(source: string, start: number): Token {
  const path = matchAt(PATH, source, start)?.[0];
  if (path !== undefined) return { ...pathOrWord(path), start, end: start + path.length };
  const number = matchAt(NUMBER, source, start)?.[0];
  if (number !== undefined) return readNumber(source, { start, end: start + number.length });
  const text = matchAt(TEXT, source, start);
  if (text) {
    const value = (text[2] ?? "").replace(/\\([^])/g, "$1");
    return { kind: "text", value, start, end: start + text[0].length };
  }
  const sign = SIGNS.find((each) => source.startsWith(each, start));
  if (sign !== undefined) return { kind: "sign", sign, start, end: start + sign.length };
  const [found = ""] = source.slice(start, start + 2);
  if (found === '"' || found === "'") {
    throw new WhereError("this text has no closing quote", { source, span: { start, end: source.length } });
  }
  const meant = HABITS.get(found);
  const what = meant === undefined ? `nothing here begins with ${JSON.stringify(found)}` : `write ${meant}`;
  throw new WhereError(what, { source, span: { start, end: start + found.length } });
}

function readUnit(source: string, start: number): Token | undefined {
  const unit = matchAt(UNIT, source, start)?.[0];
  if (unit === undefined || WORDS.some((each) => each === unit.toLowerCase())) return undefined;
  return { kind: "unit", unit, start, end: start + unit.length };
}

function pathOrWord(path: string): { kind: "path"; names: [string, ...string[]] } | { kind: "word"; word: Word } {
  const word = WORDS.find((each) => each === path.toLowerCase());
  if (word !== undefined) return { kind: "word", word };
  const [first = "", ...others] = path.split(".");
  return { kind: "path", names: [first, ...others] };
}

function readNumber(source: string, { start, end }: Span): Token {
  const trail = matchAt(TRAIL, source, end)?.[0];
  if (trail !== undefined) {
    const span = { start, end: end + trail.length };
    throw new WhereError("this is no number, such as 1.5, -2e3 or 0x1F", { source, span });
  }
  const digits = source.slice(start, end);
  const value = digits.startsWith("-") ? 0 - Number(digits.slice(1)) : Number(digits);
  if (Number.isFinite(value)) return { kind: "number", value, start, end };
  throw new WhereError("this number is too large", { source, span: { start, end } });
}
