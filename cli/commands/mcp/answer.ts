import { cut } from "../../program/table.ts";
import { printable } from "../../program/terminal.ts";

/** Maximum size of an answer: a page, since everything goes into the context of a language model. */
export const MAX_ANSWER_BYTES = 4096;
/** Longest line: a message with many fields must not take the whole answer. */
const MAX_LINE_CHARACTERS = 600;

/** The answer of a tool. */
export interface Answer {
  /** What it shows, and of which time. One line. */
  head: string;
  /** A line for each item. */
  items: readonly string[];
  /** How to ask for fewer items; printed if not all fit. */
  narrow: string;
}

const encoder = new TextEncoder();

/** Text of an answer, at most {@linkcode MAX_ANSWER_BYTES}. Control characters are escaped. */
export function answerText({ head, items, narrow }: Answer): string {
  const more = (count: number) => `… and ${count} more: ${narrow}`;
  const lines = [lineOf(head)];
  // The last line has no line break.
  let bytes = bytesOf(lines) - 1;
  for (const [index, item] of items.entries()) {
    const line = lineOf(item);
    const after = items.length - index - 1;
    const needed = bytesOf([line, ...after > 0 ? [more(after)] : []]);
    // The line before has left space for this one.
    if (bytes + needed > MAX_ANSWER_BYTES) return [...lines, more(after + 1)].join("\n");
    bytes += bytesOf([line]);
    lines.push(line);
  }
  return lines.join("\n");
}

function lineOf(text: string): string {
  return cut(printable(text), MAX_LINE_CHARACTERS);
}

/** Size of lines with their line breaks. */
function bytesOf(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + encoder.encode(line).length + 1, 0);
}
