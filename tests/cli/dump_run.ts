import { Interrupted } from "../../cli/program/interrupt.ts";
import { BufferedOutput } from "../../cli/program/terminal.ts";
import { runVbg } from "../../cli/vbg.ts";
import { eventually } from "../support/eventually.ts";

/** How a command is run. */
export interface RunOptions {
  environment?: Record<string, string>;
  /** Whether it writes to a terminal, of so many columns. */
  columns?: number;
  /** The reader goes after so many bytes. */
  closesAfter?: number;
  /** The reader takes nothing before this resolves; called each time. */
  taking?: () => Promise<void>;
}

/** A command of `vbg` in this process, with its output. */
export class CommandRun implements AsyncDisposable {
  /** Its exit code. */
  readonly code: Promise<number>;
  readonly complaints: string[] = [];
  readonly #stopping = new AbortController();
  #text = "";
  #bytes = 0;

  constructor(
    args: readonly string[],
    { environment = {}, columns, closesAfter = Infinity, taking }: RunOptions = {},
  ) {
    const decoder = new TextDecoder();
    const sink = {
      write: async (bytes: Uint8Array) => {
        await taking?.();
        this.#bytes += bytes.length;
        if (this.#bytes > closesAfter) throw new Deno.errors.BrokenPipe("Broken pipe");
        this.#text += decoder.decode(bytes, { stream: true });
        return bytes.length;
      },
    };
    const isTerminal = columns !== undefined;
    this.code = runVbg({
      args,
      environment,
      print: (text) => this.#text += `${text}\n`,
      printError: (text) => this.complaints.push(text),
      output: new BufferedOutput(sink, { isTerminal, hasColor: false, columns: () => columns ?? 80 }),
      errors: new BufferedOutput({ write: (bytes) => Promise.resolve(bytes.length) }, {
        isTerminal: false,
        hasColor: false,
        columns: () => 80,
      }),
      stopping: this.#stopping.signal,
    });
    // Whoever looks at it sees its failure.
    this.code.catch(() => {});
  }

  /** Runs a command to its end. */
  static async end(args: readonly string[], options?: RunOptions) {
    const run = new CommandRun(args, options);
    const code = await run.code;
    return { code, text: run.text, lines: run.lines, complaints: run.complaints.join("\n") };
  }

  /** What it has written. */
  get text(): string {
    return this.#text;
  }

  /** Whole lines that it has written. */
  get lines(): string[] {
    return this.#text.split("\n").slice(0, -1);
  }

  /** Its lines of JSON. */
  get frames(): { seq: number; pgn: number; src: number; data: string; name?: string }[] {
    return this.lines.map((line) => JSON.parse(line));
  }

  /** Waits for so many lines. */
  async written(count: number): Promise<void> {
    await eventually(`${count} lines`, () => this.lines.length >= count);
  }

  /** Waits until it has complained so. */
  async told(words: RegExp): Promise<void> {
    await eventually(`${words} among ${this.complaints}`, () => this.complaints.some((line) => words.test(line)));
  }

  /** Ctrl-C. Gives the exit code. */
  stop(): Promise<number> {
    this.#stopping.abort(new Interrupted("Stopped"));
    return this.code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
