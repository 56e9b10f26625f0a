/** The network between the demo's boat and its cloud: passes TCP connections on until it is cut. */
export class DemoCable {
  readonly #listener: Deno.TcpListener;
  readonly #target: Deno.ConnectOptions;
  readonly #open = new Set<Deno.TcpConn>();
  #isCut = false;

  /** Listens on any free port of this machine. @throws {Error} no port can be opened */
  constructor(target: { hostname: string; port: number }) {
    this.#target = target;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    void this.#accept();
  }

  /** Port that the boat connects to. */
  get port(): number {
    return this.#listener.addr.port;
  }

  /** Ends all connections, and refuses new ones until it is mended. */
  cut(): void {
    this.#isCut = true;
    for (const connection of this.#open) closeQuietly(connection);
    this.#open.clear();
  }

  /** Passes connections on again. */
  mend(): void {
    this.#isCut = false;
  }

  /** Ends all connections, and listens no more. */
  stop(): void {
    this.cut();
    this.#listener.close();
  }

  async #accept(): Promise<void> {
    for await (const near of this.#listener) {
      if (this.#isCut) closeQuietly(near);
      else void this.#pass(near);
    }
  }

  async #pass(near: Deno.TcpConn): Promise<void> {
    this.#open.add(near);
    let far: Deno.TcpConn | undefined;
    try {
      far = await Deno.connect(this.#target);
      this.#open.add(far);
      if (this.#isCut) this.cut();
      await Promise.all([near.readable.pipeTo(far.writable), far.readable.pipeTo(near.writable)]);
    } catch {
      // Both ends see a connection that has ended, as with a real cable.
    } finally {
      for (const connection of [near, far]) {
        if (!connection) continue;
        this.#open.delete(connection);
        closeQuietly(connection);
      }
    }
  }
}

function closeQuietly(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch {
    // Closed already.
  }
}
