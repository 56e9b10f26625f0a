/** A certificate that ends within this time degrades health and is logged, milliseconds. */
export const CERTIFICATE_WARN_MS: number = 30 * 86_400_000;

/** When certificates end, by a name for each, milliseconds since 1970. */
export type CertificateEnds = ReadonlyMap<string, number>;

/**
 * What to say of a certificate that ends within {@linkcode CERTIFICATE_WARN_MS} or has ended; undefined for all others.
 *
 * @param what its name at the beginning of the sentence
 */
export function certificateEnd(what: string, { endMs, nowMs }: { endMs: number; nowMs: number }): string | undefined {
  if (endMs - nowMs > CERTIFICATE_WARN_MS) return undefined;
  return `${what} ${endMs > nowMs ? "ends" : "ended"} ${new Date(endMs).toISOString()}`;
}

/** Reports each certificate that ends soon once. */
export class CertificateEndLog {
  readonly #warn: (message: string, fields: Record<string, string>) => void;
  readonly #reported = new Map<string, number>();

  /** Has reported nothing yet; `warn` writes a line of the log. */
  constructor(warn: (message: string, fields: Record<string, string>) => void) {
    this.#warn = warn;
  }

  /** Writes a line for a certificate that ends soon, unless it has been written for this one. */
  check(certificate: string, { endMs, nowMs }: { endMs: number; nowMs: number }): void {
    if (endMs - nowMs > CERTIFICATE_WARN_MS) return void this.#reported.delete(certificate);
    if (this.#reported.get(certificate) === endMs) return;
    this.#reported.set(certificate, endMs);
    this.#warn("certificate ends soon", { certificate, expires: new Date(endMs).toISOString() });
  }
}
