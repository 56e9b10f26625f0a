/** How many cables this process has made: each has a network of its own. */
let made = 0;

/** Whether this process may make network namespaces. */
export function mayHaveCables(): boolean {
  if (Deno.permissions.querySync({ name: "sys" }).state !== "granted") return false;
  return Deno.build.os === "linux" && Deno.uid() === 0;
}

/**
 * A real cable that can be pulled out: a pair of interfaces, whose far end is in a network namespace. A program there
 * passes connections on to a port of this machine, so everything goes over the cable twice.
 */
export class Cable implements AsyncDisposable {
  /** Where connections come in, at the far end. */
  readonly hostname: string;
  readonly port: number;
  /** Our end's address, where the server behind has to listen. */
  readonly near: string;
  readonly #name: string;
  readonly #interface: string;
  #forwarder: Deno.ChildProcess | undefined;

  private constructor(port: number) {
    const network = `10.79.${(Deno.pid + made) % 250}`;
    this.hostname = `${network}.2`;
    this.near = `${network}.1`;
    this.port = port;
    this.#name = `vbg${Deno.pid}x${made}`;
    this.#interface = `vbg${Deno.pid % 100_000}n${made++ % 100}`;
  }

  /** Lays one, whose far end leads to a port of all our addresses. Only root may. */
  static async lay(port: number): Promise<Cable> {
    const cable = new Cable(port);
    const far = `${cable.#interface}f`;
    await ip("netns", "add", cable.#name);
    await ip("link", "add", cable.#interface, "type", "veth", "peer", "name", far, "netns", cable.#name);
    await ip("address", "add", `${cable.near}/24`, "dev", cable.#interface);
    await ip("link", "set", cable.#interface, "up");
    await ip("-n", cable.#name, "address", "add", `${cable.hostname}/24`, "dev", far);
    await ip("-n", cable.#name, "link", "set", far, "up");
    const forward = [`TCP-LISTEN:${port},fork,reuseaddr`, `TCP:${cable.near}:${port}`];
    const args = ["netns", "exec", cable.#name, "socat", ...forward];
    cable.#forwarder = new Deno.Command("ip", { args, stdout: "null", stderr: "null" }).spawn();
    return cable;
  }

  /** Pulls it out: what is under way is gone, and nobody is told. */
  async pull(): Promise<void> {
    await ip("link", "set", this.#interface, "down");
  }

  /** Puts it in again. */
  async plug(): Promise<void> {
    await ip("link", "set", this.#interface, "up");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#forwarder?.kill("SIGTERM");
    await this.#forwarder?.status;
    await ip("link", "del", this.#interface);
    await ip("netns", "del", this.#name);
  }
}

async function ip(...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command("ip", { args }).output();
  if (!success) throw new Error(`Cannot run ip ${args.join(" ")}: ${new TextDecoder().decode(stderr).trim()}`);
}
