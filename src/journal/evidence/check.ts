import { compareNames, parseFileName } from "../file/name.ts";
import { checkChain } from "./chain.ts";
import type { EvidencePublicKey } from "./key.ts";
import type { CheckedEntry, CheckedEvidence, EvidenceFault, EvidenceFaultKind, FoundEvidence } from "./check_types.ts";
import { parseStatement, type Predecessor, sha256, type Statement } from "./statement.ts";

/**
 * Checks files against their statements, and the chain of these.
 *
 * @param options.keys statements that one of them has signed are valid
 * @param options.isWhole these are all files of a directory: what is missing between them is reported, too. Files before the
 * oldest one may have been deleted by retention
 */
export async function checkEvidence(
  found: readonly FoundEvidence[],
  { keys, isWhole }: { keys: readonly EvidencePublicKey[]; isWhole: boolean },
): Promise<CheckedEvidence> {
  const entries: CheckedEntry[] = [];
  const ordered = found.toSorted((a, b) => compareNames(a.name, b.name));
  // A crash may leave statements of files that retention has deleted.
  const oldest = ordered.findIndex(({ file }) => file);
  for (const each of ordered.slice(Math.max(0, oldest))) entries.push(await validate(each, keys));
  const valid = entries.flatMap(({ valid: statement }) => statement ? [statement] : []);
  const known: Known = {
    byName: new Map(valid.map((statement) => [statement.name, statement])),
    byHash: new Map(valid.map(({ name, sha256 }) => [sha256, name])),
    bySuccessor: new Map(valid.flatMap(({ previous }) => previous ? [[previous.name, previous]] : [])),
    keys,
  };
  const newest = entries.findLast(({ file }) => file);
  const open = newest && isOpen(newest) ? newest.name : undefined;
  const faults = entries.flatMap((entry) => entry.name === open ? [] : faultsOf(entry, known));
  faults.push(...checkChain(entries, { isWhole }));
  const faulty = new Set(faults.map(({ name }) => name));
  const good = entries.filter(({ name, valid, file }) => valid && file && !faulty.has(name));
  return { faults, signed: good.length, late: good.filter(({ valid }) => valid?.isLate).length, open };
}

/** What valid statements say of all files. */
interface Known {
  byName: ReadonlyMap<string, Statement>;
  /** Name by the hash of the file. */
  byHash: ReadonlyMap<string, string>;
  /** What its successor says of a file, by its name. */
  bySuccessor: ReadonlyMap<string, Predecessor>;
  keys: readonly EvidencePublicKey[];
}

function isOpen({ file, statement, signature, name }: FoundEvidence): boolean {
  return !statement && !signature && file?.isComplete === false && parseFileName(name) !== undefined;
}

async function validate(found: FoundEvidence, keys: readonly EvidencePublicKey[]): Promise<CheckedEntry> {
  const { statement, signature } = found;
  const entry = { ...found, valid: undefined, statementSha256: statement && sha256(statement) };
  if (!statement || !signature) return entry;
  for (const key of keys) {
    if (!await key.verify(statement, signature)) continue;
    const parsed = parse(statement);
    if (typeof parsed !== "string") return { ...entry, valid: parsed };
  }
  return entry;
}

function parse(bytes: Uint8Array): Statement | string {
  try {
    return parseStatement(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function faultsOf(entry: CheckedEntry, known: Known): EvidenceFault[] {
  const fault = entry.file === undefined ? undefined : contentFault(entry, known);
  return [signatureFault(entry, known), fault].filter((each) => each !== undefined);
}

/** What is wrong with the statement beside a file. */
function signatureFault(entry: CheckedEntry, { bySuccessor, keys }: Known): EvidenceFault | undefined {
  const { name, file, statement, signature, valid, statementSha256 } = entry;
  const fault = (kind: EvidenceFaultKind, what: string) => ({ name, kind, what });
  if (valid) {
    return valid.name === name || !file
      ? undefined
      : fault("renamed", `the statement beside it is that of ${valid.name}: one of them was renamed`);
  }
  if (!statement) {
    if (!signature) return fault("unsigned", "it has no statement: it was added, or its statement was deleted");
    return fault("statement", "its statement is missing");
  }
  if (!signature) return fault("signature", "its signature is missing");
  const parsed = parse(statement);
  if (typeof parsed === "string") return fault("statement", `its statement was changed: ${parsed}`);
  const successor = bySuccessor.get(name);
  if (keys.every(({ fingerprint }) => fingerprint !== parsed.key)) {
    return fault("key", `its statement was signed with another key: ${parsed.key}`);
  }
  if (successor?.statementSha256 === statementSha256) return fault("signature", "its signature was changed");
  return successor
    ? fault("statement", "its statement was changed")
    : fault("statement", "its statement or its signature was changed, or another key has signed it");
}

/** What is wrong with the file itself, as far as a valid statement speaks of it. */
function contentFault({ name, file, valid }: CheckedEntry, known: Known): EvidenceFault | undefined {
  const wanted: { sha256: string; bytes?: number } | undefined = known.byName.get(name) ??
    known.bySuccessor.get(name) ?? valid;
  if (!file || !wanted || file.sha256 === wanted.sha256) return undefined;
  const fault = (kind: EvidenceFaultKind, what: string) => ({ name, kind, what });
  const other = known.byHash.get(file.sha256);
  if (other !== undefined) return fault("changed", `it has the content of ${other}`);
  const { bytes = file.bytes } = wanted;
  if (file.bytes < bytes) return fault("cut", `${bytes - file.bytes} of its ${bytes} bytes are missing`);
  if (file.bytes > bytes) return fault("extended", `${file.bytes - bytes} bytes were added to its ${bytes}`);
  return fault("changed", "its content was changed");
}
