import { errorText } from "../base/mod.ts";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

/** A certificate that cannot be served. The message tells why. */
export class TlsError extends Error {
  /** `TlsError`. */
  override name = "TlsError";
}

/** A certificate and its key, known to fit. */
export interface TlsPair {
  /** PEM: the server's own certificate first, then those between it and the authority. */
  cert: string;
  /** PEM, not encrypted. */
  key: string;
  /** When the certificate ends, milliseconds since 1970. */
  expiresMs: number;
}

/** Where a server's certificate comes from. What it hands over was checked. */
export interface TlsSource {
  /** The newest pair that can be used; nothing: there has been none yet. */
  readonly pair: TlsPair | undefined;
  /** Calls `use` with the pair, now if there is one, and whenever there is another. Answers how to call it no more. */
  follow(use: (pair: TlsPair) => void): () => void;
}

/**
 * Checks that a certificate and a key can be served together: a context that is made of others fails in every handshake.
 *
 * @throws {TlsError} one of them cannot be read, or they do not belong together
 */
export function checkTlsPair(cert: string, key: string): TlsPair {
  const certificate = orRefuse("the certificate cannot be read", () => new X509Certificate(cert));
  const privateKey = orRefuse("the key cannot be read", () => createPrivateKey(key));
  if (!orRefuse("the key cannot be used", () => certificate.checkPrivateKey(privateKey))) {
    throw new TlsError("the key is not the one of the certificate");
  }
  orRefuse("the pair cannot be used", () => createSecureContext({ cert, key }));
  return { cert, key, expiresMs: Date.parse(certificate.validTo) };
}

function orRefuse<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new TlsError(`${what}: ${errorText(error)}`);
  }
}
