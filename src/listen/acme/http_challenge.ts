import type { ListenAddress, Logger, StallDetector } from "../../base/mod.ts";
import type { ComponentHealth } from "../../http/mod.ts";
import type { Connections } from "../connections.ts";
import { listen, type Listener } from "../listen.ts";
import { AcmeError, type Challenge, type ChallengeAnswer } from "./challenge.ts";

/** RFC 8555 §8.3. */
const PAGES = "/.well-known/acme-challenge/";

/** Options of {@linkcode HttpChallenge}. */
export interface HttpChallengeOptions {
  domain: string;
  /** The address that authorities connect to: port 80 of the domain. */
  address: ListenAddress;
  /** Public port of HTTPS, for redirects. */
  httpsPort: number;
  /** Health of the certificate. Served here because HTTPS does not work without a certificate. */
  health: () => ComponentHealth;
  stall: StallDetector;
  connections: Connections;
  log: Logger;
}

/** The plain port: answers http-01 challenges and `/healthz`, and redirects everything else to HTTPS. */
export class HttpChallenge implements ChallengeAnswer {
  readonly kind = "http-01";
  readonly #options: HttpChallengeOptions;
  readonly #pages = new Map<string, string>();
  #listener: Listener | undefined;
  #opening: Promise<Listener> | undefined;
  #isStopped = false;

  /** Does not listen yet. */
  constructor(options: HttpChallengeOptions) {
    this.#options = options;
  }

  /** Bound address; undefined while it does not listen. */
  get address(): ListenAddress | undefined {
    return this.#listener?.address;
  }

  /**
   * Opens the port if it is not open yet.
   *
   * @throws {ListenError} the port is in use or not permitted
   * @throws {AcmeError} already stopped
   */
  async open(): Promise<void> {
    if (this.#isStopped) throw new AcmeError("the server is stopping");
    if (this.#listener) return;
    const { address, ...parts } = this.#options;
    const handler = (request: Request) => Promise.resolve(this.#answer(request));
    this.#opening ??= listen(address, { ...parts, handler }).finally(() => this.#opening = undefined);
    this.#listener = await this.#opening;
  }

  async show({ token, keyAuthorization }: Challenge): Promise<void> {
    await this.open();
    this.#pages.set(token, keyAuthorization);
  }

  hide(): Promise<void> {
    this.#pages.clear();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#opening?.catch(() => {});
    await this.#listener?.stop();
    this.#listener = undefined;
  }

  #answer({ method, url }: Request): Response {
    const { domain, httpsPort, health } = this.#options;
    const { pathname, search } = new URL(url);
    if (method !== "GET" && method !== "HEAD") return textReply(400, "Use HTTPS\n");
    if (pathname.startsWith(PAGES)) {
      const page = this.#pages.get(pathname.slice(PAGES.length));
      return page === undefined ? textReply(404, "Not found\n") : textReply(200, page);
    }
    if (pathname === "/healthz") {
      const certificate = health();
      // Always 200: a restart of the process would not help.
      return Response.json({ status: certificate.status, components: { certificate } });
    }
    // Not the host that the client names: that would be an open redirect.
    const port = httpsPort === 443 ? "" : `:${httpsPort}`;
    return new Response(null, { status: 302, headers: { Location: `https://${domain}${port}${pathname}${search}` } });
  }
}

function textReply(status: number, text: string): Response {
  return new Response(text, { status, headers: { "Content-Type": "text/plain" } });
}
