import { connect, createServer, type Server, type Socket } from "node:net";

/** What a gate does with connections: lets them through, hangs up on them, or says nothing at all. */
export type GateMode = "open" | "shut" | "silent";

/** A way to a port of this machine that can be cut at any moment. */
export class Gate implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #mode: GateMode = "open";
  /** Connections ever made to it. */
  connections = 0;

  private constructor(target: number) {
    this.#server = createServer((socket) => this.#enter(socket, target));
  }

  /** Opens one in front of a port. */
  static async to(target: number): Promise<Gate> {
    const gate = new Gate(target);
    await new Promise<void>((resolve) => gate.#server.listen(0, "127.0.0.1", resolve));
    return gate;
  }

  get url(): string {
    return urlOf(this.#server);
  }

  /** Changes what happens, also to the connections that are there. */
  set mode(mode: GateMode) {
    this.#mode = mode;
    for (const socket of this.#sockets) {
      if (mode === "shut") socket.destroy();
      if (mode === "silent") socket.unpipe().pause();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.mode = "shut";
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #enter(socket: Socket, target: number): void {
    this.connections++;
    this.#keep(socket);
    if (this.#mode === "shut") socket.destroy();
    if (this.#mode !== "open") return;
    const onward = connect({ host: "127.0.0.1", port: target });
    this.#keep(onward);
    socket.pipe(onward).pipe(socket);
    socket.on("close", () => onward.destroy());
    onward.on("close", () => socket.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
  }
}

/** An MQTT broker that welcomes everybody and then says no word. */
export class DeafBroker implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  connections = 0;

  private constructor() {
    this.#server = createServer((socket) => {
      this.connections++;
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.write(Uint8Array.of(...CONNACK));
      socket.resume();
    });
  }

  static async start(): Promise<DeafBroker> {
    const broker = new DeafBroker();
    await new Promise<void>((resolve) => broker.#server.listen(0, "127.0.0.1", resolve));
    return broker;
  }

  get url(): string {
    return urlOf(this.#server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Accepted, no session (MQTT 3.1.1, section 3.2). */
const CONNACK = [0x20, 2, 0, 0];

function urlOf(server: Server): string {
  const address = server.address();
  return `mqtt://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}
