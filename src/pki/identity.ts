import { errorText } from "../base/mod.ts";
import { X509Certificate } from "node:crypto";
import { loadX509, NODE_PREFIX, type X509Package } from "./certificates_make.ts";

/** Certificates of authorities are invalid. The message says why. */
export class AuthoritiesError extends Error {
  /** `AuthoritiesError`. */
  override name = "AuthoritiesError";
}

/** Why a client is refused. */
export type IdentityRefusal =
  /** No certificate. */
  | "none"
  /** Unreadable, or not signed by a trusted authority. */
  | "untrusted"
  | "not-yet-valid"
  | "expired"
  | "revoked"
  /** Not a client certificate. */
  | "wrong-usage"
  /** The common name is not an instance id. */
  | "no-instance-id"
  /** The common name is not that of a node. */
  | "no-node-name"
  /** The certificate of another boat. */
  | "name-mismatch";

/** Identity of a client, or why it is refused. */
export type Identity =
  | {
    ok: true;
    /** Instance id of a boat, or name of a node. */
    name: string;
    /** Serial numbers from the client's certificate up to the authority's, hex. */
    serials: readonly string[];
    /** Earliest expiry in its chain, milliseconds since 1970. */
    expiresMs: number;
  }
  | { ok: false; reason: IdentityRefusal; message: string };

/** Who identifies itself: a boat, or a node of a cloud. */
export type PeerKind = "boat" | "node";

/** Input of the check besides the certificates. */
export interface IdentityInput {
  /** Expected kind of client; default a boat. */
  kind?: PeerKind | undefined;
  /** Milliseconds since 1970. */
  nowMs: number;
  /** Claimed name; undefined: none. */
  claimed?: string | undefined;
  /** True if a certificate is revoked. @param serial hex */
  isRevoked: (serial: string) => boolean;
}

/**
 * The used part of the result of `getPeerCertificate(true)` of node:tls. All else is read from the certificate itself.
 */
export interface PeerCertificate {
  raw?: Uint8Array | undefined;
  issuerCertificate?: PeerCertificate | undefined;
}

/** Maximum certificates of a chain; further ones are ignored. */
export const MAX_CHAIN_LENGTH = 5;
/** RFC 5280 §4.2.1.12. */
const ANY_USAGE = "2.5.29.37.0";
/** Supported extensions: key usage, alternative names, basic constraints, extended key usage. */
const KNOWN_EXTENSIONS = ["2.5.29.15", "2.5.29.17", "2.5.29.19", "2.5.29.37"];

/** A certificate, parsed twice: `native` checks signatures, `parsed` has all fields. */
interface Certificate {
  native: X509Certificate;
  parsed: InstanceType<X509Package["X509Certificate"]>;
}

type Refused = Extract<Identity, { ok: false }>;

/** Identifies clients by their certificates, given the trusted authorities. Immutable. */
export class IdentityCheck {
  readonly #x509: X509Package;
  readonly #authorities: readonly Certificate[];

  private constructor(x509: X509Package, authorities: readonly Certificate[]) {
    this.#x509 = x509;
    this.#authorities = authorities;
  }

  /**
   * Reads the trusted authorities.
   *
   * @param authorities certificates, PEM
   * @throws {AuthoritiesError} no certificate, or one is not that of an authority
   */
  static async open(authorities: string): Promise<IdentityCheck> {
    const x509 = await loadX509();
    const certificates = readAll(x509, authorities);
    if (certificates.length === 0) throw new AuthoritiesError("there is no certificate (PEM)");
    const check = new IdentityCheck(x509, certificates);
    const wrong = certificates.find((certificate) => !check.#canSign(certificate, 0));
    if (wrong) throw new AuthoritiesError(`the certificate of "${wrong.parsed.subject}" is not that of an authority`);
    return check;
  }

  /**
   * Identifies a client.
   *
   * @param chain certificates of the client, its own first, DER or PEM; see {@linkcode peerChain}
   */
  decide(
    chain: readonly (Uint8Array | string)[],
    { kind = "boat", nowMs, claimed, isRevoked }: IdentityInput,
  ): Identity {
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
    return this.#identify(own, { path, kind, claimed });
  }

  /** The certificates from the client's own up to that of an authority, all valid now; or why there is no such path. */
  #pathOf(
    own: Certificate,
    { others, nowMs }: { others: readonly Certificate[]; nowMs: number },
  ): Certificate[] | Refused {
    const path = [own];
    for (let last = own;;) {
      const time = validityProblem(last, nowMs);
      const signed = this.#authorities.filter((each) => this.#canSign(each, path.length - 1) && hasSigned(each, last));
      const authority = signed.find((each) => validityProblem(each, nowMs) === undefined) ?? signed[0];
      const next = authority ??
        others.find((each) => !path.includes(each) && this.#canSign(each, path.length - 1) && hasSigned(each, last));
      if (next === undefined || this.#hasUnknownExtension(last)) {
        return refuse("untrusted", `"${own.parsed.subject}" is not signed by a trusted authority`);
      }
      // Checked only now: the dates of an unsigned certificate mean nothing.
      if (time !== undefined) return time;
      path.push(next);
      if (authority) return validityProblem(authority, nowMs) ?? path;
      last = next;
    }
  }

  #identify(
    own: Certificate,
    { path, kind, claimed }: { path: readonly Certificate[]; kind: PeerKind; claimed: string | undefined },
  ): Identity {
    const { parsed } = own;
    if (!this.#isForClients(own)) {
      return refuse("wrong-usage", `the certificate of "${parsed.subject}" is not for clients`);
    }
    const [common = "", ...further] = parsed.subjectName.getField("CN");
    const name = nameIn(common, kind);
    if (further.length > 0 || name === undefined) {
      const [reason, expected] = kind === "boat"
        ? ["no-instance-id", "an instance id"] as const
        : ["no-node-name", "that of a node"] as const;
      return refuse(reason, `the name "${parsed.subject}" of the certificate is not ${expected}`);
    }
    if (claimed !== undefined && claimed !== name) {
      return refuse(
        "name-mismatch",
        `the certificate is that of "${name}", not of ${JSON.stringify(claimed.slice(0, 80))}`,
      );
    }
    const expiresMs = Math.min(...path.map((each) => each.parsed.notAfter.getTime()));
    return { ok: true, name, serials: path.map((each) => each.parsed.serialNumber), expiresMs };
  }

