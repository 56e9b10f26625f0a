import { X509Certificate } from "node:crypto";
import {
  backoffMs,
  type Clock,
  errorText,
  type ListenAddress,
  type Logger,
  type StallDetector,
} from "../../base/mod.ts";
import { checkTlsPair, type TlsPair, type TlsSource } from "../tls_pair.ts";
import type { ComponentHealth } from "../../http/mod.ts";
import type { Connections } from "../connections.ts";
import type { HelloPeek } from "../tls_listener.ts";
import { AcmeError } from "./error.ts";
import { newAccountKey, orderCertificate } from "./order.ts";
import { AcmeStore } from "./store.ts";
import { AlpnChallenge } from "./alpn_challenge.ts";
import type { AcmeChallenge, ChallengeAnswer } from "./challenge.ts";
import { HttpChallenge } from "./http_challenge.ts";

/** Where Let's Encrypt lists its services. */
export const ACME_DIRECTORY = "https://acme-v02.api.letsencrypt.org/directory";

/** What a certificate is asked for with. */
export interface AcmeOptions {
  domain: string;
  /** Where the authority writes to. To give it is to agree to the authority's terms. */
  email: string;
  /** Folder for account and certificates, `{data-dir}/.acme`. */
  directory: string;
  /** Where the authority lists its services. Default {@linkcode ACME_DIRECTORY}. */
  directoryUrl?: string | undefined;
  /** Who stands behind a private authority's own HTTPS, PEM. Left out: those that everybody knows. */
  ca?: string | undefined;
  /** How to show that the domain is ours. Left out: http-01, and tls-alpn-01 where that does not work. */
  challenge?: AcmeChallenge | undefined;
  /** For http-01, and to send people to HTTPS: the domain's port 80. */
  httpListen: ListenAddress;
  /** Port on which people find HTTPS. Default 443. */
  httpsPort?: number | undefined;
  clock: Clock;
  stall: StallDetector;
  /** Of the plain port, too. */
  connections: Connections;
  log: Logger;
  /** From 0 up to 1, for the time of the next try. Default `Math.random`. */
  random?: () => number;
}

/** How often it is asked whether something is due. */
const LOOK_EVERY_MS = 60_000;
/** Let's Encrypt lets five tries an hour fail. */
const RETRY = { firstMs: 120_000, capMs: 6 * 3_600_000 };
/** Waits are this much longer or shorter, so that servers that failed together do not come back together. */
const JITTER = 0.2;
/** Of a certificate's life is left when it is renewed. */
const RENEW_WITH_LEFT = 1 / 3;

/** Why there is not the certificate that there should be. */
interface Failure {
  reason: string;
  count: number;
  /** Monotonic time of the next try. */
  nextMs: number;
}

