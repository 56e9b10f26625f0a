import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A TCP balancer in front of a port of this machine, which sends a header of the PROXY protocol before the client's bytes. */
export class HeaderBalancer implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts one; every connection has the same header, in one segment with the client's first bytes. */
  static async start(targetPort: number, header: Uint8Array): Promise<HeaderBalancer> {
    const server = createServer({ noDelay: true }, (client) => {
      const target = connect({ port: targetPort, host: "127.0.0.1", noDelay: true });
      client.once("data", (first: Uint8Array) => {
        client.pause();
        target.write(Uint8Array.of(...header, ...first));
        client.pipe(target).pipe(client);
      });
      for (const each of [client, target]) {
        balancer.#sockets.add(each);
        each.on("error", () => {}).on("close", () => {
          client.destroy();
          target.destroy();
          balancer.#sockets.delete(each);
        });
      }
    });
    const balancer = new HeaderBalancer(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return balancer;
  }

  /** Where clients connect to. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
