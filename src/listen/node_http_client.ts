import type { ClientCa } from "./tls_listener.ts";
import type { TlsSource } from "./tls_files.ts";

/**
 * Client of HTTPS requests to the other nodes of a cloud, with the certificate of this node. Servers are verified by the
 * authorities, besides those that Deno trusts, and by the host name of the URL, but not by the list of revoked
 * certificates.
 */
export class NodeHttpClient {
  readonly #tls: TlsSource;
  readonly #authorities: ClientCa;
  readonly #unfollow: readonly (() => void)[];
  #current: Deno.HttpClient | undefined;

  /** Watches both sources until it is stopped. */
  constructor({ tls, authorities }: { tls: TlsSource; authorities: ClientCa }) {
    this.#tls = tls;
    this.#authorities = authorities;
    const renew = () => this.#close();
    this.#unfollow = [tls.follow(renew), authorities.follow(renew)];
  }

  /**
   * For `fetch` and `WebSocket`. Get it for each request: it is closed when a certificate is replaced. Requests in
   * progress continue.
   */
  get current(): Deno.HttpClient {
    return this.#current ??= create(this.#tls, this.#authorities);
  }

  /** Stops watching the sources. Requests in progress continue. */
  stop(): void {
    for (const unfollow of this.#unfollow) unfollow();
    this.#close();
  }

  #close(): void {
    this.#current?.close();
    this.#current = undefined;
  }
}

function create({ pair }: TlsSource, { pem }: ClientCa): Deno.HttpClient {
  return Deno.createHttpClient({ caCerts: [pem], ...pair && { cert: pair.cert, key: pair.key } });
}