  /** Without extended key usage, a certificate is valid for all purposes (RFC 5280). */
  #isForClients({ parsed }: Certificate): boolean {
    const x509 = this.#x509;
    if (parsed.getExtension(x509.BasicConstraintsExtension)?.ca) return false;
    const keyUsages = parsed.getExtension(x509.KeyUsagesExtension)?.usages ?? x509.KeyUsageFlags.digitalSignature;
    if ((keyUsages & x509.KeyUsageFlags.digitalSignature) === 0) return false;
    const usages = parsed.getExtension(x509.ExtendedKeyUsageExtension)?.usages.map(String);
    return usages === undefined || usages.includes(x509.ExtendedKeyUsage.clientAuth) || usages.includes(ANY_USAGE);
  }

  /** True for an authority's certificate that permits `between` further authorities below it. */
  #canSign(certificate: Certificate, between: number): boolean {
    const x509 = this.#x509;
    const constraints = certificate.parsed.getExtension(x509.BasicConstraintsExtension);
    if (!constraints?.ca || (constraints.pathLength ?? Infinity) < between) return false;
    const usages = certificate.parsed.getExtension(x509.KeyUsagesExtension)?.usages ?? x509.KeyUsageFlags.keyCertSign;
    return (usages & x509.KeyUsageFlags.keyCertSign) !== 0 && !this.#hasUnknownExtension(certificate);
  }

  /** True if it has an unsupported critical extension, such as name constraints. */
  #hasUnknownExtension({ parsed }: Certificate): boolean {
    return parsed.extensions.some(({ critical, type }) => critical && !KNOWN_EXTENSIONS.includes(type));
  }
}

/** The certificates of a client as `node:tls` returns them, its own first, DER. */
export function peerChain(peer: PeerCertificate | null | undefined): Uint8Array[] {
  const chain: Uint8Array[] = [];
  const seen = new Set<PeerCertificate>();
  // A root certificate is its own issuer.
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
    // An unsupported kind of key or signature counts as unsigned.
    return false;
  }
}

function validityProblem({ parsed }: Certificate, nowMs: number): Refused | undefined {
  const { subject, notBefore, notAfter } = parsed;
  if (nowMs < notBefore.getTime()) {
    return refuse("not-yet-valid", `the certificate of "${subject}" is valid from ${notBefore.toISOString()}`);
  }
  if (nowMs > notAfter.getTime()) {
    return refuse("expired", `the certificate of "${subject}" expired ${notAfter.toISOString()}`);
  }
  return undefined;
}

/** The instance id or name of a node that a common name contains, if any. */
function nameIn(common: string, kind: PeerKind): string | undefined {
  if (kind === "boat") return isInstanceId(common) ? common : undefined;
  const name = common.slice(NODE_PREFIX.length);
  return common.startsWith(NODE_PREFIX) && isNodeName(name) ? name : undefined;
}

function refuse(reason: IdentityRefusal, message: string): Refused {
  return { ok: false, reason, message };
}

/** Maximum length of an instance id, characters. */
export const MAX_INSTANCE_ID_LENGTH = 64;

/** Maximum length of a node's name, characters: a common name has at most 64 (RFC 5280). */
export const MAX_NODE_NAME_LENGTH: number = 64 - NODE_PREFIX.length;

/** True for a valid name of a node: that of an instance id, but shorter. */
export function isNodeName(name: string): boolean {
  return name.length <= MAX_NODE_NAME_LENGTH && isInstanceId(name);
}

/** True for a valid instance id: it names folders and is the common name of certificates. */
export function isInstanceId(id: string): boolean {
  return id.length <= MAX_INSTANCE_ID_LENGTH && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id);
}
