import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { pause } from "./eventually.ts";

/**
 * - `pass`: bytes go through
 * - `hold`: they wait, and go on afterwards: a network that drops everything for a while, as seen by TCP
 * - `swallow`: they are gone, of new connections too, and nobody is told: connections that were there then stay dead
 */
export type ProxyMode = "pass" | "hold" | "swallow";

/** Bytes that may be under way in one direction while they are delayed. */
const MAX_DELAYED_BYTES = 1024 * 1024;

/** A bad network: a TCP proxy on a port of its own, in front of a server on this machine. */
export class TcpProxy implements AsyncDisposable {
  /** Milliseconds that each byte takes longer. */
  delayMs = 0;
  /** Bytes a second in each direction of each connection; 0: as fast as it goes. */
  bytesPerSecond = 0;
  /** Where new connections go. */
  targetPort: number;
  /** Connections that were made so far. */
  connections = 0;
  /** Bytes that were passed on to the server, and to clients. */
  bytesUp = 0;
  bytesDown = 0;
  readonly #server: Server;
  readonly #targetHost: string;
  readonly #pairs = new Set<Pair>();
  #mode: ProxyMode = "pass";
  #modeEnds = Promise.withResolvers<void>();

  private constructor(targetPort: number, targetHost: string) {
    this.targetPort = targetPort;
    this.#targetHost = targetHost;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#accept(client));
  }

  /** Starts one in front of a port, of this machine unless another one is named, where nobody need listen yet. */
  static async start(targetPort: number, { hostname = "127.0.0.1" } = {}): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort, hostname);
    await new Promise<void>((resolve) => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  /** Where clients connect to. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Connections that are open. */
  get open(): number {
    return this.#pairs.size;
  }

  /** What becomes of bytes from now on. */
  get mode(): ProxyMode {
    return this.#mode;
  }

  set mode(mode: ProxyMode) {
    this.#mode = mode;
    if (mode === "swallow") { for (const pair of this.#pairs) pair.isDead = true; }
    this.#modeEnds.resolve();
    this.#modeEnds = Promise.withResolvers();
  }

  /** Ends all connections, as by somebody who hangs up (FIN) or whose machine has restarted (RST). */
  cut(how: "fin" | "rst"): void {
    for (const { client, server } of this.#pairs) {
      for (const socket of [client, server]) {
        if (how === "rst") socket.resetAndDestroy();
        else socket.destroy();
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.mode = "pass";
    const pairs = [...this.#pairs];
    this.cut("fin");
    await Promise.all(pairs.map(({ done }) => done));
    await closed;
  }

  #accept(client: Socket): void {
    this.connections++;
    const server = connect({ host: this.#targetHost, port: this.targetPort, allowHalfOpen: true, noDelay: true });
    const [up, down] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const done = Promise.all([up.promise, down.promise]).then(() => {});
    const pair: Pair = { client, server, isDead: this.#mode === "swallow", done };
    this.#pairs.add(pair);
    void done.then(() => this.#pairs.delete(pair));
    this.#carry(pair, { from: client, to: server, ended: up.resolve, count: (bytes) => this.bytesUp += bytes });
    this.#carry(pair, { from: server, to: client, ended: down.resolve, count: (bytes) => this.bytesDown += bytes });
  }

  /** Carries bytes one way, in order, until `from` is closed. */
  #carry(pair: Pair, { from, to, ended, count }: {
    from: Socket;
    to: Socket;
    ended: () => void;
    count: (bytes: number) => void;
  }): void {
    let work = Promise.resolve();
    let delayed = 0;
    const inOrder = (next: () => Promise<void> | void) => {
      work = work.then(next);
      return work;
    };
    from.on("data", (bytes: Uint8Array) => {
      if (pair.isDead) return;
      const dueMs = performance.now() + this.delayMs;
      delayed += bytes.length;
      const isPipelined = this.delayMs > 0 && this.bytesPerSecond === 0 && delayed < MAX_DELAYED_BYTES;
      if (!isPipelined) from.pause();
      void inOrder(async () => {
        if (this.bytesPerSecond > 0) await pause(bytes.length / this.bytesPerSecond * 1000);
        for (let leftMs = dueMs - performance.now(); leftMs > 0; leftMs = dueMs - performance.now()) {
          await pause(leftMs);
        }
        await this.#whileHeld(pair);
        delayed -= bytes.length;
        if (pair.isDead || to.destroyed) return;
        count(bytes.length);
        await new Promise<void>((resolve) => void to.write(bytes, () => resolve()));
      }).then(() => from.resume());
    });
    from.on("end", () => void inOrder(() => this.#pass(pair, () => to.end())));
    let isReset = false;
    from.on("error", () => isReset = true);
    from.on("close", () => {
      void inOrder(() => this.#pass(pair, () => isReset ? to.resetAndDestroy() : to.end())).then(ended);
    });
  }

  /** Passes an end on, when bytes may pass. */
  async #pass(pair: Pair, end: () => void): Promise<void> {
    await this.#whileHeld(pair);
    if (!pair.isDead) end();
  }

  async #whileHeld(pair: Pair): Promise<void> {
    while (this.#mode === "hold" && !pair.isDead) await this.#modeEnds.promise;
  }
}

/** A client's connection and ours to the server. */
interface Pair {
  client: Socket;
  server: Socket;
  /** Nothing will come through any more. */
  isDead: boolean;
  /** Both are closed. */
  done: Promise<void>;
}
