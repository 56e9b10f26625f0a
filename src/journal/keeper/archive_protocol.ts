import { parseFileName } from "../file/name.ts";

/** A file as the archive command gets it. */
export interface ArchiveFile {
  /** Whole path. The command's answer names it in the same letters. */
  path: string;
  name: string;
  bytes: number;
}

/** What became of a file. */
export type ArchiveOutcome = { status: "ok" } | { status: "error"; error: string };

/** Longest line that a command's answer may have. */
export const MAX_LINE_BYTES = 64 * 1024;
/** A batch has at most so many files: what fails with one of them is done again for few. */
const MAX_BATCH_FILES = 32;
/** Far below what systems take as arguments. */
const MAX_BATCH_BYTES = 64 * 1024;
/** Longest error text of a command that is kept. */
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
export function requestLine({ path, name, bytes }: ArchiveFile, { instanceId }: { instanceId: string }): string {
  const timeMs = parseFileName(name)?.timeMs ?? 0;
  const created = new Date(timeMs).toISOString().replace(/\.\d+Z$/, "Z");
  return JSON.stringify({ path, instance_id: instanceId, size: bytes, created }) + "\n";
}

/**
 * Reads a command's answers, in whatever pieces they come. An answer counts for the path that it names and no other; what
 * is no answer, or names no file of the batch, is counted and passed over. Who says both ok and error of a file meant error.
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

  /** Lines that were no answers to what was asked. */
  get ignored(): number {
    return this.#ignored;
  }

  /** Takes the next piece of output. */
  push(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length;) {
      const newline = bytes.indexOf(NEWLINE, from);
      const to = newline < 0 ? bytes.length : newline;
      this.#append(bytes.subarray(from, to));
      if (newline >= 0) this.#endLine();
      from = to + 1;
    }
  }

  /** The output is at its end; a last line may lack its newline. */
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
