import { errorText } from "../base/mod.ts";
import { loadX509, type X509Package } from "./certificates_x509.ts";
import { normalSerial } from "./revocation_serial.ts";

/** A list of revoked certificates that cannot be used. The message says why. */
export class RevocationError extends Error {
  /** `RevocationError`. */
  override name = "RevocationError";
}

const HEADING = "# Certificates that are good no more: the serial number of each, and whose it was.";
const CRL_LABEL = /^-----BEGIN (?:X509 )?CRL-----/m;

/** The list as a text file: a line each, what follows # is a note. */
export function formatRevocations(
  revoked: readonly { serial: string; name: string; revokedMs: number }[],
): string {
  const lines = revoked.map(({ serial, name, revokedMs }) =>
    `${serial} # ${name}, ${new Date(revokedMs).toISOString()}`
  );
  return [HEADING, ...lines, ""].join("\n");
}

/**
 * Reads a list of revoked certificates: a line for each serial number, or the lists that authorities sign (PEM). A
 * serial number counts whichever authority gave it out. A signed list is used even when its successor is overdue.
 *
 * @param options.authorities certificates (PEM) of those who may sign lists
 * @returns serial numbers as {@linkcode normalSerial} writes them
 * @throws {RevocationError} a line is none, or none of the authorities has signed a list
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
    // Passed over, a mistyped line would leave a stolen certificate good.
    if (serial === undefined) {
      throw new RevocationError(`line ${index + 1} is no serial number: ${JSON.stringify(word.trim().slice(0, 80))}`);
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
      throw new RevocationError(`the list of ${JSON.stringify(list.issuer)} is signed by nobody who is trusted`);
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
