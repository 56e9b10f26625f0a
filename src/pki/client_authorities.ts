import { X509Certificate } from "node:crypto";
import { basename, dirname } from "node:path";
import { AtomicFile, certificateEnd, CertificateEndLog, type Clock, errorText, type Logger } from "../base/mod.ts";
import { AuthoritiesError, IdentityCheck } from "./identity.ts";
import { WatchedContent } from "./watched_content.ts";

/** Options of {@linkcode ClientAuthorities}. */
export interface ClientAuthoritiesOptions {
  /** Path of the certificates, PEM. */
  path: string;
  clock: Clock;
  log: Logger;
}

/** Interval of checking the file. */
const CHECK_INTERVAL_MS = 10_000;
const CERTIFICATE = /-----BEGIN (?:X509 )?CERTIFICATE-----[^-]+-----END (?:X509 )?CERTIFICATE-----/g;

/** Content of a valid file. */
interface Content {
  text: string;
  pem: string;
  check: IdentityCheck;
  /** Latest expiry of the certificates, milliseconds since 1970. */
  expiresMs: number;
}

/**
 * Trusted authorities of client certificates, reloaded when their file changes. An invalid file leaves the old ones in
 * use.
 */
export class ClientAuthorities {
  readonly #watched: WatchedContent<Content>;
  readonly #clock: Clock;
  readonly #ends: CertificateEndLog;

  private constructor(content: Content, { path, clock, log }: ClientAuthoritiesOptions) {
    const file = fileAt(path);
    this.#watched = new WatchedContent(content, {
      read: async (before) => {
        const text = await readText(file);
        return text === before.text ? before : await parse(text);
      },
      intervalMs: CHECK_INTERVAL_MS,
      onReplaced: ({ expiresMs }) =>
        log.info("authorities of clients replaced", { expires: new Date(expiresMs).toISOString() }),
      onRefused: (error) => log.error("authorities of clients refused, the old ones stay", { path: file.path, error }),
      onChecked: () => this.#reportEnd(),
    });
    this.#clock = clock;
    this.#ends = new CertificateEndLog((message, fields) => log.warn(message, fields));
  }

  /**
   * Reads the file.
   *
   * @throws {AuthoritiesError} the file is missing or invalid
   */
  static async open(options: ClientAuthoritiesOptions): Promise<ClientAuthorities> {
    return new ClientAuthorities(await read(options.path), options);
  }

  /** Their certificates, PEM, for a TLS server. */
  get pem(): string {
    return this.#watched.content.pem;
  }

  /** Checks client certificates against these authorities. A new object after each change. */
  get check(): IdentityCheck {
    return this.#watched.content.check;
  }

  /** Calls `onChange` after each change. The first call starts checking the file. Returns the unsubscribe function. */
  follow(onChange: () => void): () => void {
    const unfollow = this.#watched.follow(onChange);
    this.#reportEnd();
    return unfollow;
  }

  /** Checks the file now. Never rejects: an error is logged once and reported by health. */
  async look(): Promise<void> {
    await this.#watched.check();
  }

  /** Latest expiry of the authorities, milliseconds since 1970. */
  get endMs(): number {
    return this.#watched.content.expiresMs;
  }

  #reportEnd(): void {
    this.#ends.check("client_ca", { endMs: this.endMs, nowMs: this.#clock.wallUs() / 1000 });
  }

  /** Degraded if the file is invalid, or if the last authority expires soon or has expired. */
  health(): { status: "ok" | "degraded"; message?: string } {
    const { fault } = this.#watched;
    if (fault !== undefined) return { status: "degraded", message: `${fault}; the old ones stay` };
    const end = { endMs: this.endMs, nowMs: this.#clock.wallUs() / 1000 };
    const message = certificateEnd("the last authority of clients", end);
    return message === undefined ? { status: "ok" } : { status: "degraded", message };
  }

  /** Stops checking the file. */
  stop(): void {
    this.#watched.stop();
  }
}

/**
 * Reads and checks a file of authorities as a cloud does at its start. @returns their certificates, PEM
 *
 * @throws {AuthoritiesError} the file is missing or invalid
 */
export async function readClientAuthorities(path: string): Promise<string> {
  return (await read(path)).pem;
}

async function read(path: string): Promise<Content> {
  try {
    return await parse(await readText(fileAt(path)));
  } catch (error) {
    throw new AuthoritiesError(`Cannot use the authorities of clients "${path}": ${errorText(error)}`);
  }
}

async function parse(text: string): Promise<Content> {
  const check = await IdentityCheck.open(text);
  const certificates = [...text.matchAll(CERTIFICATE)].map(([pem]) => new X509Certificate(pem));
  const expiresMs = Math.max(...certificates.map(({ validTo }) => Date.parse(validTo)));
  return { text, check, expiresMs, pem: certificates.map(String).join("") };
}

function fileAt(path: string): AtomicFile {
  return new AtomicFile(dirname(path), { name: basename(path) });
}

async function readText(file: AtomicFile): Promise<string> {
  const bytes = await file.read();
  if (bytes === undefined) throw new AuthoritiesError("there is no such file");
  return new TextDecoder().decode(bytes);
}
