import { X509Certificate } from "node:crypto";
import { basename, dirname } from "node:path";
import { AtomicFile, certificateEnd, CertificateEndLog, type Clock, errorText, type Logger } from "../base/mod.ts";
import { AuthoritiesError, IdentityCheck } from "./identity.ts";

/** Where the certificates of authorities are. */
export interface ClientAuthoritiesOptions {
  /** File of certificates, PEM. */
  path: string;
  clock: Clock;
  log: Logger;
}

/** How often the file is looked at. */
const LOOK_EVERY_MS = 10_000;
const CERTIFICATE = /-----BEGIN (?:X509 )?CERTIFICATE-----[^-]+-----END (?:X509 )?CERTIFICATE-----/g;

/** What is in a file that can be used. */
interface Content {
  text: string;
  pem: string;
  check: IdentityCheck;
  /** When the last one ends, milliseconds since 1970. */
  expiresMs: number;
}

/** Who may sign boats' certificates, kept as fresh as its file. A file that cannot be used leaves the old ones in use. */
export class ClientAuthorities {
  readonly #file: AtomicFile;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #ends: CertificateEndLog;
  readonly #listeners = new Set<() => void>();
  #content: Content;
  #fault: string | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  private constructor(content: Content, { path, clock, log }: ClientAuthoritiesOptions) {
    this.#content = content;
    this.#file = fileAt(path);
    this.#clock = clock;
    this.#log = log;
    this.#ends = new CertificateEndLog((message, fields) => log.warn(message, fields));
  }

  /**
   * Reads the file.
   *
   * @throws {AuthoritiesError} there is none, or it cannot be used
   */
  static async open(options: ClientAuthoritiesOptions): Promise<ClientAuthorities> {
    return new ClientAuthorities(await read(options.path), options);
  }

  /** Their certificates, PEM, as a TLS server names them to clients. */
  get pem(): string {
    return this.#content.pem;
  }

  /** Says who they stand behind. Another one after each change. */
  get check(): IdentityCheck {
    return this.#content.check;
  }

  /** Calls `onChange` whenever there are others; looks for them from now on. Answers how to call it no more. */
  follow(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    this.#timer ??= setInterval(() => void this.look(), LOOK_EVERY_MS);
    this.#reportEnd();
    return () => void this.#listeners.delete(onChange);
  }

  /** Looks at the file now. Never rejects: what is wrong is logged once, and told by health. */
  async look(): Promise<void> {
    try {
      const text = await readText(this.#file);
      if (text !== this.#content.text) this.#use(await parse(text));
      this.#fault = undefined;
    } catch (error) {
      const fault = errorText(error);
      if (fault !== this.#fault) {
        this.#log.error("authorities of clients refused, the old ones stay", { path: this.#file.path, error: fault });
      }
      this.#fault = fault;
    }
    this.#reportEnd();
  }

  /** When the last of them ends, milliseconds since 1970. */
  get endMs(): number {
    return this.#content.expiresMs;
  }

  #reportEnd(): void {
    this.#ends.check("client_ca", { endMs: this.endMs, nowMs: this.#clock.wallUs() / 1000 });
  }

  /** Degraded when the file cannot be used, or the last authority ends soon or has ended. */
  health(): { status: "ok" | "degraded"; message?: string } {
    if (this.#fault !== undefined) return { status: "degraded", message: `${this.#fault}; the old ones stay` };
    const end = { endMs: this.endMs, nowMs: this.#clock.wallUs() / 1000 };
    const message = certificateEnd("the last authority of clients", end);
    return message === undefined ? { status: "ok" } : { status: "degraded", message };
  }

  /** Looks no more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #use(content: Content): void {
    this.#content = content;
    this.#log.info("authorities of clients replaced", { expires: new Date(content.expiresMs).toISOString() });
    for (const listener of [...this.#listeners]) listener();
  }
}

/**
 * The certificates of authorities of a file, PEM, judged as a cloud does that starts with it.
 *
 * @throws {AuthoritiesError} there is none, or it cannot be used
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
