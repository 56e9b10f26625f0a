import { connect, createServer, type Server, type Socket } from "node:net";
import { ALL_ADDRESSES, backoffMs, errorText, formatAddress, type ListenAddress, type Logger } from "../base/mod.ts";
import type { Connection, Connections } from "./connections.ts";
import { receiveProxyHeader } from "./proxy_header.ts";

/** The server cannot listen on the configured address. */
export class ListenError extends Error {
  /** `ListenError`. */
  override name = "ListenError";
}

/** Options of {@linkcode openPortListener}. */
export interface PortListenerOptions {
  connections: Connections;
  log: Logger;
  /**
   * Serves a connection. Its errors are handled already: it only closes. The socket of a trusted proxy is paused, and has
   * bytes to be read.
   */
  accept: (socket: Socket, connection: Connection) => void;
}

/** An open TCP port. */
export interface PortListener {
  /** Bound address. */
  readonly address: ListenAddress;
  /** Stops accepting. Connections that are served stay. */
  close: () => void;
}

/** Interval of probes of a port without new connections. */
const CHECK_MS = 2000;
/** Further turns of the event loop in which a probe may be accepted: while the process is held, time proves nothing. */
const LAST_TURNS = 20;
/** Waits after a failed reopen. */
const RETRY = { firstMs: 100, capMs: 5000 };

/**
 * Opens a port and keeps it accepting. When file descriptors run out, the runtime stops accepting permanently without an
 * error (Deno 2.9 `node:net`; `Deno.serve` exits instead). So the server probes a port without connections for some
 * seconds, and reopens it if the probe is not accepted.
 *
 * @throws {ListenError} the port is in use or not permitted
 */
export async function openPortListener(address: ListenAddress, options: PortListenerOptions): Promise<PortListener> {
  const listener = new ProbedListener(address, options);
  await listener.open();
  return listener;
}

class ProbedListener implements PortListener {
  readonly #options: PortListenerOptions;
  #address: ListenAddress;
  #server: Server | undefined;
  /** Connections of trusted proxies that have sent no header yet. */
  readonly #unserved = new Set<Socket>();
  #accepted = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #probe: Socket | undefined;
  #isClosed = false;

  constructor(address: ListenAddress, options: PortListenerOptions) {
    this.#address = address;
    this.#options = options;
  }

  get address(): ListenAddress {
    return this.#address;
  }

  async open(): Promise<void> {
    try {
      const { server, address } = await bind(this.#address, {
        backlog: this.#options.connections.backlog,
        accept: (socket) => this.#accept(socket),
      });
      this.#server = server;
      this.#address = address;
      if (this.#isClosed) return this.close();
    } catch (error) {
      throw listenError(this.#address, error);
    }
    this.#checkLater(this.#accepted);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#probe?.destroy();
    this.#server?.close();
    this.#server = undefined;
    for (const socket of this.#unserved) socket.destroy();
  }

  #accept(socket: Socket): void {
    this.#accepted++;
    socket.on("error", () => socket.destroy());
    if (this.#isClosed) return void socket.destroy();
    const { connections, accept, log } = this.#options;
    const connection = connections.admit(socket);
    if (!connection) return;
    if (!connection.isFromProxy) return accept(socket, connection);
    this.#unserved.add(socket);
    socket.once("close", () => this.#unserved.delete(socket));
    receiveProxyHeader(socket, {
      serve: (client) => {
        this.#unserved.delete(socket);
        if (client) connection.name(client);
        accept(socket, connection);
      },
      refuse: (reason) => {
        log.debug("PROXY header refused", { address: connection.client.hostname, reason });
        connection.refuseHeader();
      },
    });
  }

  #checkLater(accepted: number): void {
    this.#timer = setTimeout(() => this.#check(accepted), CHECK_MS);
  }

  /** Probes the port if nothing was accepted since `accepted`. A full server is not probed: it would evict a client. */
  #check(accepted: number): void {
    const before = this.#accepted;
    if (before !== accepted || this.#options.connections.isFull) return this.#checkLater(before);
    const { hostname, port } = this.#address;
    const host = hostname === ALL_ADDRESSES || hostname === "0.0.0.0" ? "127.0.0.1" : hostname;
    const probe = this.#probe = connect({ host, port });
    // If the probe itself gets no file descriptor, it proves nothing.
    let isConclusive = true;
    probe.on("error", (error: Error) => isConclusive = "code" in error && error.code === "ECONNREFUSED");
    const conclude = (turns: number) => {
      const isMissing = isConclusive && this.#accepted === before;
      if (isMissing && turns > 0) return void (this.#timer = setTimeout(() => conclude(turns - 1)));
      probe.destroy();
      if (isMissing) void this.#reopen();
      else this.#checkLater(this.#accepted);
    };
    this.#timer = setTimeout(() => conclude(LAST_TURNS), CHECK_MS);
  }

  async #reopen(): Promise<void> {
    const { connections, log } = this.#options;
    connections.acceptErrors++;
    log.error("connections not accepted", { port: this.#address.port, action: "listening again" });
    this.#server?.close();
    for (let attempt = 1; !this.#isClosed; attempt++) {
      try {
        return await this.open();
      } catch (error) {
        log.error("listen failed", { error: errorText(error) });
        await new Promise<void>((resolve) => this.#timer = setTimeout(resolve, backoffMs(attempt, RETRY)));
      }
    }
  }
}

/** Binds both address families; only IPv4 if the machine has no IPv6. */
async function bind(
  { hostname, port }: ListenAddress,
  { backlog, accept }: { backlog: number; accept: (socket: Socket) => void },
): Promise<{ server: Server; address: ListenAddress }> {
  const server = createServer({ noDelay: true }, accept);
  const listenOn = (host: string) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen({ host, port, backlog }, () => {
        server.off("error", reject);
        resolve();
      });
    });
  try {
    await listenOn(hostname);
  } catch (error) {
    const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (hostname !== ALL_ADDRESSES || isTaken) throw error;
    await listenOn("0.0.0.0");
  }
  server.on("error", () => {});
  const bound = server.address();
  if (typeof bound !== "object" || bound === null) return { server, address: { hostname, port } };
  return { server, address: { hostname: bound.address, port: bound.port } };
}

/** Wraps the error of a failed listen. */
function listenError(address: ListenAddress, error: unknown): ListenError {
  const isTaken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
  const reason = isTaken ? "the port is taken" : errorText(error);
  return new ListenError(`Cannot listen on ${formatAddress(address)}: ${reason}`);
}
