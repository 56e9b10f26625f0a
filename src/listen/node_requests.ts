import type { ClientRequest } from "node:http";
import { Agent, request } from "node:https";
import { isIP, type Socket } from "node:net";
import type { ClientCa } from "./tls_listener.ts";
import type { TlsSource } from "./tls_files.ts";

/** Longest time in which a connection to another node is made, milliseconds. */
const CONNECT_MS = 3000;

/**
 * HTTPS requests to the other nodes of a cloud, with the certificate of this node. Servers are verified by the authorities
 * and by the host name of the URL, but not by the list of revoked certificates.
 *
 * It uses `node:https` and not `fetch`, which can neither send a Host header nor pass compressed bodies and upgrades
 * through.
 */
export class NodeRequests {
  readonly #tls: TlsSource;
  readonly #authorities: ClientCa;
  readonly #unfollow: readonly (() => void)[];
  /** All open connections, with those that are upgraded, which an agent forgets. */
  readonly #sockets = new Set<Socket>();
  #agent: Agent | undefined;

  /** Watches both sources until it is stopped: a replaced certificate is that of new requests. */
  constructor({ tls, authorities }: { tls: TlsSource; authorities: ClientCa }) {
    this.#tls = tls;
    this.#authorities = authorities;
    const renew = () => this.#renew();
    this.#unfollow = [tls.follow(renew), authorities.follow(renew)];
  }

  /** Opens a request to a node, given by its URL. The caller ends it. */
  open(
    url: string,
    { method, path, headers }: { method: string; path: string; headers: Record<string, string> },
  ): ClientRequest {
    const { hostname, port } = new URL(url);
    const { pair } = this.#tls;
    this.#agent ??= new Agent({
      keepAlive: true,
      ca: this.#authorities.pem,
      ...pair && { cert: pair.cert, key: pair.key },
    });
    const host = hostname.replace(/^\[|\]$/g, "");
    // By default the server is verified by the header Host, which the client of a forwarded request chooses.
    const servername = isIP(host) === 0 ? host : "";
    const options = { agent: this.#agent, host, servername, port: port || 443, method, path, headers };
    const outgoing = request(options);
    const timer = setTimeout(() => outgoing.destroy(new Error(`no connection within ${CONNECT_MS} ms`)), CONNECT_MS);
    const connected = () => clearTimeout(timer);
    outgoing.once("socket", (socket) => {
      this.#keep(socket);
      if (socket.connecting) socket.once("secureConnect", connected);
      else connected();
    });
    return outgoing.once("close", connected).once("response", connected);
  }

  /** Stops watching the sources, and closes all connections. */
  stop(): void {
    for (const unfollow of this.#unfollow) unfollow();
    this.#renew();
    for (const socket of this.#sockets) socket.destroy();
  }

  #keep(socket: Socket): void {
    if (this.#sockets.has(socket)) return;
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  /** Closes idle connections at once and those in use after their request. */
  #renew(): void {
    const agent = this.#agent;
    this.#agent = undefined;
    if (!agent) return;
    agent.maxFreeSockets = 0;
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
  }
}
