import { randomBytes } from "node:crypto";
import type * as X509 from "@peculiar/x509";

/** The package that reads and makes certificates. */
export type X509Package = typeof X509;

/** Loads the package on demand: it takes a fifth of a second and 20 MB. */
export async function loadX509(): Promise<X509Package> {
  return await import("@peculiar/x509");
}

/** A certificate with its private key. */
export interface CertificatePair {
  /** PEM. */
  cert: string;
  /** PEM (PKCS #8), not encrypted. */
  key: string;
  /** Lower-case hex. */
  serial: string;
  /** Begin of validity, milliseconds since 1970. */
  notBeforeMs: number;
  /** End of validity, milliseconds since 1970. */
  notAfterMs: number;
}

/** Host names and IP addresses of a TLS server. */
export interface ServerNames {
  /** Host names; the first label may be an asterisk. */
  hosts: readonly string[];
  /** IP addresses. */
  ips: readonly string[];
}

/** Subject of a certificate: a boat (TLS client), a cloud (TLS server), or a node of a cloud (both). */
export type CertificateSubject =
  | { kind: "boat"; instanceId: string }
  | { kind: "server" } & ServerNames
  | { kind: "node"; name: string } & ServerNames;

/** Time of issue and validity of a certificate. */
export interface Validity {
  /** Milliseconds since 1970. */
  nowMs: number;
  days: number;
}

/** A revoked certificate. */
export interface RevokedSerial {
  /** Hex. */
  serial: string;
  /** Milliseconds since 1970. */
  revokedMs: number;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;
/** Begin of validity before the time of issue, because a boat's clock may be slow, milliseconds. */
const BACKDATED_MS = 3_600_000;
/** 126 random bits. Consecutive serial numbers would repeat after a restore of the directory. */
const SERIAL_BYTES = 16;
/** Common name of server certificates. Clients check the alternative names instead, which have no length limit. */
const SERVER_NAME = "vbg-cloud";
/** Begin of the common name of a node's certificate. No instance id has a colon: a node never passes as a boat. */
export const NODE_PREFIX = "node:";
/** RFC 5280 §5.2.3. */
const CRL_NUMBER_OID = "2.5.29.20";

/**
 * Creates the certificate of an authority, which may sign certificates of boats and servers but no further authorities.
 */
export async function makeAuthority(name: string, { nowMs, days }: Validity): Promise<CertificatePair> {
  const x509 = await loadX509();
  const keys = await newKeys();
  const dates = datesOf({ nowMs, days });
  const serial = newSerial();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial,
    name: [{ CN: [name] }],
    keys,
    ...dates,
    signingAlgorithm: CURVE,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return await pairOf({ x509, certificate, keys, serial });
}

/** An authority's certificate and key, ready to sign. */
export class Signer {
  readonly #x509: X509Package;
  readonly #certificate: X509.X509Certificate;
  readonly #key: CryptoKey;

  private constructor(x509: X509Package, { certificate, key }: { certificate: X509.X509Certificate; key: CryptoKey }) {
    this.#x509 = x509;
    this.#certificate = certificate;
    this.#key = key;
  }

  /**
   * Reads certificate and key, PEM.
   *
   * @throws {Error} not PEM, or not of the curve P-256
   */
  static async open({ cert, key }: Pick<CertificatePair, "cert" | "key">): Promise<Signer> {
    const x509 = await loadX509();
    const signingKey = await crypto.subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(key), CURVE, false, [
      "sign",
    ]);
    return new Signer(x509, { certificate: new x509.X509Certificate(cert), key: signingKey });
  }

  /** Expiry of the authority's certificate, milliseconds since 1970. */
  get notAfterMs(): number {
    return this.#certificate.notAfter.getTime();
  }

