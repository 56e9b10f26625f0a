import { X509Certificate } from "node:crypto";
import {
  backoffMs,
  type Clock,
  errorText,
  type ListenAddress,
  type Logger,
  type StallDetector,
} from "../../base/mod.ts";
import { checkTlsPair, type TlsPair, type TlsSource } from "../tls_files.ts";
import type { ComponentHealth } from "../../http/mod.ts";
import type { Connections } from "../connections.ts";
import type { HelloPeek } from "../tls_listener.ts";
import { newAccountKey, orderCertificate } from "./order.ts";
import { AcmeStore } from "./store.ts";
import { AlpnChallenge } from "./alpn_challenge.ts";
import { type AcmeChallenge, AcmeError, type ChallengeAnswer } from "./challenge.ts";
import { HttpChallenge } from "./http_challenge.ts";

/** ACME directory of Let's Encrypt. */
export const ACME_DIRECTORY = "https://acme-v02.api.letsencrypt.org/directory";

/** Options of {@linkcode AcmeCertificate}. */
export interface AcmeOptions {
  domain: string;
  /** Contact address for the authority. Setting it accepts the authority's terms. */
  email: string;
  /** Folder for account and certificates, `{data-dir}/.acme`. */
  directory: string;
  /** ACME directory of the authority, https. Default {@linkcode ACME_DIRECTORY}. */
  directoryUrl?: string | undefined;
  /** Root certificates for the HTTPS of a private authority, PEM. Default: the public roots. */
  ca?: string | undefined;
  /** Challenge type. Default: http-01, with tls-alpn-01 as the alternative. */
  challenge?: AcmeChallenge | undefined;
  /** Plain port for http-01 and for redirects to HTTPS: the domain's port 80. */
  httpListen: ListenAddress;
  /** Public port of HTTPS. Default 443. */
  httpsPort?: number | undefined;
  clock: Clock;
  stall: StallDetector;
  /** Limits of connections, which the plain port shares. */
  connections: Connections;
  log: Logger;
  /** Random number from 0 to 1 for the jitter of retries. Default `Math.random`. */
  random?: () => number;
}

/** Interval of checks whether renewal is due. */
const CHECK_INTERVAL_MS = 60_000;
/** Let's Encrypt allows five failed attempts an hour. */
const RETRY = { firstMs: 120_000, capMs: 6 * 3_600_000 };
/** Relative jitter of waits, so that servers that failed together do not retry together. */
const JITTER = 0.2;
/** Share of a certificate's lifetime left at renewal. */
const RENEW_WITH_LEFT = 1 / 3;

/** The newest failed attempt. */
interface Failure {
  reason: string;
  count: number;
  /** Monotonic time of the next attempt. */
  nextMs: number;
}

/**
 * A certificate that renews itself by ACME. Starts with the stored certificate, without a request to the authority.
 * Until there is a first certificate, clients cannot connect, health says why, and attempts continue.
 */
export class AcmeCertificate implements TlsSource {
  readonly #options: AcmeOptions;
  readonly #directoryUrl: string;
  readonly #store: AcmeStore;
  readonly #http: HttpChallenge;
  readonly #alpn: AlpnChallenge;
  readonly #users = new Set<(pair: TlsPair) => void>();
  #pair: TlsPair | undefined;
  #failure: Failure | undefined;
  #renewal: Promise<void> | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isStopped = false;

  private constructor(options: AcmeOptions) {
    const { domain, directory, directoryUrl = ACME_DIRECTORY, httpListen, httpsPort = 443, stall, connections, log } =
      options;
    this.#options = options;
    this.#directoryUrl = directoryUrl;
    const { protocol, host } = new URL(directoryUrl);
    if (protocol !== "https:") throw new AcmeError(`Cannot use "${directoryUrl}": expected an https URL`);
    this.#store = new AcmeStore(`${directory}/${host.replaceAll(":", "_")}`);
    const health = () => this.health();
    this.#http = new HttpChallenge({ domain, address: httpListen, httpsPort, health, stall, connections, log });
    this.#alpn = new AlpnChallenge({ log });
  }

  /**
   * Loads the stored certificate and opens the plain port.
   *
   * @throws {AcmeError} the directory URL is not https
   */
  static async open(options: AcmeOptions): Promise<AcmeCertificate> {
    const acme = new AcmeCertificate(options);
    await acme.#load();
    await acme.#openHttp();
    return acme;
  }

  get pair(): TlsPair | undefined {
    return this.#pair;
  }

  /** Receives the authority's connections; for `listenSingle`. */
  get helloPeek(): HelloPeek {
    return this.#alpn;
  }

  /** Bound address of the plain port; undefined if it could not be opened. */
  get httpAddress(): ListenAddress | undefined {
    return this.#http.address;
  }

