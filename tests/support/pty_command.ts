import { eventually } from "./eventually.ts";
import { OWN_WORDS } from "./own_words.ts";
import { taskArgs } from "./task.ts";

/** How a terminal is made. */
export interface PtyOptions {
  /** Added to our environment. */
  env?: Record<string, string>;
  columns?: number;
  rows?: number;
}

/** Shell words that run `vbg`. */
export function vbgWords(...words: string[]): string {
  return [Deno.execPath(), ...taskArgs("cli", ...words)].map((word) => `'${word}'`).join(" ");
}

/** A shell line that runs on a terminal of its own, made by `script`. Its end ends the terminal. */
export class PtyCommand implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #keys: WritableStreamDefaultWriter<Uint8Array>;
  readonly #reading: Promise<void>;
  #text = "";
  #hasEnded = false;

  constructor(line: string, { env = {}, columns = 80, rows = 24 }: PtyOptions = {}) {
    const sized = `stty cols ${columns} rows ${rows}; ${line}`;
    this.#child = new Deno.Command("script", {
      args: ["-q", "-e", "-f", "-c", sized, "/dev/null"],
      env: { ...OWN_WORDS, SHELL: "/bin/sh", TERM: "xterm", NO_COLOR: "", ...env },
      ...{ stdin: "piped", stdout: "piped", stderr: "null" },
    }).spawn();
    this.#keys = this.#child.stdin.getWriter();
    this.#reading = this.#read();
  }

  /** All that the terminal was sent so far; lines end with CR LF. */
  get text(): string {
    return this.#text;
  }

  /**
   * Waits until the terminal was sent this.
   *
   * @throws {Error} it never was; says what it was sent
   */
  async shows(what: string): Promise<void> {
    try {
      await eventually(`"${what}" on the terminal`, () => this.#text.includes(what) || this.#hasEnded);
    } catch (cause) {
      throw new Error(`The terminal has ${JSON.stringify(this.#text)}`, { cause });
    }
    if (!this.#text.includes(what)) throw new Error(`The line ended without "${what}": ${JSON.stringify(this.#text)}`);
  }

  /** Types. */
  async type(keys: string): Promise<void> {
    await this.#keys.write(new TextEncoder().encode(keys));
  }

  /** Exit code of the line. */
  async code(): Promise<number> {
    const { code } = await this.#child.status;
    await this.#reading;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await this.code();
    await this.#keys.close().catch(() => {});
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) this.#text += text;
    this.#hasEnded = true;
  }
}
