import { OWN_WORDS } from "../support/own_words.ts";

const FIXTURE = new URL("./fixture_program.ts", import.meta.url).href;

/** Runs the fixture as a process and follows its log. */
export class Child implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #done: Promise<void>;
  #stderr = "";

  constructor(args: string[], { env = {} }: { env?: Record<string, string> } = {}) {
    this.#process = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", FIXTURE, ...args],
      env: { ...OWN_WORDS, ...env },
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#done = this.#follow();
  }

  get stderr(): string {
    return this.#stderr;
  }

  async until(text: string): Promise<void> {
    while (!this.#stderr.includes(text)) {
      const ended = await Promise.race([this.#process.status, new Promise((resolve) => setTimeout(resolve, 20))]);
      if (ended !== undefined) await this.#done;
      if (ended !== undefined && !this.#stderr.includes(text)) throw new Error(`no "${text}" in: ${this.#stderr}`);
    }
  }

  kill(signal: Deno.Signal): void {
    this.#process.kill(signal);
  }

  async exitCode(): Promise<number> {
    const { code } = await this.#process.status;
    await this.#done;
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch {
      // Ended by itself.
    }
    await this.exitCode();
    await this.#process.stdout.cancel();
  }

  async #follow(): Promise<void> {
    for await (const text of this.#process.stderr.pipeThrough(new TextDecoderStream())) this.#stderr += text;
  }
}