/**
 * A certificate that renews itself. Begins with the one that was kept, without asking anybody; until the first one is
 * there, nobody can connect, health says why, and it is tried again for ever.
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
  #underWay: Promise<void> | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #isStopped = false;

  private constructor(options: AcmeOptions) {
    const { domain, directory, directoryUrl = ACME_DIRECTORY, httpListen, httpsPort = 443, stall, connections, log } =
      options;
    this.#options = options;
    this.#directoryUrl = directoryUrl;
    const { protocol, host } = new URL(directoryUrl);
    if (protocol !== "https:") throw new AcmeError(`Cannot use "${directoryUrl}": an authority is asked by https`);
    this.#store = new AcmeStore(`${directory}/${host.replaceAll(":", "_")}`);
    const health = () => this.health();
    this.#http = new HttpChallenge({ domain, address: httpListen, httpsPort, health, stall, connections, log });
    this.#alpn = new AlpnChallenge({ log });
  }

  /**
   * Takes the certificate that was kept, and opens the plain port.
   *
   * @throws {AcmeError} the authority's address is none
   */
  static async open(options: AcmeOptions): Promise<AcmeCertificate> {
    const acme = new AcmeCertificate(options);
    await acme.#recall();
    await acme.#openHttp();
    return acme;
  }

  get pair(): TlsPair | undefined {
    return this.#pair;
  }

  /** Takes authorities' connections; for `listenSingle`. */
  get helloPeek(): HelloPeek {
    return this.#alpn;
  }

  /** Where the plain port really is; undefined when it could not be opened. */
  get httpAddress(): ListenAddress | undefined {
    return this.#http.address;
  }

  /** Calls `use` with the pair, now if there is one, and whenever there is another; gets one, if need be, from now on. */
  follow(use: (pair: TlsPair) => void): () => void {
    this.#users.add(use);
    if (this.#pair) use(this.#pair);
    if (this.#timer === undefined) {
      this.#timer = setInterval(() => void this.check(), LOOK_EVERY_MS);
      void this.check();
    }
    return () => void this.#users.delete(use);
  }

  /** Gets a certificate when it is time. Never rejects: what is wrong is logged, and told by health. */
  async check(): Promise<void> {
    if (this.#underWay === undefined && !this.#isStopped && this.#isDue()) {
      this.#underWay = this.#renew().finally(() => this.#underWay = undefined);
    }
    await this.#underWay;
  }

  /** When the certificate in use ends, milliseconds since 1970; undefined: there is none. */
  get endMs(): number | undefined {
    return this.#pair?.expiresMs;
  }

  /** Unhealthy without a certificate that is good, degraded while it cannot be renewed. */
  health(): ComponentHealth {
    const nowMs = this.#nowMs();
    const isGood = this.#pair !== undefined && this.#pair.expiresMs > nowMs;
    if (isGood && !this.#failure) return { status: "ok" };
    const { domain } = this.#options;
    const state = this.#pair === undefined
      ? `there is no certificate for "${domain}" yet`
      : `the certificate ${isGood ? "ends" : "ended"} ${new Date(this.#pair.expiresMs).toISOString()}`;
    const message = this.#failure ? `${state}; ${this.#failure.reason}` : state;
    return { status: isGood ? "degraded" : "unhealthy", message };
  }

  /** Asks no more, and listens no more. */
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

  /** The certificate that was kept. One that cannot be used is none: it is replaced. */
  async #recall(): Promise<void> {
    const { domain, log } = this.#options;
    try {
      const pair = await this.#store.read(domain);
      if (pair && pair.expiresMs > this.#nowMs()) this.#pair = checkedFor(domain, pair);
    } catch (error) {
      log.error("certificate of before cannot be used", { domain, error: errorText(error) });
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
      log.error("no certificate received", { error: errorText(error), nextTryS: Math.round(waitMs / 1000) });
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
      // It serves all the same, until the next start.
      log.error("certificate is not kept", { error: errorText(error) });
    });
    return pair;
  }

  /** What was asked for; else the two in turn, as long as the first is to be had at all. */
  async #chooseAnswer(): Promise<ChallengeAnswer> {
    const { challenge } = this.#options;
    if (challenge !== undefined) return challenge === "http-01" ? this.#http : this.#alpn;
    const failed = this.#failure?.count ?? 0;
    return await this.#openHttp() && failed % 2 === 0 ? this.#http : this.#alpn;
  }

  /** Opens the plain port, if it can be had. */
  async #openHttp(): Promise<boolean> {
    try {
      await this.#http.open();
      return true;
    } catch (error) {
      this.#options.log.warn("nobody is sent from HTTP to HTTPS", { error: errorText(error) });
      return false;
    }
  }
}

/** When a certificate is to be renewed, milliseconds since 1970. */
function renewAtMs({ cert, expiresMs }: TlsPair): number {
  const beginsMs = Date.parse(new X509Certificate(cert).validFrom);
  return expiresMs - (expiresMs - beginsMs) * RENEW_WITH_LEFT;
}

/** @throws {AcmeError} it is another domain's */
function checkedFor(domain: string, pair: TlsPair): TlsPair {
  if (new X509Certificate(pair.cert).checkHost(domain) !== undefined) return pair;
  throw new AcmeError(`the certificate is not for "${domain}"`);
}
