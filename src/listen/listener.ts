import { connect, createServer, type Server, type Socket } from "node:net";
import { ALL_ADDRESSES, backoffMs, errorText, type ListenAddress, type Logger } from "../base/mod.ts";
import type { Connection, Connections } from "./connections.ts";
import { listenError } from "./error.ts";

/** What a port is made of. */
export interface PortListenerOptions {
  connections: Connections;
  log: Logger;
  /** Serves a connection. Its errors are handled: it only closes. */
  take: (socket: Socket, connection: Connection) => void;
}

/** A TCP port. */
export interface PortListener {
  /** Where it really listens. */
  readonly address: ListenAddress;
  /** Accepts no more. Connections stay. */
  close: () => void;
}

/** How often a port without new connections is tried. */
const CHECK_MS = 2000;
/** Wait before listening again, when that has failed. */
const RETRY = { firstMs: 100, capMs: 5000 };

/**
 * Opens a port, and keeps it open. Where file descriptors run out, the runtime stops accepting for good and tells nobody
 * (Deno 2.9: `node:net`; `Deno.serve` ends the process instead). So a port where nothing has come for some seconds is
 * called by the server itself; one that does not answer is closed and opened again.
 *
 * @throws {ListenError} the port is taken or may not be used
 */
export async function openPortListener(address: ListenAddress, options: PortListenerOptions): Promise<PortListener> {
  const door = new KeptDoor(address, options);
  await door.open();
  return door;
}

class KeptDoor implements PortListener {
  readonly #options: PortListenerOptions;
  #address: ListenAddress;
  #server: Server | undefined;
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
        take: (socket) => this.#take(socket),
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
  }

  #take(socket: Socket): void {
    this.#accepted++;
    socket.on("error", () => socket.destroy());
    if (this.#isClosed) return void socket.destroy();
    const connection = this.#options.connections.admit(socket);
    if (connection) this.#options.take(socket, connection);
  }

  #checkLater(accepted: number): void {
    this.#timer = setTimeout(() => this.#check(accepted), CHECK_MS);
  }

  /** Calls the port, if nothing has come since `accepted`. A full server is not called: it would refuse or evict for it. */
  #check(accepted: number): void {
    const before = this.#accepted;
    if (before !== accepted || this.#options.connections.isFull) return this.#checkLater(before);
    const { hostname, port } = this.#address;
    const host = hostname === ALL_ADDRESSES || hostname === "0.0.0.0" ? "127.0.0.1" : hostname;
    const probe = this.#probe = connect({ host, port });
    // Without a descriptor for the call itself nothing is known.
    let isKnown = true;
    probe.on("error", (error: Error) => isKnown = "code" in error && error.code === "ECONNREFUSED");
    this.#timer = setTimeout(() => {
      probe.destroy();
      if (isKnown && this.#accepted === before) void this.#reopen();
      else this.#checkLater(this.#accepted);
    }, CHECK_MS);
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

/** Both families; IPv4 alone where the machine has no IPv6. */
async function bind(
  { hostname, port }: ListenAddress,
  { backlog, take }: { backlog: number; take: (socket: Socket) => void },
): Promise<{ server: Server; address: ListenAddress }> {
  const server = createServer({ noDelay: true }, take);
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
