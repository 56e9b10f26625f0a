import { certificateEnd, CertificateEndLog, type Clock, errorText, type Logger } from "../base/mod.ts";
import type { ComponentHealth } from "../http/mod.ts";
import { checkTlsPair, TlsError, type TlsPair, type TlsSource } from "./tls_pair.ts";

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
  readonly #paths: TlsPaths;
  readonly #clock: Clock;
  readonly #log: Logger;
  #timer: ReturnType<typeof setInterval> | undefined;
  #pair: TlsPair;
  /** Why the current files cannot be used. */
  #fault: string | undefined;
  readonly #ends: CertificateEndLog;
  readonly #users = new Set<(pair: TlsPair) => void>();

  private constructor(pair: TlsPair, { certPath, keyPath, clock, log }: TlsFilesOptions) {
    this.#pair = pair;
    this.#paths = { certPath, keyPath };
    this.#clock = clock;
    this.#log = log;
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
    return this.#pair;
  }

  /** Calls `use` with the current pair and with every new one. The first call starts checking the files. */
  follow(use: (pair: TlsPair) => void): () => void {
    this.#users.add(use);
    use(this.#pair);
    this.#timer ??= setInterval(() => void this.check(), CHECK_INTERVAL_MS);
    this.#reportEnd();
    return () => void this.#users.delete(use);
  }

  /** Checks the files now. Never rejects: an error is logged once and reported by health. */
  async check(): Promise<void> {
    try {
      const pair = await readPair(this.#paths);
      this.#fault = undefined;
      if (pair.cert !== this.#pair.cert || pair.key !== this.#pair.key) {
        this.#pair = pair;
        for (const use of this.#users) use(pair);
        this.#log.info("certificate replaced", { expires: dateOf(pair.expiresMs) });
      }
    } catch (error) {
      const fault = errorText(error);
      if (fault !== this.#fault) this.#log.error("certificate refused, the old one stays", { error: fault });
      this.#fault = fault;
    }
    this.#reportEnd();
  }

  /** Expiry of the certificate, milliseconds since 1970. */
  get endMs(): number {
    return this.#pair.expiresMs;
  }

  #reportEnd(): void {
    this.#ends.check("tls", { endMs: this.endMs, nowMs: this.#clock.wallUs() / 1000 });
  }

  /** Degraded if the files cannot be used, or if the certificate expires soon or has expired. */
  health(): ComponentHealth {
    const { expiresMs } = this.#pair;
    if (this.#fault !== undefined) {
      return { status: "degraded", message: `${this.#fault}; the old one ends ${dateOf(expiresMs)}` };
    }
    const message = certificateEnd("certificate", { endMs: expiresMs, nowMs: this.#clock.wallUs() / 1000 });
    return message === undefined ? { status: "ok" } : { status: "degraded", message };
  }

  /** Stops checking the files. */
  stop(): void {
    clearInterval(this.#timer);
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
