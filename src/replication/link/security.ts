import { X509Certificate } from "node:crypto";
import { certificateEnd, CertificateEndLog, type Clock, errorText, type Logger } from "../../base/mod.ts";
import { checkSecurity, type ClientSecurity } from "../grpc/client.ts";

/** Where a boat's certificates are, PEM. */
export interface LinkTlsPaths {
  /** Our certificate, whose common name is the instance id. */
  certPath: string;
  /** Its key, not encrypted. */
  keyPath: string;
  /** Authorities that the cloud's certificate may come from; left out: those that everybody knows. */
  caPath?: string | undefined;
}

/** A boat's certificates, as fresh as their files. Files that cannot be used leave the last good ones in use. */
export class LinkSecurity {
  readonly #paths: LinkTlsPaths | undefined;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #ends: CertificateEndLog;
  #endMs: number | undefined;
  #good: ClientSecurity | undefined;
  #fault: string | undefined;

  /** @param paths none: no certificates, for this machine alone */
  constructor(paths: LinkTlsPaths | undefined, { clock, log }: { clock: Clock; log: Logger }) {
    this.#paths = paths;
    this.#clock = clock;
    this.#log = log;
    this.#ends = new CertificateEndLog((message, fields) => log.warn(message, fields));
    if (paths === undefined) this.#good = { kind: "insecure" };
  }

  /** Why the files cannot be used as they are now; undefined when they can. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** When our certificate ends, milliseconds since 1970; undefined while there is none. */
  get endMs(): number | undefined {
    return this.#endMs;
  }

  /** Degraded when our certificate ends soon or has ended. */
  health(): { status: "ok" } | { status: "degraded"; message: string } {
    const [endMs, nowMs] = [this.#endMs, this.#clock.wallUs() / 1000];
    const message = endMs === undefined ? undefined : certificateEnd("the replication certificate", { endMs, nowMs });
    return message === undefined ? { status: "ok" } : { status: "degraded", message };
  }

  /**
   * Reads the files.
   *
   * @throws {Error} they cannot be used, and never could
   */
  async read(): Promise<ClientSecurity> {
    await this.check();
    if (this.#good === undefined) throw new Error(this.#fault);
    return this.#good;
  }

  /**
   * Looks whether the files have changed. Never rejects: what is wrong is logged once, and kept.
   *
   * @returns whether there is a good new set
   */
  async check(): Promise<boolean> {
    if (this.#paths === undefined) return false;
    try {
      const found = await readFiles(this.#paths);
      const isNew = !isSame(found, this.#good);
      if (isNew) checkSecurity(found);
      this.#good = found;
      if (found.kind === "tls") this.#reportEnd(found.cert);
      this.#fault = undefined;
      return isNew;
    } catch (error) {
      const fault = `the replication certificates cannot be used: ${errorText(error)}`;
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