  /** Issues a certificate with a new key. It expires no later than the authority's. */
  async issue(subject: CertificateSubject, validity: Validity): Promise<CertificatePair> {
    const x509 = this.#x509;
    const keys = await newKeys();
    const { notBefore, notAfter } = datesOf(validity);
    const serial = newSerial();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serial,
      subject: [{ CN: [commonNameOf(subject)] }],
      issuer: this.#certificate.subjectName,
      notBefore,
      notAfter: new Date(Math.min(notAfter.getTime(), this.notAfterMs)),
      publicKey: keys.publicKey,
      signingKey: this.#key,
      signingAlgorithm: CURVE,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        ...usageOf(x509, subject),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        await x509.AuthorityKeyIdentifierExtension.create(this.#certificate.publicKey),
      ],
    });
    return await pairOf({ x509, certificate, keys, serial });
  }

  /**
   * Creates the signed list of revoked certificates (CRL), PEM. Its next update is set to the expiry of the authority:
   * lists are created by hand, and programs refuse all certificates if a list is overdue.
   *
   * @param options.number higher than that of the previous list
   */
  async listRevoked(
    revoked: readonly RevokedSerial[],
    { number, nowMs }: { number: number; nowMs: number },
  ): Promise<string> {
    const x509 = this.#x509;
    const crl = await x509.X509CrlGenerator.create({
      issuer: this.#certificate.subjectName,
      thisUpdate: wholeSecond(nowMs),
      nextUpdate: this.#certificate.notAfter,
      signingAlgorithm: CURVE,
      signingKey: this.#key,
      entries: revoked.map(({ serial, revokedMs }) => ({
        serialNumber: serial,
        revocationDate: wholeSecond(revokedMs),
      })),
      extensions: [
        await x509.AuthorityKeyIdentifierExtension.create(this.#certificate.publicKey),
        new x509.Extension(CRL_NUMBER_OID, false, derInteger(number)),
      ],
    });
    // Other programs do not accept the default label of the package.
    return pem(x509, { type: "X509 CRL", rawData: crl.rawData });
  }
}

function commonNameOf(subject: CertificateSubject): string {
  if (subject.kind === "boat") return subject.instanceId;
  return subject.kind === "node" ? `${NODE_PREFIX}${subject.name}` : SERVER_NAME;
}

function usageOf(x509: X509Package, subject: CertificateSubject): X509.Extension[] {
  const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
  if (subject.kind === "boat") return [new x509.ExtendedKeyUsageExtension([clientAuth])];
  const names = [
    ...subject.hosts.map((value) => ({ type: "dns", value } as const)),
    ...subject.ips.map((value) => ({ type: "ip", value } as const)),
  ];
  return [
    new x509.ExtendedKeyUsageExtension(subject.kind === "node" ? [serverAuth, clientAuth] : [serverAuth]),
    new x509.SubjectAlternativeNameExtension(names),
  ];
}

async function newKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(CURVE, true, ["sign", "verify"]);
}

async function pairOf(
  { x509, certificate, keys, serial }: {
    x509: X509Package;
    certificate: X509.X509Certificate;
    keys: CryptoKeyPair;
    serial: string;
  },
): Promise<CertificatePair> {
  return {
    cert: pem(x509, { type: "CERTIFICATE", rawData: certificate.rawData }),
    key: pem(x509, { type: "PRIVATE KEY", rawData: await crypto.subtle.exportKey("pkcs8", keys.privateKey) }),
    serial,
    notBeforeMs: certificate.notBefore.getTime(),
    notAfterMs: certificate.notAfter.getTime(),
  };
}

function pem(x509: X509Package, block: { type: string; rawData: ArrayBuffer }): string {
  return `${x509.PemConverter.encode([block])}\n`;
}

function datesOf({ nowMs, days }: Validity): { notBefore: Date; notAfter: Date } {
  return { notBefore: wholeSecond(nowMs - BACKDATED_MS), notAfter: wholeSecond(nowMs + days * DAY_MS) };
}

/** Certificates have no fractions of a second. */
function wholeSecond(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000);
}

/** The first digit is from 4 to 7, so that all programs print the same digits: no leading zero, no sign. */
function newSerial(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString("hex");
}

/** DER of a non-negative integer. */
function derInteger(value: number): Uint8Array<ArrayBuffer> {
  const digits = value.toString(16);
  const even = digits.padStart(digits.length + digits.length % 2, "0");
  // A leading 1 bit would make it negative.
  const bytes = Uint8Array.fromHex(/^[89a-f]/.test(even) ? `00${even}` : even);
  return Uint8Array.of(2, bytes.length, ...bytes);
}
