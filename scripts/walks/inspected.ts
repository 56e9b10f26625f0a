/** Runs a program with V8's inspector, to find the source files that execute within a time window. */

const START_MS = 60_000;
const POLL_MS = 20;

/** The used part of a script in V8's precise coverage. */
interface ScriptCoverage {
  url: string;
  functions: readonly { ranges: readonly { count: number }[] }[];
}

interface Reply {
  id?: number;
  result?: { result?: readonly ScriptCoverage[] };
  error?: { message: string };
}

/**
 * A program of a checkout in a child process, inspected with the Chrome DevTools Protocol. Code in workers is not
 * included.
 */
export class InspectedProgram implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #root: URL;
  readonly #reading: Promise<void>;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  #socket: WebSocket | undefined;
  #lastId = 0;
  #log = "";

  private constructor(child: Deno.ChildProcess, root: URL) {
    this.#child = child;
    this.#root = root;
    this.#reading = this.#read();
  }

  /** Starts `cli/{name}.ts` of the checkout at `root` and waits until the program listens. */
  static async start(
    name: "boat" | "cloud",
    { root, folder, args }: { root: URL; folder: string; args: readonly string[] },
  ): Promise<InspectedProgram> {
    const file = new URL(`cli/${name}.ts`, root);
    const words = ["run", "-A", "--no-check", "--inspect=127.0.0.1:0", file.href, ...args];
    const child = new Deno.Command(Deno.execPath(), { args: words, cwd: folder, stdout: "null", stderr: "piped" });
    const program = new InspectedProgram(child.spawn(), root);
    try {
      const [, url = ""] = await program.logged(/Debugger listening on (ws:\S+)/);
      await program.logged(/"listening"/);
      await program.#connect(url);
      return program;
    } catch (error) {
      await program[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Waits for log output that matches. */
  async logged(pattern: RegExp): Promise<RegExpExecArray> {
    const endMs = performance.now() + START_MS;
    while (performance.now() < endMs) {
      const match = pattern.exec(this.#log);
      if (match) return match;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`No ${pattern} in the log:\n${this.#log}`);
  }

  /** Paths, relative to the checkout, of the files with a function that ran since the last call. */
  async executed(): Promise<Set<string>> {
    const { result: scripts = [] } = await this.#post("Profiler.takePreciseCoverage");
    const ran = scripts.filter(({ functions }) => functions.some(({ ranges: [whole] }) => (whole?.count ?? 0) > 0));
    const ours = ran.filter(({ url }) => url.startsWith(this.#root.href));
    return new Set(ours.map(({ url }) => url.slice(this.#root.href.length)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket?.close();
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // The program has already ended.
    }
    await this.#child.status;
    await this.#reading;
  }

  async #connect(url: string): Promise<void> {
    const socket = this.#socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = () => reject(new Error(`Cannot connect to ${url}`));
    });
    socket.onmessage = ({ data }) => {
      const reply: Reply = JSON.parse(data);
      if (reply.id !== undefined) this.#waiting.get(reply.id)?.(reply);
    };
    await this.#post("Profiler.enable");
    await this.#post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  }

  async #post(method: string, params = {}): Promise<NonNullable<Reply["result"]>> {
    const id = ++this.#lastId;
    this.#socket?.send(JSON.stringify({ id, method, params }));
    const { result, error } = await new Promise<Reply>((resolve) => this.#waiting.set(id, resolve));
    this.#waiting.delete(id);
    if (result === undefined) throw new Error(`${method}: ${error?.message}`);
    return result;
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) this.#log += text;
  }
}
