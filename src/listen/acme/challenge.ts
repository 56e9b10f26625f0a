/** Ways to show an authority that a domain is ours: a page on port 80, or a certificate on port 443. */
export const ACME_CHALLENGES = ["http-01", "tls-alpn-01"] as const;
/** One of {@linkcode ACME_CHALLENGES}. */
export type AcmeChallenge = typeof ACME_CHALLENGES[number];

/** What an authority wants to see. */
export interface Challenge {
  domain: string;
  /** Name of the page. */
  token: string;
  /** What is on the page. */
  keyAuthorization: string;
  /** Makes the certificate that has the same in it, PEM. */
  makeCertificate: () => Promise<{ cert: string; key: string }>;
}

/** Shows an authority what it wants to see. */
export interface ChallengeAnswer {
  readonly kind: AcmeChallenge;
  /**
   * Shows it from when this resolves.
   *
   * @throws {AcmeError} it cannot be shown
   */
  show(challenge: Challenge): Promise<void>;
  /** Shows it no more. */
  hide(): Promise<void>;
}
