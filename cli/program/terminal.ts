import type { Environment } from "../settings/options.ts";
import { processStatusLine, type StatusLine } from "./status_line.ts";

/** An output of a command. */
export interface Output {
  /** True for a terminal. */
  readonly isTerminal: boolean;
  /** Characters of a line; 80 if unknown. */
  readonly columns: number;
  /** Whether it shows colours: a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`. */
  readonly hasColor: boolean;
  /**
   * Buffers text. For a terminal, control characters other than line breaks and colours are escaped, see
   * {@linkcode visible}. It is written after a short delay. If the buffer is full, it is written at once, and the
   * returned promise must be awaited, which limits the memory to two buffers.
   *
   * @throws {OutputClosed} the reader has closed the pipe; also as a rejection
   */
  write(text: string): Promise<void> | void;
  /** Writes terminal control sequences; must not contain untrusted text. Otherwise as `write`. */
  control(text: string): Promise<void> | void;
  /**
   * Writes bytes after all text, on a terminal as text with escapes. The promise resolves when everything before them is written
   * out: the bytes must not change until that of the next call does. Otherwise as `write`.
   */
  writeBytes(bytes: Uint8Array): Promise<void>;
  /** Draws a line that the next output replaces, such as a progress bar; "" removes it. Only a terminal shows it. */
  status(text: string): void;
  /** Resolves when everything is written. Rejects as `write` throws. */
  flush(): Promise<void>;
}

/** The reader has closed the pipe, as `head` does: the command is done. */
export class OutputClosed extends Error {
  override readonly name = "OutputClosed";
}

/** Standard output or standard error. */
export interface ByteSink {
  write(bytes: Uint8Array): Promise<number>;
}

/** Properties of an output. */
export type OutputForm = Pick<Output, "isTerminal" | "hasColor"> & {
  /** Characters of a line, read on each use because windows are resized. */
  columns: () => number;
  /** Default: status lines are not shown. */
  status?: StatusLine;
};

const DEFAULT_COLUMNS = 80;
/** Buffered characters that are written at once: the capacity of a pipe. */
const FULL_CHARACTERS = 65_536;
/** Longest delay of fewer characters, milliseconds. */
const DELAY_MS = 15;
const ESCAPE = "\u001b[";
const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, blue: 34, magenta: 35, cyan: 36 } as const;
const encoder = new TextEncoder();

/** Styles of text. */
export type Style = keyof typeof CODES;

/** An output that buffers text. */
export class BufferedOutput implements Output {
  readonly isTerminal: boolean;
  readonly hasColor: boolean;
  readonly #columns: () => number;
  readonly #status: StatusLine | undefined;
  readonly #sink: ByteSink;
  readonly #decoder = new TextDecoder();
  #text = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failure: unknown;
  #writing: Promise<void> = Promise.resolve();

  constructor(sink: ByteSink, { isTerminal, hasColor, columns, status }: OutputForm) {
    this.#sink = sink;
    this.isTerminal = isTerminal;
    this.hasColor = hasColor;
    this.#columns = columns;
    this.#status = isTerminal ? status : undefined;
  }

  get columns(): number {
    return this.#columns();
  }

  write(text: string): Promise<void> | void {
    return this.control(this.isTerminal ? visible(text) : text);
  }

