import { errorText } from "../base/mod.ts";
import { loadX509, type X509Package } from "./certificates_make.ts";

/** A list of revoked certificates is invalid. The message says why. */
export class RevocationError extends Error {
  /** `RevocationError`. */
  override name = "RevocationError";
}

const HEADING = "# Certificates that are good no more: the serial number of each, and whose it was.";
const CRL_LABEL = /^-----BEGIN (?:X509 )?CRL-----/m;

/** Formats the list as text: one serial number per line, with a comment after #. */
export function formatRevocations(
  revoked: readonly { serial: string; name: string; revokedMs: number }[],
): string {
  const lines = revoked.map(({ serial, name, revokedMs }) =>
    `${serial} # ${name}, ${new Date(revokedMs).toISOString()}`
  );
  return [HEADING, ...lines, ""].join("\n");
}

/**
 * Parses a list of revoked certificates: one serial number per line, or signed lists (CRL, PEM). Serial numbers apply
 * to all authorities. A signed list is valid even if its next update is overdue.
 *
 * @param options.authorities certificates (PEM) of the authorities that may sign lists
 * @returns serial numbers in the form of {@linkcode normalSerial}
 * @throws {RevocationError} invalid line, or a list not signed by one of the authorities
 */
export async function parseRevocations(
  text: string,
  { authorities }: { authorities: string },
): Promise<ReadonlySet<string>> {
  return CRL_LABEL.test(text) ? await parseSigned(text, authorities) : parseLines(text);
}

function parseLines(text: string): Set<string> {
  const serials = new Set<string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [word = ""] = line.split("#");
    if (word.trim() === "") continue;
    const serial = normalSerial(word);
    // Not skipped: a mistyped line would leave a stolen certificate valid.
    if (serial === undefined) {
      throw new RevocationError(
        `line ${index + 1} is not a serial number: ${JSON.stringify(word.trim().slice(0, 80))}`,
      );
    }
    serials.add(serial);
  }
  return serials;
}

async function parseSigned(text: string, authorities: string): Promise<Set<string>> {
  const x509 = await loadX509();
  const serials = new Set<string>();
  const lists = orRefuse(
    "it cannot be read",
    () =>
      x509.PemConverter.decodeWithHeaders(text).filter(({ type }) => type.endsWith("CRL"))
        .map(({ rawData }) => new x509.X509Crl(rawData)),
  );
  const signers = orRefuse(
    "the authorities cannot be read",
    () => x509.PemConverter.decodeWithHeaders(authorities).map(({ rawData }) => new x509.X509Certificate(rawData)),
  );
  for (const list of lists) {
    if (!await isSignedByOne(list, signers)) {
      throw new RevocationError(`the list of ${JSON.stringify(list.issuer)} is not signed by a trusted authority`);
    }
    for (const { serialNumber } of list.entries) serials.add(normalSerial(serialNumber) ?? serialNumber);
  }
  return serials;
}

type Crl = InstanceType<X509Package["X509Crl"]>;
type Certificate = InstanceType<X509Package["X509Certificate"]>;

async function isSignedByOne(list: Crl, signers: readonly Certificate[]): Promise<boolean> {
  for (const signer of signers) {
    if (signer.subject !== list.issuer) continue;
    if (await list.verify({ publicKey: signer }).catch(() => false)) return true;
  }
  return false;
}

function orRefuse<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new RevocationError(`${what}: ${errorText(error)}`);
  }
}

/** Maximum serial number, hex digits: 20 bytes in X.509, and a leading zero of some authorities. */
const MAX_SERIAL_DIGITS = 42;

/**
 * Normalizes a serial number for comparison: lower-case hex without leading zeros. Accepts the formats of common tools,
 * such as `0A:3F` and `0x0a3f`; undefined if invalid.
 */
export function normalSerial(text: string): string | undefined {
  const digits = text.trim().toLowerCase().replace(/^0x/, "").replaceAll(":", "");
  if (!/^[0-9a-f]+$/.test(digits) || digits.length > MAX_SERIAL_DIGITS) return undefined;
  return digits.replace(/^0+(?=.)/, "");
}