  /** Calls `use` with the current pair, if any, and with every new one. The first call starts renewal. */
  follow(use: (pair: TlsPair) => void): () => void {
    this.#users.add(use);
    if (this.#pair) use(this.#pair);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => void this.check(), CHECK_INTERVAL_MS);
      void this.check();
    }
    return () => void this.#users.delete(use);
  }

  /** Renews the certificate if due. Never rejects: failures are logged and reported by health. */
  async check(): Promise<void> {
    if (this.#renewal === undefined && !this.#isStopped && this.#isDue()) {
      this.#renewal = this.#renew().finally(() => this.#renewal = undefined);
    }
    await this.#renewal;
  }

  /** Expiry of the certificate, milliseconds since 1970; undefined: there is none. */
  get endMs(): number | undefined {
    return this.#pair?.expiresMs;
  }

  /** Unhealthy without a valid certificate, degraded while renewal fails. */
  health(): ComponentHealth {
    const nowMs = this.#nowMs();
    const isValid = this.#pair !== undefined && this.#pair.expiresMs > nowMs;
    if (isValid && !this.#failure) return { status: "ok" };
    const { domain } = this.#options;
    const state = this.#pair === undefined
      ? `there is no certificate for "${domain}" yet`
      : `the certificate ${isValid ? "expires" : "expired"} ${new Date(this.#pair.expiresMs).toISOString()}`;
    const message = this.#failure ? `${state}; ${this.#failure.reason}` : state;
    return { status: isValid ? "degraded" : "unhealthy", message };
  }

  /** Stops renewal and closes the plain port. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    this.#users.clear();
    await Promise.all([this.#http.stop(), this.#alpn.stop()]);
  }

  #nowMs(): number {
    return this.#options.clock.wallUs() / 1000;
  }

  #isDue(): boolean {
    if (this.#failure && this.#options.clock.monoMs() < this.#failure.nextMs) return false;
    return this.#pair === undefined || this.#nowMs() >= renewAtMs(this.#pair);
  }

  /** Loads the stored certificate. An unusable one is ignored, and so replaced. */
  async #load(): Promise<void> {
    const { domain, log } = this.#options;
    try {
      const pair = await this.#store.read(domain);
      if (pair && pair.expiresMs > this.#nowMs()) this.#pair = checkedFor(domain, pair);
    } catch (error) {
      log.error("stored certificate unusable", { domain, error: errorText(error) });
    }
  }

  async #renew(): Promise<void> {
    const { domain, log, clock, random = Math.random } = this.#options;
    try {
      const pair = await this.#order();
      this.#failure = undefined;
      this.#pair = pair;
      for (const use of this.#users) use(pair);
      log.info("certificate received", { domain, expires: new Date(pair.expiresMs).toISOString() });
    } catch (error) {
      if (this.#isStopped) return;
      const count = (this.#failure?.count ?? 0) + 1;
      const waitMs = backoffMs(count, RETRY) * (1 + JITTER * (2 * random() - 1));
      this.#failure = { count, reason: errorText(error), nextMs: clock.monoMs() + waitMs };
      log.error("certificate order failed", { error: errorText(error), nextTryS: Math.round(waitMs / 1000) });
    }
  }

  async #order(): Promise<TlsPair> {
    const { domain, email, ca, log } = this.#options;
    const accountKey = await this.#store.accountKey(newAccountKey);
    const answer = await this.#chooseAnswer();
    const order = { domain, email, ca, accountKey, answer, directoryUrl: this.#directoryUrl };
    const { cert, key } = await orderCertificate(order);
    const pair = checkedFor(domain, checkTlsPair(cert, key));
    await this.#store.write(domain, pair).catch((error: unknown) => {
      // It is served nevertheless, until the next start.
      log.error("certificate write failed", { error: errorText(error) });
    });
    return pair;
  }

  /** The configured challenge; else both in turn if the plain port is open. */
  async #chooseAnswer(): Promise<ChallengeAnswer> {
    const { challenge } = this.#options;
    if (challenge !== undefined) return challenge === "http-01" ? this.#http : this.#alpn;
    const failed = this.#failure?.count ?? 0;
    return await this.#openHttp() && failed % 2 === 0 ? this.#http : this.#alpn;
  }

  /** Opens the plain port. Returns false if that fails. */
  async #openHttp(): Promise<boolean> {
    try {
      await this.#http.open();
      return true;
    } catch (error) {
      this.#options.log.warn("HTTP redirect unavailable", { error: errorText(error) });
      return false;
    }
  }
}

/** Time of renewal, milliseconds since 1970. */
function renewAtMs({ cert, expiresMs }: TlsPair): number {
  const beginsMs = Date.parse(new X509Certificate(cert).validFrom);
  return expiresMs - (expiresMs - beginsMs) * RENEW_WITH_LEFT;
}

/** @throws {AcmeError} the certificate is for another domain */
function checkedFor(domain: string, pair: TlsPair): TlsPair {
  if (new X509Certificate(pair.cert).checkHost(domain) !== undefined) return pair;
  throw new AcmeError(`the certificate is not for "${domain}"`);
}