  control(text: string): Promise<void> | void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#text += text;
    if (this.#text.length >= FULL_CHARACTERS) return this.#sendFull();
    // The next call reports the error.
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), DELAY_MS);
  }

  async writeBytes(bytes: Uint8Array): Promise<void> {
    if (this.isTerminal) return await this.write(this.#decoder.decode(bytes, { stream: true }));
    if (this.#failure !== undefined) throw this.#failure;
    const before = this.flush();
    this.#writing = this.#send(bytes, before);
    // The next call reports the error.
    this.#writing.catch(() => {});
    await before;
  }

  status(text: string): void {
    this.#status?.show(text);
  }

  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#sendAll();
  }

  /** Writes the buffer; the caller waits only for the write before it and can prepare more text meanwhile. */
  #sendFull(): Promise<void> {
    const before = this.#writing;
    // The next call reports the error.
    this.#sendAll().catch(() => {});
    return before;
  }

  #sendAll(): Promise<void> {
    const text = this.#text;
    this.#text = "";
    return this.#writing = this.#send(encoder.encode(text), this.#writing);
  }

  async #send(bytes: Uint8Array, before: Promise<void>): Promise<void> {
    await before;
    if (bytes.length === 0) return;
    this.#status?.clear();
    try {
      let rest = bytes;
      while (rest.length > 0) rest = rest.subarray(await this.#sink.write(rest));
    } catch (error) {
      const isGone = error instanceof Deno.errors.BrokenPipe || error instanceof Deno.errors.ConnectionReset;
      this.#failure = isGone ? new OutputClosed("Nobody reads the output any more", { cause: error }) : error;
      throw this.#failure;
    }
  }
}

/** Standard output and standard error of this process, created on first use. */
const ofProcess: { output?: Output; errors?: Output } = {};

/** This process's standard output: one object, so that a flush writes everything. */
export function processOutput(environment: Environment): Output {
  return ofProcess.output ??= outputOf(Deno.stdout, environment);
}

/** This process's standard error. */
export function processErrors(environment: Environment): Output {
  return ofProcess.errors ??= outputOf(Deno.stderr, environment);
}

/** Flushes this process's outputs. Never rejects, even if a reader has closed its pipe. */
export async function flushProcessOutputs(): Promise<void> {
  await Promise.allSettled([ofProcess.output?.flush(), ofProcess.errors?.flush()]);
}

/** The text in a style if the output shows colours, else unchanged. */
export function paint({ hasColor }: Pick<Output, "hasColor">, style: Style, text: string): string {
  return hasColor ? `${ESCAPE}${CODES[style]}m${text}${ESCAPE}0m` : text;
}

/** Control characters, and the line breaks and colours of {@linkcode paint} that `write` does not escape. */
// deno-lint-ignore no-control-regex -- those are the ones
const CONTROL = /\u001b\[(?:[0-2]|3[1-5])m|\r?\n|\t|[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const HARMLESS = ["\n", "\r\n", "\t"];

/**
 * Escapes control characters in text for a terminal as `\u009b`, which JSON reads as the same character. Line breaks, tabs
 * and our colours stay.
 */
export function visible(text: string): string {
  return text.replace(CONTROL, (found) => found.length > 2 || HARMLESS.includes(found) ? found : escaped(found));
}

/** Prints a line on standard output or standard error, visible where that is a terminal. */
export function printLine(text: string, to: "output" | "errors"): void {
  const [file, print] = to === "output"
    // deno-lint-ignore no-console -- results go to standard output
    ? [Deno.stdout, console.log]
    // deno-lint-ignore no-console -- messages go to standard error
    : [Deno.stderr, console.error];
  if (file.isTerminal()) processStatusLine().clear();
  print(file.isTerminal() ? visible(text) : text);
}

/** Escapes all control characters in untrusted text for a terminal, as `\u001b`. */
export function printable(text: string): string {
  // deno-lint-ignore no-control-regex -- those are the ones
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}

function outputOf(file: typeof Deno.stdout, environment: Environment): Output {
  const isTerminal = file.isTerminal();
  const hasColor = isTerminal && !environment.NO_COLOR && environment.TERM !== "dumb";
  const columns = () => columnsOf(isTerminal, environment);
  return new BufferedOutput(file, { isTerminal, hasColor, columns, status: processStatusLine() });
}

function columnsOf(isTerminal: boolean, { COLUMNS }: Environment): number {
  const given = Number(COLUMNS);
  if (Number.isInteger(given) && given > 0) return given;
  if (!isTerminal) return DEFAULT_COLUMNS;
  try {
    return Deno.consoleSize().columns || DEFAULT_COLUMNS;
  } catch {
    // No terminal reports its size.
    return DEFAULT_COLUMNS;
  }
}
