import { certificateEnd, CertificateEndLog, type Clock, errorText, type Logger } from "../base/mod.ts";
import type { ComponentHealth } from "../http/mod.ts";
import { checkTlsPair, TlsError, type TlsPair, type TlsSource } from "./tls_pair.ts";

/** Where certificate and key are, PEM. */
export interface TlsPaths {
  /** Certificate, and those up to its authority. */
  certPath: string;
  /** Key of the certificate, not encrypted. */
  keyPath: string;
}

/** What a server with a certificate is made of. */
export interface TlsFilesOptions extends TlsPaths {
  clock: Clock;
  log: Logger;
}

/** How often the files are looked at. */
const LOOK_EVERY_MS = 10_000;

/** A certificate and its key, kept as fresh as their files. What cannot be used leaves the old ones in use. */
export class TlsFiles implements TlsSource {
  readonly #paths: TlsPaths;
  readonly #clock: Clock;
  readonly #log: Logger;
  #timer: ReturnType<typeof setInterval> | undefined;
  #pair: TlsPair;
  /** Why the files as they are now cannot be used. */
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
   * @throws {TlsError} they cannot be read or used
   */
  static async open(options: TlsFilesOptions): Promise<TlsFiles> {
    return new TlsFiles(await readPair(options), options);
  }

  /** The newest pair that could be used. */
  get pair(): TlsPair {
    return this.#pair;
  }

  /** Calls `use` with the pair, now and whenever there is another one; looks for it from now on. */
  follow(use: (pair: TlsPair) => void): () => void {
    this.#users.add(use);
    use(this.#pair);
    this.#timer ??= setInterval(() => void this.check(), LOOK_EVERY_MS);
    this.#reportEnd();
    return () => void this.#users.delete(use);
  }

  /** Looks at the files now. Never rejects: what is wrong is logged once, and told by health. */
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

  /** When the certificate in use ends, milliseconds since 1970. */
  get endMs(): number {
    return this.#pair.expiresMs;
  }

  #reportEnd(): void {
    this.#ends.check("tls", { endMs: this.endMs, nowMs: this.#clock.wallUs() / 1000 });
  }

  /** Degraded when the files cannot be used, or the certificate ends soon or has ended. */
  health(): ComponentHealth {
    const { expiresMs } = this.#pair;
    if (this.#fault !== undefined) {
      return { status: "degraded", message: `${this.#fault}; the old one ends ${dateOf(expiresMs)}` };
    }
    const message = certificateEnd("certificate", { endMs: expiresMs, nowMs: this.#clock.wallUs() / 1000 });
    return message === undefined ? { status: "ok" } : { status: "degraded", message };
  }

  /** Looks no more. */
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
