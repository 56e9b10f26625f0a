import { normalSerial } from "./revocation.ts";

/** An issued certificate. */
export interface IssuedCertificate {
  /** Lower-case hex. */
  serial: string;
  /** Kind of its subject. */
  kind: "boat" | "server" | "node";
  /** Instance id of a boat; name of a node; hosts and addresses of a server, separated by spaces. */
  name: string;
  /** Begin of validity, milliseconds since 1970. */
  notBeforeMs: number;
  /** End of validity, milliseconds since 1970. */
  notAfterMs: number;
  /** Time of revocation, milliseconds since 1970; absent: not revoked. */
  revokedMs?: number;
}

/** State of an authority. */
export interface AuthorityRecord {
  /** Number of the newest list of revoked certificates. */
  crlNumber: number;
  /** In order of issue. */
  certificates: readonly IssuedCertificate[];
}

const VERSION = 1;
const KINDS: readonly IssuedCertificate["kind"][] = ["boat", "server", "node"];

/** Formats the record as indented JSON. */
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
 * Parses a record.
 *
 * @throws {Error} invalid record; the message says why
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
  const kind = KINDS.find((each) => each === row["kind"]);
  if (kind === undefined) throw new Error(`${where} has an unknown kind`);
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
  throw new Error(`${what} is not an object`);
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
