import { parseFileName } from "../file/name.ts";

/** Description of a file for the archive command. */
export interface ArchiveFile {
  /** Full path. The command's answer must repeat it exactly. */
  path: string;
  name: string;
  bytes: number;
  /** Paths of its statement and of the signature, as far as they are there; default none. */
  evidence?: readonly string[] | undefined;
}

/** Outcome for a file. */
export type ArchiveOutcome = { status: "ok" } | { status: "error"; error: string };

/** Maximum length of a line in a command's answer. */
export const MAX_LINE_BYTES = 64 * 1024;
/** Maximum files in a batch: limits how many are retried after a failure. */
const MAX_BATCH_FILES = 32;
/** Far below the operating systems' limits for arguments. */
const MAX_BATCH_BYTES = 64 * 1024;
/** Maximum length of a stored error text. */
const MAX_ERROR_CHARS = 500;
const NEWLINE = 0x0a;

/** Divides files into batches, each small enough to be arguments of one command. */
export function* batchesOf<F extends { path: string }>(files: readonly F[]): Generator<F[]> {
  let batch: F[] = [];
  let bytes = 0;
  for (const file of files) {
    const pathBytes = new TextEncoder().encode(file.path).length;
    if (batch.length > 0 && (batch.length >= MAX_BATCH_FILES || bytes + pathBytes > MAX_BATCH_BYTES)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(file);
    bytes += pathBytes;
  }
  if (batch.length > 0) yield batch;
}

/** The line on a command's standard input that describes a file, with its newline. */
export function requestLine(
  { path, name, bytes, evidence = [] }: ArchiveFile,
  { instanceId }: { instanceId: string },
): string {
  const timeMs = parseFileName(name)?.timeMs ?? 0;
  const created = new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
  const sidecars = evidence.length > 0 ? { sidecars: evidence } : {};
  return JSON.stringify({ path, instance_id: instanceId, size: bytes, created, ...sidecars }) + "\n";
}

/**
 * Parses a command's answers from chunks of any size. An answer applies only to the path that it names. Lines that
 * are no answer, or name no file of the batch, are counted and skipped. Both ok and error for a file means error.
 */
export class ArchiveAnswers {
  readonly #asked: ReadonlySet<string>;
  readonly #outcomes = new Map<string, ArchiveOutcome>();
  readonly #line = new Uint8Array(MAX_LINE_BYTES);
  #length = 0;
  #isTooLong = false;
  #ignored = 0;

  /** @param paths the files of the batch */
  constructor(paths: Iterable<string>) {
    this.#asked = new Set(paths);
  }

  /** Answers so far, by path. */
  get outcomes(): ReadonlyMap<string, ArchiveOutcome> {
    return this.#outcomes;
  }

  /** Number of skipped lines. */
  get ignored(): number {
    return this.#ignored;
  }

  /** Parses the next chunk of output. */
  push(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length;) {
      const newline = bytes.indexOf(NEWLINE, from);
      const to = newline < 0 ? bytes.length : newline;
      this.#append(bytes.subarray(from, to));
      if (newline >= 0) this.#endLine();
      from = to + 1;
    }
  }

  /** Ends the output; the last line may lack its newline. */
  end(): void {
    this.#endLine();
  }

  #append(part: Uint8Array): void {
    this.#isTooLong ||= this.#length + part.length > MAX_LINE_BYTES;
    if (this.#isTooLong) return;
    this.#line.set(part, this.#length);
    this.#length += part.length;
  }

  #endLine(): void {
    const text = new TextDecoder().decode(this.#line.subarray(0, this.#length)).trim();
    const answer = this.#isTooLong ? undefined : parseAnswer(text);
    if (answer && this.#asked.has(answer.path)) {
      if (this.#outcomes.get(answer.path)?.status !== "error") this.#outcomes.set(answer.path, answer.outcome);
    } else if (this.#isTooLong || text !== "") {
      this.#ignored++;
    }
    this.#length = 0;
    this.#isTooLong = false;
  }
}

function parseAnswer(text: string): { path: string; outcome: ArchiveOutcome } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { path, status, error }: { path?: unknown; status?: unknown; error?: unknown } = value;
  if (typeof path !== "string") return undefined;
  if (status === "ok") return { path, outcome: { status } };
  if (status !== "error") return undefined;
  const message = typeof error === "string" && error !== "" ? error : "the command gave no reason";
  return { path, outcome: { status, error: message.slice(0, MAX_ERROR_CHARS) } };
}
