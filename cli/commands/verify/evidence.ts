import { basename, dirname, resolve } from "node:path";
import { errorText, pathExists } from "@vessel/gateway/base";
import {
  checkEvidence,
  type EvidenceFault,
  type EvidencePublicKey,
  type FileHash,
  type FoundEvidence,
  hashFile,
  JOURNAL_EXTENSION,
  openBlockFile,
  PUBLIC_KEY_FILE,
  readPublicKey,
  readSigned,
  SIGNATURE_EXTENSION,
  STATEMENT_EXTENSION,
} from "@vessel/gateway/journal";
import { Interrupted } from "../../program/interrupt.ts";
import { SettingsError } from "../../program/program.ts";
import type { FoundFile } from "../inspect/file.ts";
import type { JournalInput } from "../inspect/run.ts";
import { type Fault, verifyFile } from "./file.ts";

/** Something that was changed, and where in the file. */
export interface LocatedFault extends EvidenceFault {
  path: string;
  /** What blocks say, where the content was changed. */
  places: Fault[];
}

/** Result of verifying statements. */
export interface VerifiedEvidence {
  files: number;
  signed: number;
  /** Of these: signed late, after a restart or a failure. */
  late: number;
  /** Paths of files that are not complete. */
  open: string[];
  faults: LocatedFault[];
  notes: string[];
}

/** Faults of the content, which blocks may locate. */
const CONTENT_FAULTS: ReadonlySet<string> = new Set(["changed", "cut", "extended"]);

/** Checks files against their signed statements. Changes nothing. @param keyFiles default: the key in each directory */
export async function verifyEvidence(
  { found, names, onBytes, fail }: Pick<JournalInput, "found" | "names" | "onBytes" | "fail">,
  { keyFiles }: { keyFiles: readonly string[] },
): Promise<VerifiedEvidence> {
  const result: VerifiedEvidence = { files: 0, signed: 0, late: 0, open: [], faults: [], notes: [] };
  const given = await Promise.all(keyFiles.map(readKey));
  const whole = new Set(names.map((name) => resolve(name)));
  const isJournal = ({ path }: FoundFile) => path.toLowerCase().endsWith(JOURNAL_EXTENSION);
  // A directory counts also if its write-ahead log is all that is left: its statements name the files.
  const places = Map.groupBy(found, ({ path }) => dirname(path));
  for (const [directory, all] of places) {
    const isWhole = whole.has(resolve(directory));
    const ofIt = all.filter(isJournal);
    if (!isWhole && ofIt.length === 0) continue;
    const keys = given.length > 0 ? given : [await keyOf(directory, result.notes)];
    const evidence = await collect(ofIt, { directory: isWhole ? directory : undefined, onBytes, fail });
    const { faults, signed, late, open } = await checkEvidence(evidence, { keys, isWhole });
    result.files += evidence.filter(({ file }) => file).length;
    result.signed += signed;
    result.late += late;
    if (open !== undefined) result.open.push(`${directory}/${open}`);
    for (const fault of faults) result.faults.push(await locate(fault, { directory, found: ofIt, onBytes }));
  }
  if (result.files + result.open.length + result.faults.length === 0) {
    result.notes.push("No file is complete yet: nothing is signed, and nothing was checked");
  }
  return result;
}

async function keyOf(directory: string, notes: string[]): Promise<EvidencePublicKey> {
  const path = `${directory}/${PUBLIC_KEY_FILE}`;
  if (!await pathExists(path)) {
    throw new SettingsError(`Cannot verify "${directory}": it has no ${PUBLIC_KEY_FILE}; -evidence-key names the key`);
  }
  notes.push(`The key is ${path}. Who can write there can replace it: -evidence-key names a copy elsewhere`);
  return await readKey(path);
}

async function readKey(path: string): Promise<EvidencePublicKey> {
  try {
    return await readPublicKey(await Deno.readTextFile(path), path);
  } catch (error) {
    throw error instanceof TypeError
      ? new SettingsError(error.message)
      : new SettingsError(`Cannot read the key "${path}": ${errorText(error)}`);
  }
}

/** Reads files and statements; with a directory also statements whose file is missing. */
async function collect(
  files: readonly FoundFile[],
  { directory, onBytes, fail }: Pick<JournalInput, "onBytes" | "fail"> & { directory: string | undefined },
): Promise<FoundEvidence[]> {
  const hashes = new Map<string, FileHash>();
  for (const { path } of files) {
    try {
      hashes.set(path, await hashFile(path, onBytes));
    } catch (error) {
      // What the command was stopped with is passed on.
      if (error instanceof Interrupted) throw error;
      if (!(error instanceof Deno.errors.NotFound)) fail(`Cannot read "${path}": ${errorText(error)}`);
    }
  }
  // After the files: a server may have signed the newest one meanwhile.
  const evidence: FoundEvidence[] = [];
  for (const [path, hash] of hashes) {
    const signed = await readSigned(path);
    const isComplete = signed.statement !== undefined || await hasIndex(path);
    evidence.push({ name: basename(path), file: { ...hash, isComplete }, ...signed });
  }
  for (const name of directory === undefined ? [] : await namesOfStatements(directory)) {
    const path = `${directory}/${name}`;
    // Deleted by retention since, or added.
    if (hashes.has(path) || await pathExists(path)) continue;
    evidence.push({ name, file: undefined, ...await readSigned(path) });
  }
  return evidence;
}

async function hasIndex(path: string): Promise<boolean> {
  // A damaged file was complete once.
  return await openBlockFile(path).then(({ index }) => index.state === "closed", () => true);
}

/** Names of the files that statements or signatures in a directory are about. */
async function namesOfStatements(directory: string): Promise<string[]> {
  const names = new Set<string>();
  for await (const { name } of Deno.readDir(directory)) {
    for (const extension of [STATEMENT_EXTENSION, STATEMENT_EXTENSION + SIGNATURE_EXTENSION]) {
      if (name.endsWith(JOURNAL_EXTENSION + extension)) names.add(name.slice(0, -extension.length));
    }
  }
  return [...names];
}

async function locate(
  fault: EvidenceFault,
  { directory, found, onBytes }: Pick<JournalInput, "found" | "onBytes"> & { directory: string },
): Promise<LocatedFault> {
  const path = `${directory}/${fault.name}`;
  const file = CONTENT_FAULTS.has(fault.kind) ? found.find((each) => each.path === path) : undefined;
  const verified = file && await verifyFile(file, () => onBytes(0));
  return { ...fault, path, places: verified?.errors ?? [] };
}
