import { errorText } from "../base/mod.ts";
import { X509Certificate } from "node:crypto";
import { isInstanceId } from "./instance_id.ts";
import { loadX509, type X509Package } from "./certificates_x509.ts";

/** Certificates of authorities that cannot be used. The message says why. */
export class AuthoritiesError extends Error {
  /** `AuthoritiesError`. */
  override name = "AuthoritiesError";
}

/** Why somebody is not let in. */
export type IdentityRefusal =
  /** There is no certificate. */
  | "none"
  /** It cannot be read, or none of our authorities stands behind it. */
  | "untrusted"
  | "not-yet-valid"
  | "expired"
  | "revoked"
  /** It is not made for clients. */
  | "wrong-usage"
  /** Its common name is no instance id. */
  | "no-instance-id"
  /** It is another boat's. */
  | "name-mismatch";

/** Who a peer is, or why that is not believed. */
export type Identity =
  | {
    ok: true;
    instanceId: string;
    /** Of the certificates from its own up to the authority's, hex. */
    serials: readonly string[];
    /** When the first certificate of its chain ends, milliseconds since 1970. */
    expiresMs: number;
  }
  | { ok: false; reason: IdentityRefusal; message: string };

/** What a peer is judged by, besides its certificates. */
export interface IdentityCircumstances {
  /** Milliseconds since 1970. */
  nowMs: number;
  /** Who it says it is; nothing: it has not said so. */
  claimed?: string | undefined;
  /** Whether a certificate is revoked. @param serial hex */
  isRevoked: (serial: string) => boolean;
}

/** The part of what `getPeerCertificate(true)` of node:tls gives that counts; everything else is the peer's word. */
export interface PeerCertificate {
  raw?: Uint8Array | undefined;
  issuerCertificate?: PeerCertificate | undefined;
}

/** Certificates that a peer's chain may have; more are not looked at. */
export const MAX_CHAIN_LENGTH = 5;
/** RFC 5280 §4.2.1.12. */
const ANY_USAGE = "2.5.29.37.0";
/** Extensions whose meaning is respected here: key usage, alternative names, basic constraints, extended key usage. */
const KNOWN_EXTENSIONS = ["2.5.29.15", "2.5.29.17", "2.5.29.19", "2.5.29.37"];

/** A certificate in the forms of both readers: one checks signatures, the other knows all fields. */
interface Certificate {
  native: X509Certificate;
  parsed: InstanceType<X509Package["X509Certificate"]>;
}

type Refused = Extract<Identity, { ok: false }>;

/** Says who peers are, by the certificates of authorities that are trusted and by nothing else. */
export class IdentityCheck {
  readonly #x509: X509Package;
  readonly #authorities: readonly Certificate[];

  private constructor(x509: X509Package, authorities: readonly Certificate[]) {
    this.#x509 = x509;
    this.#authorities = authorities;
  }

