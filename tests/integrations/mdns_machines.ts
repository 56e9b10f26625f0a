import { fileURLToPath } from "node:url";
import { eventually } from "../support/eventually.ts";
import { allowed } from "../support/needs.ts";

const CHILD = fileURLToPath(new URL("./mdns_child.ts", import.meta.url));
/** A message bus that lets everybody do everything. */
const DBUS_CONFIG = (path: string) =>
  `<busconfig><listen>unix:path=${path}</listen><auth>EXTERNAL</auth><policy context="default"><allow own="*"/>` +
  `<allow user="*"/><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/></policy></busconfig>`;

/** Whether network namespaces may be made: as root, where the system has them. */
export async function mayMakeMachines(): Promise<boolean> {
  if (Deno.build.os !== "linux" || !allowed("run") || !allowed("sys") || Deno.uid() !== 0) return false;
  const name = `vbg${Deno.pid}probe`;
  try {
    const args = ["netns", "add", name];
    if (!(await new Deno.Command("ip", { args, stderr: "null" }).output()).success) return false;
    return (await new Deno.Command("ip", { args: ["netns", "del", name], stderr: "null" }).output()).success;
  } catch {
    return false;
  }
}

/** A process on a machine. */
export class Process implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;
  readonly #reading: Promise<void>;
  #input: WritableStream<Uint8Array> | undefined;
  text = "";

  constructor(program: string, args: string[], env: Record<string, string>) {
    const settings = { args, env, stdin: "piped", stdout: "piped", stderr: "null" } as const;
    this.#child = new Deno.Command(program, settings).spawn();
    this.#input = this.#child.stdin;
    this.#reading = this.#read();
  }

  /** The last line that it has written. */
  get last(): string {
    return this.text.trimEnd().split("\n").at(-1) ?? "";
  }

  /** Closes its standard input, and waits until it has ended. */
  async end(): Promise<void> {
    await this.#input?.close().catch(() => {});
    this.#input = undefined;
    await this.#child.status;
    await this.#reading;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#child.kill("SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await this.end();
  }

  async #read(): Promise<void> {
    for await (const text of this.#child.stdout.pipeThrough(new TextDecoderStream())) this.text += text;
  }
}

/** Two machines with a cable between them, each a network namespace: 10.77.0.1 and 10.77.0.2. */
export class Machines implements AsyncDisposable {
  readonly names: readonly [string, string];
  readonly #folder: string;
  readonly #started = new AsyncDisposableStack();

  private constructor(prefix: string, folder: string) {
    this.names = [`${prefix}a`, `${prefix}b`];
    this.#folder = folder;
  }

  static async make(prefix: string): Promise<Machines> {
    const machines = new Machines(`vbg${Deno.pid}${prefix}`, await Deno.makeTempDir({ prefix: "vbg_mdns_" }));
    const [a, b] = machines.names;
    for (const name of machines.names) {
      await run("ip", "netns", "add", name);
      machines.#started.defer(() => run("ip", "netns", "del", name));
    }
    await run("ip", "-n", a, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", b);
    for (const machine of [0, 1] as const) {
      await machines.ip(machine, "link", "set", "lo", "up");
      await machines.ip(machine, "link", "set", "eth0", "up");
    }
    return machines;
  }

  /** The `ip` command, on a machine. */
  async ip(machine: 0 | 1, ...args: string[]): Promise<void> {
    await run("ip", "-n", this.names[machine], ...args);
  }

  /** Gives a machine its address, and with it a way to the other. */
  async connect(machine: 0 | 1): Promise<void> {
    await this.ip(machine, "address", "add", `10.77.0.${machine + 1}/24`, "broadcast", "+", "dev", "eth0");
    await this.ip(machine, "route", "add", "224.0.0.0/4", "dev", "eth0");
  }

  start(machine: 0 | 1, program: string, ...args: string[]): Process {
    const env = { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${this.#folder}/bus` };
    return this.#started.use(new Process("ip", ["netns", "exec", this.names[machine], program, ...args], env));
  }

  /** {@linkcode CHILD} on a machine. */
  child(machine: 0 | 1, ...args: string[]): Process {
    return this.start(machine, Deno.execPath(), "run", "--no-check", "--cached-only", "-A", CHILD, ...args);
  }

  /** Avahi with a message bus of its own. */
  async startAvahi(machine: 0 | 1, hostname: string): Promise<void> {
    const [bus, dbus, avahi] = ["bus", "dbus.conf", "avahi.conf"].map((name) => `${this.#folder}/${name}`);
    await Deno.writeTextFile(dbus!, DBUS_CONFIG(bus!));
    await Deno.writeTextFile(
      avahi!,
      `[server]\nhost-name=${hostname}\nuse-ipv6=no\n[wide-area]\nenable-wide-area=no\n`,
    );
    this.start(machine, "dbus-daemon", "--nofork", `--config-file=${dbus}`);
    await eventually("the message bus", () => Deno.stat(bus!).catch(() => undefined));
    // Its files are in a place that all avahi daemons share, unless each sees another /run.
    const command = `mount -t tmpfs none /run && exec avahi-daemon --no-drop-root --no-chroot --no-rlimits -f ${avahi}`;
    this.start(machine, "unshare", "-m", "sh", "-c", command);
  }

  /** What a program writes that ends by itself. */
  async output(machine: 0 | 1, program: string, ...args: string[]): Promise<string> {
    const process = this.start(machine, program, ...args);
    await process.end();
    return process.text;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#started.disposeAsync();
    await Deno.remove(this.#folder, { recursive: true });
  }
}

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args }).output();
  if (!success) throw new Error(`Cannot run ${program} ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}
