import { eventually } from "./eventually.ts";
import { ROOT, taskArgs } from "./task.ts";

/** Longest time for a program to start: an emulated one takes minutes on a busy machine. */
export const START_MS = 600_000;

/** How a program is run. */
export interface ProgramOptions {
  /** Most open files; default the system's limit. */
  openFiles?: number;
  /** The only core that it runs on; default all. */
  core?: number | undefined;
  /** Command that runs Deno; default the Deno that runs the test. */
  runtime?: readonly string[];
  /** Another checkout, with a slash at the end; default this one. */
  root?: string;
}

/** The real program in a process and a folder of its own. */
export class TestProgram implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #folder: string;
  readonly #reading: Promise<void>;
  #log = "";

  private constructor(child: Deno.ChildProcess, folder: string) {
    this.#child = child;
    this.#folder = folder;
    this.#reading = this.#read();
  }

  /** Starts `cli/{name}.ts` as its task of deno.json does; its folder, which is empty, is where it runs. `env` is added to our environment */
  static async start(
    name: "boat" | "cloud" | "demo" | "vbg",
    argsIn: (folder: string) => string[] | Promise<string[]>,
    env: Record<string, string> = {},
    { openFiles, core, runtime = [Deno.execPath()], root = ROOT }: ProgramOptions = {},
  ): Promise<TestProgram> {
    const folder = await Deno.makeTempDir();
    const limit = openFiles === undefined ? [] : ["prlimit", `--nofile=${openFiles}`];
    if (core !== undefined) limit.push("taskset", "--cpu-list", String(core));
    const words = taskArgs(name === "vbg" ? "cli" : name, ...await argsIn(folder))
      .map((word) => word.startsWith(`${ROOT}cli/`) ? word.replace(ROOT, root) : word);
    const [command = "", ...args] = [...limit, ...runtime, ...words];
    const settings = { args, env, cwd: folder, stdout: "null", stderr: "piped" } as const;
    const child = new Deno.Command(command, settings).spawn();
    return new TestProgram(child, folder);
  }

  /** What the program has written on standard error so far. */
  get log(): string {
    return this.#log;
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Its folder, which goes with it. */
  get folder(): string {
    return this.#folder;
  }

  /** Address of the API, once it listens. */
  async url(): Promise<string> {
    let isOver = false;
    void this.exitCode().then(() => isOver = true);
    const [, scheme, port] = await eventually("the log line with the address", () => {
      const told = /"url":"(https?):\/\/[^"]+:(\d+)"/.exec(this.#log);
      if (!told && isOver) throw new Error(`The program has ended:\n${this.#log}`);
      return told;
    }, { deadlineMs: START_MS });
    return `${scheme}://127.0.0.1:${port}`;
  }

  signal(name: Deno.Signal): void {
    this.#child.kill(name);
  }

  async exitCode(): Promise<number> {
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
    await this.exitCode();
    await Deno.remove(this.#folder, { recursive: true });
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) this.#log += text;
  }
}
