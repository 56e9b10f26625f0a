import { createHash } from "node:crypto";
import { statementOf } from "../file/name.ts";

/** Hash and size of a file. */
export interface FileHash {
  /** Size, bytes. */
  bytes: number;
  /** SHA-256, 64 hexadecimal digits. */
  sha256: string;
}

/** The file that was signed before another one. */
export interface Predecessor {
  name: string;
  /** SHA-256 of the file, and of its statement. */
  sha256: string;
  statementSha256: string;
}

/** What the boat says of one complete file of its journal. */
export interface Statement extends FileHash {
  /** Position in the chain of signed files, from 1. */
  number: number;
  name: string;
  /** True if it was signed after a restart, or after signing had failed: until then others could have changed the file. */
  isLate: boolean;
  /** 16 bytes in hexadecimal, with the numbers of the first and last frame; undefined if they are not known. */
  frames: { epoch: string; firstSeq: number; lastSeq: number } | undefined;
  /** SHA-256 of the public key, hexadecimal. */
  key: string;
  /** Undefined only for the first file of the chain. */
  previous: Predecessor | undefined;
  /** Files that retention has deleted since the previous statement while older ones stayed. */
  removed: readonly string[];
}

/** Bytes of the longest statement that is read. */
export const MAX_STATEMENT_BYTES = 1024 * 1024;
/** Most names in `removed`. */
export const MAX_REMOVED = 5000;
/** Names that need no quoting in the lines of `sha256sum`. */
const NAME = /^[ -[\]-~]+$/;

const VERSION = "# vbg evidence 1";
const AT_END = "# signed when it was complete";
const LATE = "# signed late, after a restart or a failure";
const NO_FRAMES = "# frames unknown";
const FIRST = "# first of its chain";

/** True if a file of this name can be signed. */
export function isSignable(name: string): boolean {
  return NAME.test(name);
}

/** SHA-256 in hexadecimal. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/**
 * The text that is signed: comments, and after them lines as `sha256sum` prints and checks them, of the file, of its
 * predecessor, and of the predecessor's statement.
 */
export function encodeStatement(statement: Statement): string {
  const { number, name, bytes, sha256, isLate, frames, key, previous, removed } = statement;
  return [
    VERSION,
    `# number ${number}`,
    isLate ? LATE : AT_END,
    frames ? `# frames ${frames.epoch} ${frames.firstSeq}-${frames.lastSeq}` : NO_FRAMES,
    `# bytes ${bytes}`,
    `# key ${key}`,
    ...removed.map((each) => `# deleted ${each}`),
    `${sha256}  ${name}`,
    ...previous
      ? [`${previous.sha256}  ${previous.name}`, `${previous.statementSha256}  ${statementOf(previous.name)}`]
      : [FIRST],
    "",
  ].join("\n");
}

/** Reads a statement. @throws {SyntaxError} it is none, or not exactly as it is written */
export function parseStatement(text: string): Statement {
  const lines = text.split("\n");
  if (lines.shift() !== VERSION) throw new SyntaxError(`its first line is not "${VERSION}"`);
  const next = (form: RegExp): string[] => {
    const line = lines.shift() ?? "";
    const found = form.exec(line);
    if (!found) throw new SyntaxError(`it has the line "${line.slice(0, 80)}", expected ${form}`);
    return found.slice(1).map((each) => each ?? "");
  };
  const [number = ""] = next(/^# number (\d{1,15})$/);
  const [late] = next(/^# signed (when it was complete|late, after a restart or a failure)$/);
  const [epoch = "", firstSeq = "", lastSeq = ""] = next(/^# frames (?:([0-9a-f]{32}) (\d{1,16})-(\d{1,16})|unknown)$/);
  const [bytes = ""] = next(/^# bytes (\d{1,15})$/);
  const [key = ""] = next(/^# key ([0-9a-f]{64})$/);
  const removed: string[] = [];
  while (lines[0]?.startsWith("# deleted ")) removed.push(...next(/^# deleted (.+)$/));
  const [sha256 = "", name = ""] = next(/^([0-9a-f]{64}) {2}(.+)$/);
  const previous = lines[0] === FIRST ? void lines.shift() : readPrevious(next);
  const statement: Statement = {
    ...{ number: Number(number), name, bytes: Number(bytes), sha256, isLate: late !== "when it was complete", key },
    frames: epoch === "" ? undefined : { epoch, firstSeq: Number(firstSeq), lastSeq: Number(lastSeq) },
    previous,
    removed,
  };
  if ((statement.number === 1) !== (previous === undefined)) {
    throw new SyntaxError("its number and predecessor disagree");
  }
  if (encodeStatement(statement) !== text) throw new SyntaxError("it is not in the form in which it is written");
  return statement;
}

function readPrevious(next: (form: RegExp) => string[]): Predecessor {
  const [sha256 = "", name = ""] = next(/^([0-9a-f]{64}) {2}(.+)$/);
  const [statementSha256 = ""] = next(/^([0-9a-f]{64}) {2}.+$/);
  return { name, sha256, statementSha256 };
}
