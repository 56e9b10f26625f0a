/** A certificate cannot be obtained. The message says why. */
export class AcmeError extends Error {
  /** `AcmeError`. */
  override name = "AcmeError";
}

/** Supported challenge types: a page on port 80, or a certificate on port 443. */
export const ACME_CHALLENGES = ["http-01", "tls-alpn-01"] as const;
/** One of {@linkcode ACME_CHALLENGES}. */
export type AcmeChallenge = typeof ACME_CHALLENGES[number];

/** A challenge of the authority. */
export interface Challenge {
  domain: string;
  /** File name of the http-01 page. */
  token: string;
  /** Content of the http-01 page. */
  keyAuthorization: string;
  /** Creates the tls-alpn-01 certificate, PEM. */
  makeCertificate: () => Promise<{ cert: string; key: string }>;
}

/** Publishes the response to a challenge. */
export interface ChallengeAnswer {
  readonly kind: AcmeChallenge;
  /**
   * Resolves when the authority can fetch the response.
   *
   * @throws {AcmeError} the response cannot be published
   */
  show(challenge: Challenge): Promise<void>;
  /** Withdraws the response. */
  hide(): Promise<void>;
}
