import type { SignedStatement } from "./sidecars.ts";
import type { FileHash, Statement } from "./statement.ts";

/**
 * What was changed.
 *
 * - `changed`, `cut`, `extended`: the content of the file
 * - `renamed`: the statement beside the file is that of another one
 * - `unsigned`: there is no statement
 * - `statement`, `signature`: what is beside the file; `key`: it was signed with another key
 * - `predecessor`: the statement does not follow the one before it
 * - `missing`: there is no such file
 */
export type EvidenceFaultKind =
  | "changed"
  | "cut"
  | "extended"
  | "renamed"
  | "unsigned"
  | "statement"
  | "signature"
  | "key"
  | "predecessor"
  | "missing";

/** Something that was changed. */
export interface EvidenceFault {
  /** Name of the file that it is about. */
  name: string;
  /** For programs. */
  kind: EvidenceFaultKind;
  /** For people, without the name. */
  what: string;
}

/** A journal file, its statement, or both. */
export interface FoundEvidence extends SignedStatement {
  /** Name of the file. */
  name: string;
  /** Undefined: only the statement is there. */
  file: (FileHash & { isComplete: boolean }) | undefined;
}

/** Result of {@linkcode checkEvidence}. */
export interface CheckedEvidence {
  /** In the order of files, then of the chain. */
  faults: EvidenceFault[];
  /** Files with a valid statement that they agree with. */
  signed: number;
  /** Of these: files that were signed late, after a restart or a failure. */
  late: number;
  /** The newest file, which has no statement because it is not complete. */
  open: string | undefined;
}

/** What is known of a file. */
export interface CheckedEntry extends FoundEvidence {
  /** The statement, if its signature is valid; and its hash. */
  valid: Statement | undefined;
  statementSha256: string | undefined;
}
