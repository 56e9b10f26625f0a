import type { DurableFile } from "../../base/mod.ts";
import { sha256 } from "./statement.ts";

/** Bytes of a signature. */
export const SIGNATURE_BYTES = 64;
const ALGORITHM = "Ed25519";
const LINE_CHARS = 64;

/** A key with which statements are verified. */
export interface EvidencePublicKey {
  /** SHA-256 of the key as DER (SubjectPublicKeyInfo), hexadecimal. */
  fingerprint: string;
  /** The key as PEM. */
  pem: string;
  /** True if the signature of these bytes was made with the key. */
  verify(bytes: Uint8Array<ArrayBuffer>, signature: Uint8Array<ArrayBuffer>): Promise<boolean>;
}

/** The boat's key, with which it signs. */
export interface EvidenceKey extends EvidencePublicKey {
  /** The signature of these bytes, 64 bytes. */
  sign(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>>;
}

/**
 * Reads the boat's key, a PEM file (PKCS #8); makes one if the file does not exist. An unreadable file is never replaced.
 *
 * @throws {FileError} the file cannot be read or written
 * @throws {TypeError} it is no Ed25519 key
 */
export async function openEvidenceKey(file: DurableFile): Promise<{ key: EvidenceKey; isNew: boolean }> {
  const found = await file.read();
  if (found) return { key: await readPrivateKey(new TextDecoder().decode(found), file.path), isNew: false };
  const made = await crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  if (!("privateKey" in made)) throw new TypeError("no pair of keys was made");
  await file.write(pemOf("PRIVATE KEY", await crypto.subtle.exportKey("pkcs8", made.privateKey)));
  return { key: await keyOf(made.privateKey), isNew: true };
}

/** Reads a public key, PEM. @throws {TypeError} it is no Ed25519 key */
export async function readPublicKey(pem: string, path: string): Promise<EvidencePublicKey> {
  const der = derOf("PUBLIC KEY", pem);
  const key = der && await crypto.subtle.importKey("spki", der, ALGORITHM, true, ["verify"]).catch(() => undefined);
  if (key) return await publicKeyOf(key);
  throw new TypeError(`Cannot verify with "${path}": expected an Ed25519 public key, PEM ("BEGIN PUBLIC KEY")`);
}

async function readPrivateKey(pem: string, path: string): Promise<EvidenceKey> {
  const der = derOf("PRIVATE KEY", pem);
  const key = der && await crypto.subtle.importKey("pkcs8", der, ALGORITHM, true, ["sign"]).catch(() => undefined);
  if (key) return await keyOf(key);
  throw new TypeError(`Cannot sign with "${path}": expected an Ed25519 private key, PEM ("BEGIN PRIVATE KEY")`);
}

async function keyOf(key: CryptoKey): Promise<EvidenceKey> {
  const { kty = "OKP", crv = ALGORITHM, x = "" } = await crypto.subtle.exportKey("jwk", key);
  const half = await crypto.subtle.importKey("jwk", { kty, crv, x }, ALGORITHM, true, ["verify"]);
  const sign = async (bytes: Uint8Array<ArrayBuffer>) =>
    new Uint8Array(await crypto.subtle.sign(ALGORITHM, key, bytes));
  return { ...await publicKeyOf(half), sign };
}

async function publicKeyOf(key: CryptoKey): Promise<EvidencePublicKey> {
  const der = await crypto.subtle.exportKey("spki", key);
  return {
    fingerprint: sha256(new Uint8Array(der)),
    pem: pemOf("PUBLIC KEY", der),
    verify: async (bytes, signature) =>
      signature.length === SIGNATURE_BYTES && await crypto.subtle.verify(ALGORITHM, key, signature, bytes),
  };
}

function pemOf(label: string, der: ArrayBuffer): string {
  const lines = new Uint8Array(der).toBase64().match(new RegExp(`.{1,${LINE_CHARS}}`, "g")) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

function derOf(label: string, pem: string): Uint8Array<ArrayBuffer> | undefined {
  const [, text] = new RegExp(`-----BEGIN ${label}-----([A-Za-z0-9+/=\\s]+)-----END ${label}-----`).exec(pem) ?? [];
  try {
    return text === undefined ? undefined : Uint8Array.fromBase64(text);
  } catch {
    return undefined;
  }
}
