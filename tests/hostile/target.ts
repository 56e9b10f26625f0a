import { PortAuthority } from "../http/cloud_port.ts";
import { eventually } from "../support/eventually.ts";
import { environment, needs } from "../support/needs.ts";
import { TestProgram } from "../support/program.ts";

/** What attacks need; a limit on open files is set with `prlimit`. */
export const ATTACK = needs({ permissions: ["env", "net", "read", "run", "write"], programs: ["prlimit"] });
/** Attacks in their full size. */
export const IS_FULL = environment("VBG_TEST_FULL") === "1";

/** A server that is attacked: the real program. */
export class Target implements AsyncDisposable {
  readonly #program: TestProgram;
  readonly #client: Deno.HttpClient;
  readonly url: string;
  /** Where boats call; undefined where none do. */
  readonly grpcPort: number | undefined;

  private constructor(
    program: TestProgram,
    { url, ca, grpcPort }: { url: string; ca: string | undefined; grpcPort: number | undefined },
  ) {
    this.#program = program;
    this.#client = Deno.createHttpClient({ ...ca !== undefined && { caCerts: [ca] }, poolMaxIdlePerHost: 0 });
    this.url = url;
    this.grpcPort = grpcPort;
  }

  /** A boat with simulated devices. */
  static async boat(args: string[], options: { openFiles?: number } = {}): Promise<Target> {
    const program = await TestProgram.start(
      "boat",
      (folder) => [
        ...["-demo", "-mdns=false", "-listen", "127.0.0.1:0", "-state-dir", `${folder}/state`],
        ...["-journal-dir", `${folder}/journal`, ...args],
      ],
      {},
      options,
    );
    return new Target(program, { url: await program.url(), ca: undefined, grpcPort: undefined });
  }

  /** A cloud, with one port for all or two. */
  static async cloud(
    mode: "single" | "dual",
    args: string[],
    options: { openFiles?: number } = {},
  ): Promise<Target & { grpcPort: number; ca: string; authority: PortAuthority }> {
    let authority: PortAuthority | undefined;
    const program = await TestProgram.start(
      "cloud",
      async (folder) => {
        authority = await PortAuthority.make(folder, "ca");
        const { cert, key } = await authority.server();
        await Deno.writeTextFile(`${folder}/server.pem`, cert);
        await Deno.writeTextFile(`${folder}/server.key`, key);
        const ports = mode === "single"
          ? ["-listen", "127.0.0.1:0"]
          : ["-grpc-listen", "127.0.0.1:0", "-http-listen", "127.0.0.1:0"];
        const tls = ["-tls-cert", `${folder}/server.pem`, "-tls-key", `${folder}/server.key`];
        return [...ports, ...tls, "-tls-client-ca", `${folder}/ca.pem`, "-data-dir", `${folder}/data`, ...args];
      },
      {},
      options,
    );
    const url = await program.url();
    if (!authority) throw new Error("no authority");
    const line = await eventually("the port of boats", () => /"listening for boats".*?"port":(\d+)/.exec(program.log));
    const grpcPort = Number(line[1]);
    const ca = authority.pem;
    return Object.assign(new Target(program, { url, ca, grpcPort }), { grpcPort, ca, authority });
  }

  /** Where HTTP is answered. */
  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** File descriptors that its process has open. */
  get openFiles(): number {
    return [...Deno.readDirSync(`/proc/${this.#program.pid}/fd`)].length;
  }

  get log(): string {
    return this.#program.log;
  }

  /** Asks on a connection of its own. */
  async get(path: string): Promise<Response> {
    return await fetch(this.url + path, { client: this.#client, headers: { Connection: "close" } });
  }

  /** Whether a new connection is answered. */
  async lives(): Promise<boolean> {
    try {
      const signal = AbortSignal.timeout(5000);
      const reply = await fetch(`${this.url}/livez`, {
        client: this.#client,
        headers: { Connection: "close" },
        signal,
      });
      await reply.body?.cancel();
      return reply.status === 200;
    } catch {
      return false;
    }
  }

  /** A metric's value; 0 while it is not told. */
  async metric(sample: string): Promise<number> {
    const text = await (await this.get("/metrics")).text();
    const line = text.split("\n").find((each) => each.startsWith(`${sample} `));
    return Number(line?.slice(sample.length + 1) ?? 0);
  }

  /** Most memory that it has had so far, MB. */
  async peakMb(): Promise<number> {
    const status = await Deno.readTextFile(`/proc/${this.#program.pid}/status`);
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? NaN) / 1024;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client.close();
    await this.#program[Symbol.asyncDispose]();
  }
}

/** Connections that are held open. */
export class Crowd implements Disposable {
  readonly #connections: Deno.TcpConn[] = [];
  /** Connections that the server has closed. */
  closed = 0;

  /** Opens so many, and says `first` on each. Those that are refused count as closed. */
  async add(port: number, { count, first = "" }: { count: number; first?: string }): Promise<void> {
    for (let opened = 0; opened < count; opened++) {
      try {
        const connection = await Deno.connect({ hostname: "127.0.0.1", port });
        this.#connections.push(connection);
        void this.#watch(connection);
        if (first !== "") await connection.write(new TextEncoder().encode(first));
      } catch {
        this.closed++;
      }
    }
  }

  [Symbol.dispose](): void {
    for (const connection of this.#connections.splice(0)) {
      try {
        connection.close();
      } catch {
        // The server was quicker.
      }
    }
  }

  async #watch(connection: Deno.TcpConn): Promise<void> {
    const buffer = new Uint8Array(4096);
    try {
      while (await connection.read(buffer) !== null);
    } catch (error) {
      if (error instanceof Deno.errors.BadResource || error instanceof Deno.errors.Interrupted) return;
    }
    if (this.#connections.includes(connection)) this.closed++;
  }
}