  /**
   * Trusts the authorities of a file. A check is never changed: for other authorities make another one.
   *
   * @param authorities certificates, PEM
   * @throws {AuthoritiesError} there is none, or one is no authority's
   */
  static async open(authorities: string): Promise<IdentityCheck> {
    const x509 = await loadX509();
    const certificates = readAll(x509, authorities);
    if (certificates.length === 0) throw new AuthoritiesError("there is no certificate (PEM)");
    const check = new IdentityCheck(x509, certificates);
    const wrong = certificates.find((certificate) => !check.#maySign(certificate, 0));
    if (wrong) throw new AuthoritiesError(`the certificate of "${wrong.parsed.subject}" is not that of an authority`);
    return check;
  }

  /**
   * Says who a peer is.
   *
   * @param chain the peer's certificates, its own first, DER or PEM; see {@linkcode peerChain}
   */
  decide(chain: readonly (Uint8Array | string)[], { nowMs, claimed, isRevoked }: IdentityCircumstances): Identity {
    const certificates: Certificate[] = [];
    try {
      for (const each of chain.slice(0, MAX_CHAIN_LENGTH)) certificates.push(read(this.#x509, each));
    } catch (error) {
      return refuse("untrusted", `the certificate cannot be read: ${errorText(error)}`);
    }
    const [own, ...others] = certificates;
    if (own === undefined) return refuse("none", "there is no client certificate");
    const path = this.#pathOf(own, { others, nowMs });
    if ("reason" in path) return path;
    if (path.find(({ parsed }) => isRevoked(parsed.serialNumber))) {
      return refuse("revoked", `the certificate of "${own.parsed.subject}" is revoked`);
    }
    return this.#whoIs(own, { path, claimed });
  }

  /** The certificates from a peer's own up to that of an authority, all of them valid now. */
  #pathOf(
    own: Certificate,
    { others, nowMs }: { others: readonly Certificate[]; nowMs: number },
  ): Certificate[] | Refused {
    const path = [own];
    for (let last = own;;) {
      const time = outsideOfTime(last, nowMs);
      const signed = this.#authorities.filter((each) => this.#maySign(each, path.length - 1) && hasSigned(each, last));
      const authority = signed.find((each) => outsideOfTime(each, nowMs) === undefined) ?? signed[0];
      const next = authority ??
        others.find((each) => !path.includes(each) && this.#maySign(each, path.length - 1) && hasSigned(each, last));
      if (next === undefined || this.#hasUnknownDemand(last)) {
        return refuse("untrusted", `no authority that is trusted stands behind "${own.parsed.subject}"`);
      }
      // Only now: the dates of what nobody signed mean nothing.
      if (time !== undefined) return time;
      path.push(next);
      if (authority) return outsideOfTime(authority, nowMs) ?? path;
      last = next;
    }
  }

  #whoIs(own: Certificate, { path, claimed }: { path: readonly Certificate[]; claimed: string | undefined }): Identity {
    const { parsed } = own;
    if (!this.#isForClients(own)) {
      return refuse("wrong-usage", `the certificate of "${parsed.subject}" is not for clients`);
    }
    const [name = "", ...further] = parsed.subjectName.getField("CN");
    if (further.length > 0 || !isInstanceId(name)) {
      return refuse("no-instance-id", `the name "${parsed.subject}" of the certificate is no instance id`);
    }
    if (claimed !== undefined && claimed !== name) {
      return refuse(
        "name-mismatch",
        `the certificate is that of "${name}", not of ${JSON.stringify(claimed.slice(0, 80))}`,
      );
    }
    const expiresMs = Math.min(...path.map((each) => each.parsed.notAfter.getTime()));
    return { ok: true, instanceId: name, serials: path.map((each) => each.parsed.serialNumber), expiresMs };
  }

  /** Without extended key usage a certificate is for everything, as RFC 5280 has it. */
  #isForClients({ parsed }: Certificate): boolean {
    const x509 = this.#x509;
    if (parsed.getExtension(x509.BasicConstraintsExtension)?.ca) return false;
    const keyUsages = parsed.getExtension(x509.KeyUsagesExtension)?.usages ?? x509.KeyUsageFlags.digitalSignature;
    if ((keyUsages & x509.KeyUsageFlags.digitalSignature) === 0) return false;
    const usages = parsed.getExtension(x509.ExtendedKeyUsageExtension)?.usages.map(String);
    return usages === undefined || usages.includes(x509.ExtendedKeyUsage.clientAuth) || usages.includes(ANY_USAGE);
  }

  /** Whether it is an authority's, and may have so many others between itself and a peer. */
  #maySign(certificate: Certificate, between: number): boolean {
    const x509 = this.#x509;
    const constraints = certificate.parsed.getExtension(x509.BasicConstraintsExtension);
    if (!constraints?.ca || (constraints.pathLength ?? Infinity) < between) return false;
    const usages = certificate.parsed.getExtension(x509.KeyUsagesExtension)?.usages ?? x509.KeyUsageFlags.keyCertSign;
    return (usages & x509.KeyUsageFlags.keyCertSign) !== 0 && !this.#hasUnknownDemand(certificate);
  }

  /** Whether it makes a demand that we do not know, such as what names it may give out. */
  #hasUnknownDemand({ parsed }: Certificate): boolean {
    return parsed.extensions.some(({ critical, type }) => critical && !KNOWN_EXTENSIONS.includes(type));
  }
}

/** The certificates of a peer, its own first, DER, from what node:tls tells of it. */
export function peerChain(peer: PeerCertificate | null | undefined): Uint8Array[] {
  const chain: Uint8Array[] = [];
  const seen = new Set<PeerCertificate>();
  // An authority's certificate names itself as its issuer.
  for (
    let at = peer ?? undefined;
    at?.raw && !seen.has(at) && chain.length < MAX_CHAIN_LENGTH;
    at = at.issuerCertificate
  ) {
    seen.add(at);
    chain.push(at.raw);
  }
  return chain;
}

function readAll(x509: X509Package, pem: string): Certificate[] {
  try {
    return x509.PemConverter.decodeWithHeaders(pem).map(({ rawData }) => read(x509, new Uint8Array(rawData)));
  } catch (error) {
    throw new AuthoritiesError(`a certificate cannot be read: ${errorText(error)}`);
  }
}

function read(x509: X509Package, certificate: Uint8Array | string): Certificate {
  const native = new X509Certificate(certificate);
  return { native, parsed: new x509.X509Certificate(new Uint8Array(native.raw)) };
}

function hasSigned(issuer: Certificate, certificate: Certificate): boolean {
  try {
    return certificate.native.checkIssued(issuer.native) && certificate.native.verify(issuer.native.publicKey);
  } catch {
    // A key or signature of a kind that is not known is none.
    return false;
  }
}

function outsideOfTime({ parsed }: Certificate, nowMs: number): Refused | undefined {
  const { subject, notBefore, notAfter } = parsed;
  if (nowMs < notBefore.getTime()) {
    return refuse("not-yet-valid", `the certificate of "${subject}" begins ${notBefore.toISOString()}`);
  }
  if (nowMs > notAfter.getTime()) {
    return refuse("expired", `the certificate of "${subject}" ended ${notAfter.toISOString()}`);
  }
  return undefined;
}

function refuse(reason: IdentityRefusal, message: string): Refused {
  return { ok: false, reason, message };
}
