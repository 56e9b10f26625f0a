/** Part of an expression: offsets of its first character and of the one behind its last, in UTF-16 units. */
export interface Span {
  start: number;
  end: number;
}

/** So much of a long expression is shown on each side of the mistake, in characters. */
const SHOWN_CHARACTERS = 60;

/**
 * A `--where` expression cannot be understood. The message has three lines: what is wrong and what was expected, the
 * expression, and a caret under the mistake.
 */
export class WhereError extends RangeError {
  override name = "WhereError";
  /** Where the mistake begins, in characters, from 1. */
  readonly column: number;

  constructor(what: string, { source, span }: { source: string; span: Span }) {
    const before = Array.from(source.slice(0, span.start));
    const marked = Array.from(source.slice(span.start, span.end)).slice(0, SHOWN_CHARACTERS);
    const behind = Array.from(source.slice(span.end)).slice(0, SHOWN_CHARACTERS);
    const shown = before.slice(-SHOWN_CHARACTERS);
    const line = [...shown, ...marked, ...behind].join("").replace(/\p{Cc}/gu, " ");
    const caret = " ".repeat(shown.length) + "^".repeat(Math.max(1, marked.length));
    super(`Cannot read the expression at column ${before.length + 1}: ${what}\n  ${line}\n  ${caret}`);
    this.column = before.length + 1;
  }
}
