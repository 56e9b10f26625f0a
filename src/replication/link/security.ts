import { X509Certificate } from "node:crypto";
import { certificateEnd, CertificateEndLog, type Clock, errorText, type Logger } from "../../base/mod.ts";
import { checkSecurity, type ClientSecurity } from "../grpc/client.ts";

/** Paths of the certificate files of a boat, PEM. */
export interface LinkTlsPaths {
  /** The boat's certificate, whose common name is the instance id. */
  certPath: string;
  /** Its private key, not encrypted. */
  keyPath: string;
  /** Trusted authorities for the cloud's certificate; default: the runtime's. */
  caPath?: string | undefined;
}

/** Certificates of a boat, reloaded when their files change. Invalid files leave the previous certificates in use. */
export class LinkSecurity {
  readonly #paths: LinkTlsPaths | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #ends: CertificateEndLog;
  #endMs: number | undefined;
  #current: ClientSecurity | undefined;
  #fault: string | undefined;

  /** @param paths undefined: no certificates, for a cloud on this machine */
  constructor(paths: LinkTlsPaths | undefined, { clock, log }: { clock: Clock; log: Logger }) {
    this.#paths = paths;
    this.#clock = clock;
    this.#log = log;
    this.#ends = new CertificateEndLog((message, fields) => log.warn(message, fields));
    if (paths === undefined) this.#current = { kind: "insecure" };
  }

  /** Why the current files are invalid; undefined if they are valid. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** End of validity of the boat's certificate, milliseconds since 1970; undefined without certificate. */
  get endMs(): number | undefined {
    return this.#endMs;
  }

  /** Degraded if the certificate expires soon or has expired. */
  health(): { status: "ok" } | { status: "degraded"; message: string } {
    const [endMs, nowMs] = [this.#endMs, this.#clock.wallUs() / 1000];
    const message = endMs === undefined ? undefined : certificateEnd("the replication certificate", { endMs, nowMs });
    return message === undefined ? { status: "ok" } : { status: "degraded", message };
  }

  /**
   * Reads the files, and returns the newest valid certificates.
   *
   * @throws {Error} the files are invalid and never were valid
   */
  async read(): Promise<ClientSecurity> {
    await this.check();
    if (this.#current === undefined) throw new Error(this.#fault);
    return this.#current;
  }

  /**
   * Reads the files again. Never rejects: an error is logged once and kept as {@linkcode LinkSecurity.fault}.
   *
   * @returns true if there are new valid certificates
   */
  async check(): Promise<boolean> {
    if (this.#paths === undefined) return false;
    try {
      const found = await readFiles(this.#paths);
      const isNew = !isSame(found, this.#current);
      if (isNew) checkSecurity(found);
      this.#current = found;
      if (found.kind === "tls") this.#reportEnd(found.cert);
      this.#fault = undefined;
      return isNew;
    } catch (error) {
      const fault = `the replication certificates are invalid: ${errorText(error)}`;
      if (fault !== this.#fault) this.#log.error("replication certificates refused", { error: errorText(error) });
      this.#fault = fault;
      return false;
    }
  }

  #reportEnd(cert: string): void {
    const endMs = this.#endMs = Date.parse(new X509Certificate(cert).validTo);
    this.#ends.check("replication", { endMs, nowMs: this.#clock.wallUs() / 1000 });
  }
}

async function readFiles({ certPath, keyPath, caPath }: LinkTlsPaths): Promise<ClientSecurity> {
  const [cert, key] = [await Deno.readTextFile(certPath), await Deno.readTextFile(keyPath)];
  return { kind: "tls", cert, key, ...(caPath !== undefined && { ca: await Deno.readTextFile(caPath) }) };
}

function isSame(a: ClientSecurity, b: ClientSecurity | undefined): boolean {
  return a.kind === "tls" && b?.kind === "tls" && a.cert === b.cert && a.key === b.key && a.ca === b.ca;
}
