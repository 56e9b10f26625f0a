import { randomBytes } from "node:crypto";
import type * as X509 from "@peculiar/x509";
import { loadX509, type X509Package } from "./certificates_x509.ts";

/** A certificate and its key, and what is in it. */
export interface CertificatePair {
  /** PEM. */
  cert: string;
  /** PEM (PKCS #8), not encrypted. */
  key: string;
  /** Lower-case hex. */
  serial: string;
  /** When it begins, milliseconds since 1970. */
  notBeforeMs: number;
  /** When it ends, milliseconds since 1970. */
  notAfterMs: number;
}

/** Whom a certificate is for: a boat that asks, or a server that is asked. */
export type CertificateSubject =
  | { kind: "boat"; instanceId: string }
  | { kind: "server"; hosts: readonly string[]; ips: readonly string[] };

/** From when and how long a certificate is good. */
export interface Validity {
  /** Milliseconds since 1970. */
  nowMs: number;
  days: number;
}

/** A certificate that is good no more. */
export interface RevokedSerial {
  /** Hex. */
  serial: string;
  /** Milliseconds since 1970. */
  revokedMs: number;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;
/** A certificate begins so long before it is made: a boat's clock may be late. */
const BACKDATED_MS = 3_600_000;
/** 127 random bits. Counted serials would begin again when a copy of the directory is brought back. */
const SERIAL_BYTES = 16;
/** The name in a server's certificate; clients look at its hosts and addresses instead, which have no length limit. */
const SERVER_NAME = "vbg-cloud";
/** RFC 5280 §5.2.3. */
const CRL_NUMBER_OID = "2.5.29.20";

/** Makes the certificate of an authority, which signs certificates of boats and servers but no further authorities. */
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
   * Reads them.
   *
   * @throws {Error} they are not PEM, or not of the curve P-256
   */
  static async open({ cert, key }: Pick<CertificatePair, "cert" | "key">): Promise<Signer> {
    const x509 = await loadX509();
    const signingKey = await crypto.subtle.importKey("pkcs8", x509.PemConverter.decodeFirst(key), CURVE, false, [
      "sign",
    ]);
    return new Signer(x509, { certificate: new x509.X509Certificate(cert), key: signingKey });
  }

  /** When its own certificate ends, milliseconds since 1970. */
  get notAfterMs(): number {
    return this.#certificate.notAfter.getTime();
  }

  /** Makes a certificate with a new key. It ends no later than the authority's. */
  async issue(subject: CertificateSubject, validity: Validity): Promise<CertificatePair> {
    const x509 = this.#x509;
    const keys = await newKeys();
    const { notBefore, notAfter } = datesOf(validity);
    const serial = newSerial();
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: serial,
      subject: [{ CN: [subject.kind === "boat" ? subject.instanceId : SERVER_NAME] }],
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
   * Makes the list of all certificates that are good no more, PEM. The next one is promised for the day when the
   * authority ends: it is made by hand, and programs refuse everybody when a list is overdue.
   *
   * @param options.number higher than that of the list before
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
    // The package's own label is none that other programs read.
    return pem(x509, { type: "X509 CRL", rawData: crl.rawData });
  }
}

function usageOf(x509: X509Package, subject: CertificateSubject): X509.Extension[] {
  if (subject.kind === "boat") return [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])];
  const names = [
    ...subject.hosts.map((value) => ({ type: "dns", value } as const)),
    ...subject.ips.map((value) => ({ type: "ip", value } as const)),
  ];
  return [
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
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

/** The first digit is neither 0 nor above 7, so that all programs write it with the same digits. */
function newSerial(): string {
  const bytes = randomBytes(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString("hex");
}

/** DER of a whole number that is not negative. */
function derInteger(value: number): Uint8Array<ArrayBuffer> {
  const digits = value.toString(16);
  const even = digits.padStart(digits.length + digits.length % 2, "0");
  // A first bit of 1 would make it negative.
  const bytes = Uint8Array.fromHex(/^[89a-f]/.test(even) ? `00${even}` : even);
  return Uint8Array.of(2, bytes.length, ...bytes);
}
