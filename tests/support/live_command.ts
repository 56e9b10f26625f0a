import { Interrupted } from "../../cli/program/interrupt.ts";
import type { Output } from "../../cli/program/terminal.ts";
import { runVbg } from "../../cli/vbg.ts";

/** How a command is run. */
export interface LiveCommandOptions {
  /** Whether its outputs are terminals; default: pipes. */
  isTerminal?: boolean;
  /** Characters of a line; default 80. */
  columns?: number;
  environment?: Record<string, string>;
}

/** A command of `vbg` that goes on in this process until it is stopped, and with the test at the latest. */
export class LiveCommand implements AsyncDisposable {
  /** What it has written on standard output, piece by piece. */
  readonly written: string[] = [];
  /** The same on standard error. */
  readonly complained: string[] = [];
  readonly #stopping = new AbortController();
  readonly #keys = new TransformStream<Uint8Array, Uint8Array>();
  readonly #writer = this.#keys.writable.getWriter();
  readonly #code: Promise<number>;

  constructor(
    args: readonly string[],
    { isTerminal = false, columns = 80, environment = {} }: LiveCommandOptions = {},
  ) {
    const sink = (pieces: string[]): Output => ({
      ...{ isTerminal, columns, hasColor: false },
      write: (text) => void pieces.push(text),
      control: (text) => void pieces.push(text),
      writeBytes: (bytes) => Promise.resolve(void pieces.push(new TextDecoder().decode(bytes))),
      status: (text) => void pieces.push(text),
      flush: () => Promise.resolve(),
    });
    this.#code = runVbg({
      ...{ args, environment, stopping: this.#stopping.signal, input: this.#keys.readable },
      print: (text) => void this.written.push(text),
      printError: (text) => void this.complained.push(text),
      output: sink(this.written),
      errors: sink(this.complained),
    });
  }

  /** Presses keys. */
  press(keys: string): void {
    // A command that has ended takes none.
    this.#writer.write(new TextEncoder().encode(keys)).catch(() => {});
  }

  /** Its exit code, when it has ended by itself. */
  get code(): Promise<number> {
    return this.#code;
  }

  /** Ends it as Ctrl-C does. Answers the exit code. */
  async stop(): Promise<number> {
    this.#stopping.abort(new Interrupted("Stopped"));
    return await this.#code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
