import { fileURLToPath } from "node:url";
import { type CandumpFrame, parseCandump } from "./candump.ts";
import { eventually } from "./eventually.ts";

/** Sockets that listen to all frames of an interface, one a line. */
const LISTENERS = "/proc/net/can/rcvlist_all";

/** A child process that is ended with the test, and what it has written on standard output. */
export class Child implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  #text = "";
  #lines = 0;

  constructor(program: string, args: string[]) {
    this.#child = new Deno.Command(program, { args, stdin: "null", stdout: "piped", stderr: "null" }).spawn();
    this.#reading = this.#read();
  }

  /** A script of this folder, once it has written a line. */
  static async script(name: string, ...args: string[]): Promise<Child> {
    const path = fileURLToPath(new URL(name, import.meta.url));
    const child = new Child(Deno.execPath(), ["run", "--no-check", "--cached-only", "-A", path, ...args]);
    await eventually(`${name} is ready`, () => child.lines > 0);
    return child;
  }

  /** What it has written, up to the last whole line. */
  get text(): string {
    return this.#text.slice(0, this.#text.lastIndexOf("\n") + 1);
  }

  /** How many lines it has written. */
  get lines(): number {
    return this.#lines;
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) {
      this.#text += text;
      this.#lines += text.split("\n").length - 1;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await this.#child.status;
    await this.#reading;
  }
}

/** `candump` of a bus. */
export class Candump extends Child {
  /** It hears everything from when this resolves, also after the interface has been down. */
  static async of(bus: string): Promise<Candump> {
    const listeners = async () =>
      (await Deno.readTextFile(LISTENERS)).split("\n").filter((line) => line.trim().startsWith(`${bus} `)).length;
    const before = await listeners();
    const dump = new Candump("candump", ["-D", "-L", bus]);
    await eventually("candump listens", async () => await listeners() > before);
    return dump;
  }

  /** What it has heard so far. */
  get frames(): CandumpFrame[] {
    return parseCandump(this.text);
  }
}
