/** A certificate that expires within this time degrades health and is logged, milliseconds. */
export const CERTIFICATE_WARN_MS: number = 30 * 86_400_000;

/** Expiry times by certificate name, milliseconds since 1970. */
export type CertificateEnds = ReadonlyMap<string, number>;

/**
 * Warning for a certificate that has expired or expires within {@linkcode CERTIFICATE_WARN_MS}; undefined for all others.
 *
 * @param what name of the certificate, as the beginning of the sentence
 */
export function certificateEnd(what: string, { endMs, nowMs }: { endMs: number; nowMs: number }): string | undefined {
  if (endMs - nowMs > CERTIFICATE_WARN_MS) return undefined;
  return `${what} ${endMs > nowMs ? "ends" : "ended"} ${new Date(endMs).toISOString()}`;
}

/** Logs each certificate that expires soon, or has expired, once. */
export class CertificateEndLog {
  readonly #warn: (message: string, fields: Record<string, string>) => void;
  readonly #reported = new Map<string, string>();

  /** Creates a log without reports; `warn` writes a warning to the log. */
  constructor(warn: (message: string, fields: Record<string, string>) => void) {
    this.#warn = warn;
  }

  /** Logs a certificate that expires soon, or has expired, unless that has been logged already. */
  check(certificate: string, { endMs, nowMs }: { endMs: number; nowMs: number }): void {
    if (endMs - nowMs > CERTIFICATE_WARN_MS) return void this.#reported.delete(certificate);
    const message = endMs > nowMs ? "certificate ends soon" : "certificate has ended";
    const expires = new Date(endMs).toISOString();
    if (this.#reported.get(certificate) === message + expires) return;
    this.#reported.set(certificate, message + expires);
    this.#warn(message, { certificate, expires });
  }
}
