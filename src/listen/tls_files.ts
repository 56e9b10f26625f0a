import { certificateEnd, CertificateEndLog, type Clock, errorText, type Logger } from "../base/mod.ts";
import type { ComponentHealth } from "../http/mod.ts";
import { WatchedContent } from "../pki/mod.ts";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

/** A certificate cannot be served. The message says why. */
export class TlsError extends Error {
  /** `TlsError`. */
  override name = "TlsError";
}

/** A certificate and its matching key. */
export interface TlsPair {
  /** PEM: the server's certificate first, then the intermediate certificates. */
  cert: string;
  /** PEM, not encrypted. */
  key: string;
  /** Expiry of the certificate, milliseconds since 1970. */
  expiresMs: number;
}

/** Source of a server's certificate. Its pairs are checked. */
export interface TlsSource {
  /** The newest usable pair; undefined: none yet. */
  readonly pair: TlsPair | undefined;
  /** Calls `use` with the current pair, if any, and with every new one. Returns the unsubscribe function. */
  follow(use: (pair: TlsPair) => void): () => void;
}

/**
 * Checks that certificate and key can be served together: otherwise every handshake would fail.
 *
 * @throws {TlsError} one of them cannot be read, or they do not match
 */
export function checkTlsPair(cert: string, key: string): TlsPair {
  const certificate = orRefuse("the certificate cannot be read", () => new X509Certificate(pem(cert, "CERTIFICATE")));
  const privateKey = orRefuse("the key cannot be read", () => createPrivateKey(pem(key, "PRIVATE KEY")));
  if (!orRefuse("the key cannot be used", () => certificate.checkPrivateKey(privateKey))) {
    throw new TlsError("the key is not the one of the certificate");
  }
  orRefuse("the pair cannot be used", () => createSecureContext({ cert, key }));
  return { cert, key, expiresMs: Date.parse(certificate.validTo) };
}

/** The text, if it has PEM of this kind: what parsers say of other text helps nobody. */
function pem(text: string, label: "CERTIFICATE" | "PRIVATE KEY"): string {
  if (text.includes(`${label}-----`)) return text;
  throw new TlsError(`expected PEM, "-----BEGIN ${label}-----"`);
}

function orRefuse<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new TlsError(`${what}: ${errorText(error)}`);
  }
}

/** Paths of certificate and key, PEM. */
export interface TlsPaths {
  /** Certificate with its chain up to the authority. */
  certPath: string;
  /** Unencrypted key of the certificate. */
  keyPath: string;
}

/** Options of {@linkcode TlsFiles}. */
export interface TlsFilesOptions extends TlsPaths {
  clock: Clock;
  log: Logger;
}

/** Interval of checks of the files. */
const CHECK_INTERVAL_MS = 10_000;

/** A certificate and key that are reloaded when their files change. Unusable files leave the old pair in use. */
export class TlsFiles implements TlsSource {
  readonly #watched: WatchedContent<TlsPair>;
  readonly #clock: Clock;
  readonly #ends: CertificateEndLog;

  private constructor(pair: TlsPair, { certPath, keyPath, clock, log }: TlsFilesOptions) {
    this.#watched = new WatchedContent(pair, {
      read: async (before) => {
        const pair = await readPair({ certPath, keyPath });
        return pair.cert === before.cert && pair.key === before.key ? before : pair;
      },
      intervalMs: CHECK_INTERVAL_MS,
      onReplaced: ({ expiresMs }) => log.info("certificate replaced", { expires: dateOf(expiresMs) }),
      onRefused: (error) => log.error("certificate refused, the old one stays", { error }),
      onChecked: () => this.#reportEnd(),
    });
    this.#clock = clock;
    this.#ends = new CertificateEndLog((message, fields) => log.warn(message, fields));
  }

  /**
   * Reads the files.
   *
   * @throws {TlsError} the files cannot be read or used
   */
  static async open(options: TlsFilesOptions): Promise<TlsFiles> {
    return new TlsFiles(await readPair(options), options);
  }

  /** The newest usable pair. */
  get pair(): TlsPair {
    return this.#watched.content;
  }

  /** Calls `use` with the current pair and with every new one. The first call starts checking the files. */
  follow(use: (pair: TlsPair) => void): () => void {
    use(this.pair);
    const unfollow = this.#watched.follow(() => use(this.pair));
    this.#reportEnd();
    return unfollow;
  }

  /** Checks the files now. Never rejects: an error is logged once and reported by health. */
  async check(): Promise<void> {
    await this.#watched.check();
  }

  /** Expiry of the certificate, milliseconds since 1970. */
  get endMs(): number {
    return this.pair.expiresMs;
  }

  #reportEnd(): void {
    this.#ends.check("tls", { endMs: this.endMs, nowMs: this.#clock.wallUs() / 1000 });
  }

  /** Degraded if the files cannot be used, or if the certificate expires soon or has expired. */
  health(): ComponentHealth {
    const { fault } = this.#watched;
    if (fault !== undefined) {
      return { status: "degraded", message: `${fault}; the old one ends ${dateOf(this.endMs)}` };
    }
    const message = certificateEnd("certificate", { endMs: this.endMs, nowMs: this.#clock.wallUs() / 1000 });
    return message === undefined ? { status: "ok" } : { status: "degraded", message };
  }

  /** Stops checking the files. */
  stop(): void {
    this.#watched.stop();
  }
}

async function readPair({ certPath, keyPath }: TlsPaths): Promise<TlsPair> {
  try {
    return checkTlsPair(await Deno.readTextFile(certPath), await Deno.readTextFile(keyPath));
  } catch (error) {
    const reason = errorText(error);
    throw new TlsError(`Cannot use the certificate "${certPath}" with the key "${keyPath}": ${reason}`);
  }
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString();
}
