import { errorText } from "../base/mod.ts";
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
