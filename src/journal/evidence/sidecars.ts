import { basename, dirname } from "node:path";
import { AtomicFile } from "../../base/mod.ts";
import { JOURNAL_FILE_MODE, signatureOf, statementOf } from "../file/name.ts";
import { type EvidencePublicKey, readPublicKey, SIGNATURE_BYTES } from "./key.ts";
import { MAX_STATEMENT_BYTES } from "./statement.ts";

/** Name of the public key in the directory of the journal. */
export const PUBLIC_KEY_FILE = "evidence.pub.pem";
/** Digits of a fingerprint in the name of a former key. */
const NAME_DIGITS = 16;

/** A statement and its signature as they are stored; undefined: the file is missing. */
export interface SignedStatement {
  /** The text that was signed. */
  statement: Uint8Array<ArrayBuffer> | undefined;
  /** The signature, 64 bytes if it is good. */
  signature: Uint8Array<ArrayBuffer> | undefined;
}

/** Reads the statement about a journal file. @throws {FileError} one of its two files cannot be read, or is too large */
export async function readSigned(path: string): Promise<SignedStatement> {
  return {
    statement: await fileAt(statementOf(path), MAX_STATEMENT_BYTES).read(),
    // A longer one is wrong, too, and no error of the system.
    signature: await fileAt(signatureOf(path), MAX_STATEMENT_BYTES).read(),
  };
}

/**
 * Stores a statement and its signature, durably. A file with a statement has its signature: that is written first.
 *
 * @throws {FileError} they could not be written
 */
export async function writeSigned(
  path: string,
  { statement, signature }: { statement: Uint8Array; signature: Uint8Array },
): Promise<void> {
  await fileAt(signatureOf(path), SIGNATURE_BYTES).write(signature);
  await fileAt(statementOf(path), MAX_STATEMENT_BYTES).write(statement);
}

/**
 * Writes the public key into the directory of the journal. Another one that is there gets the name
 * `evidence-FINGERPRINT.pub.pem`, as files of before are verified with it. Returns the path.
 *
 * @throws {FileError} it could not be written
 */
export async function publishKey(directory: string, { pem }: EvidencePublicKey): Promise<string> {
  const file = fileAt(`${directory}/${PUBLIC_KEY_FILE}`, MAX_STATEMENT_BYTES);
  const found = await file.read();
  const text = found && new TextDecoder().decode(found);
  if (text === pem) return file.path;
  const former = text === undefined ? undefined : await readPublicKey(text, file.path).catch(() => undefined);
  if (former) {
    const name = PUBLIC_KEY_FILE.replace(".", `-${former.fingerprint.slice(0, NAME_DIGITS)}.`);
    await fileAt(`${directory}/${name}`, MAX_STATEMENT_BYTES).write(former.pem);
  }
  await file.write(pem);
  return file.path;
}

function fileAt(path: string, maxBytes: number): AtomicFile {
  return new AtomicFile(dirname(path), { name: basename(path), mode: JOURNAL_FILE_MODE, maxBytes });
}
