import { normalSerial } from "./revocation_serial.ts";

/** One certificate that an authority has made. */
export interface IssuedCertificate {
  /** Lower-case hex. */
  serial: string;
  /** Whose it is. */
  kind: "boat" | "server";
  /** A boat's instance id; of a server all its hosts and addresses, with spaces between them. */
  name: string;
  /** Milliseconds since 1970. */
  notBeforeMs: number;
  /** Milliseconds since 1970. */
  notAfterMs: number;
  /** When it was revoked, milliseconds since 1970; undefined: it was not. */
  revokedMs?: number;
}

/** All that an authority remembers. */
export interface AuthorityRecord {
  /** Number of the newest list of revoked certificates. */
  crlNumber: number;
  /** In the order in which they were made. */
  certificates: readonly IssuedCertificate[];
}

const VERSION = 1;

/** The record as a file: JSON, for people, too. */
export function formatRecord({ crlNumber, certificates }: AuthorityRecord): string {
  const rows = certificates.map(({ serial, kind, name, notBeforeMs, notAfterMs, revokedMs }) => ({
    serial,
    kind,
    name,
    not_before: timeText(notBeforeMs),
    not_after: timeText(notAfterMs),
    ...revokedMs !== undefined && { revoked: timeText(revokedMs) },
  }));
  return `${JSON.stringify({ version: VERSION, crl_number: crlNumber, certificates: rows }, null, 2)}\n`;
}

/**
 * Reads a record.
 *
 * @throws {Error} it is none; the message says what is wrong with it
 */
export function parseRecord(text: string): AuthorityRecord {
  const { version, crl_number: crlNumber, certificates } = fieldsOf(JSON.parse(text), "the file");
  if (version !== VERSION) throw new Error(`it has version ${JSON.stringify(version)}, expected ${VERSION}`);
  if (typeof crlNumber !== "number" || !Number.isSafeInteger(crlNumber) || crlNumber < 0) {
    throw new Error("it has no crl_number");
  }
  if (!Array.isArray(certificates)) throw new Error("it has no list of certificates");
  return { crlNumber, certificates: certificates.map(parseRow) };
}

function parseRow(value: unknown, index: number): IssuedCertificate {
  const where = `certificate ${index + 1}`;
  const row = fieldsOf(value, where);
  const text = (name: string): string => {
    const found = row[name];
    if (typeof found !== "string") throw new Error(`${where} has no ${name}`);
    return found;
  };
  const time = (name: string): number => {
    const ms = Date.parse(text(name));
    if (Number.isNaN(ms)) throw new Error(`${where} has no time in ${name}`);
    return ms;
  };
  const serial = normalSerial(text("serial"));
  if (serial === undefined) throw new Error(`${where} has no serial number`);
  const kind = text("kind");
  if (kind !== "boat" && kind !== "server") throw new Error(`${where} is of no known kind`);
  return {
    serial,
    kind,
    name: text("name"),
    notBeforeMs: time("not_before"),
    notAfterMs: time("not_after"),
    ...row["revoked"] !== undefined && { revokedMs: time("revoked") },
  };
}

function fieldsOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error(`${what} is no object`);
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
