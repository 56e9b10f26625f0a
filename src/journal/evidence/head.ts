import { asRecord, AtomicFile, type DurableFile, readList, readText } from "../../base/mod.ts";
import { STATEMENT_EXTENSION } from "../file/name.ts";
import type { EvidenceKey } from "./key.ts";
import { readSigned } from "./sidecars.ts";
import { MAX_STATEMENT_BYTES, parseStatement, type Predecessor, sha256, type Statement } from "./statement.ts";

/** Name of the file in the state directory. */
const STATE_FILE = "evidence.json";
const VERSION = 1;
/** A statement in JSON, with names of files beside it. */
const MAX_BYTES = 3 * MAX_STATEMENT_BYTES;

/** The newest statement of the chain, and its text. */
export interface ChainHead {
  statement: Statement;
  text: string;
}

/** What outlasts the directory: files and statements that somebody has deleted there are still followed by others. */
export interface EvidenceState {
  head: ChainHead | undefined;
  /** Names of the files that retention has deleted since. */
  removed: readonly string[];
}

/** The file with the state of signing. */
export function stateFile(stateDirectory: string): DurableFile {
  return new AtomicFile(stateDirectory, { name: STATE_FILE, maxBytes: MAX_BYTES });
}

/** The content of that file, for JSON. */
export function encodeState({ head, removed }: EvidenceState): unknown {
  return { version: VERSION, head: head?.text ?? "", removed };
}

/** Reads the content of that file. @throws {SyntaxError|TypeError} it is none */
export function parseState(json: string): EvidenceState {
  const found = asRecord(JSON.parse(json));
  if (found["version"] !== VERSION) throw new TypeError(`expected version ${VERSION}`);
  const text = readText(found, "head");
  const removed = readList(found, "removed").filter((each) => typeof each === "string");
  return { head: text === "" ? undefined : { text, statement: parseStatement(text) }, removed };
}

/** How the next statement names the newest one. */
export function predecessorOf({ statement: { name, sha256: file }, text }: ChainHead): Predecessor {
  return { name, sha256: file, statementSha256: sha256(text) };
}

/**
 * The newest statement in a directory that the key has signed; undefined if there is none.
 *
 * @param names of all files there
 */
export async function newestIn(
  directory: string,
  { names, key }: { names: Iterable<string>; key: EvidenceKey },
): Promise<ChainHead | undefined> {
  const heads: (ChainHead & { path: string })[] = [];
  for (const name of names) {
    if (!name.endsWith(STATEMENT_EXTENSION)) continue;
    const head = await readHead(`${directory}/${name}`);
    if (head) heads.push({ ...head, path: `${directory}/${name.slice(0, -STATEMENT_EXTENSION.length)}` });
  }
  heads.sort((a, b) => b.statement.number - a.statement.number);
  for (const { path, ...head } of heads) {
    const { statement, signature } = await readSigned(path);
    if (statement && signature && await key.verify(statement, signature)) return head;
  }
  return undefined;
}

async function readHead(path: string): Promise<ChainHead | undefined> {
  try {
    const text = await Deno.readTextFile(path);
    return { text, statement: parseStatement(text) };
  } catch {
    // Deleted meanwhile, or changed: `vbg verify -evidence` reports it.
    return undefined;
  }
}
