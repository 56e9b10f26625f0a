import { basename } from "node:path";
import { errorText, type Logger } from "../../base/mod.ts";
import type { Block } from "../block/block.ts";
import { BlockError } from "../errors.ts";
import { parseFileName } from "../file/name.ts";
import type { FileEntry } from "../file/order.ts";
import type { locateBlocks } from "./file_index.ts";

/** Maximum number of remembered faults; each is logged once. */
const MAX_REPORTED_FAULTS = 10_000;

/** Maximum number of faults that health lists; the newest remain. */
export const MAX_NAMED_FAULTS = 1000;

/** Faults of a journal's files. Each fault is logged once. */
export class IndexFaults {
  readonly #log: Logger;
  readonly #unread = new Set<string>();
  readonly #reported = new Set<string>();
  /** Reasons by file or block. */
  readonly #damaged = new Map<string, string>();
  #damagedBlocks = 0;
  #refusals = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Paths of files that could not be read: their content is unknown. */
  get unread(): ReadonlySet<string> {
    return this.#unread;
  }

  /** Number of failed reads of a file or its block table. */
  get refusals(): number {
    return this.#refusals;
  }

  /** Number of damaged blocks found. */
  get damagedBlocks(): number {
    return this.#damagedBlocks;
  }

  /** Messages about damaged and unreadable files; each names its file. */
  get damage(): string[] {
    const unread = [...this.#unread].map((path) => `${fileWords(path)} cannot be read`);
    return [...Array.from(this.#damaged, ([name, reason]) => `${name} is damaged: ${reason}`), ...unread];
  }

  /** Clears a file's read fault: it was read, will be read again, or need not be read. */
  noteRead(path: string): void {
    this.#unread.delete(path);
  }

  /** Notes that the blocks of a file cannot be located. */
  noteUnread(path: string, error: unknown): void {
    this.#unread.add(path);
    this.#refusals++;
    this.#warnOnce(path, "journal file cannot be read", error);
  }

  /** Notes a file that is not a journal, or could not be read. */
  noteSkipped(path: string, error: unknown): void {
    if (!(error instanceof BlockError || error instanceof Deno.errors.NotFound)) {
      this.#unread.add(path);
      this.#refusals++;
    }
    // A file with another name does not belong to the journal.
    if (error instanceof BlockError && parseFileName(basename(path))) this.#noteDamage(fileWords(path), error);
    this.#warnOnce(path, "journal file skipped", error);
  }

  /** Forgets a removed file. */
  noteRemoved(path: string): void {
    this.#unread.delete(path);
    this.#damaged.delete(fileWords(path));
  }

  /** Notes a file that another program deleted. */
  noteDeleted({ path, name }: FileEntry): void {
    this.noteRemoved(path);
    if (this.#isNew(`${name} gone`)) this.#log.warn("journal file was deleted while it was read", { path });
  }

  /** Notes the faults found while the blocks of a file were located. */
  noteTable(file: FileEntry, { damaged, end, state }: Awaited<ReturnType<typeof locateBlocks>>): void {
    for (const offset of damaged) {
      this.noteBlock(file, offset, new BlockError("size", "The length of the block is invalid"));
    }
    if (state !== "torn" || file.isWritten) return;
    this.#noteDamage(fileWords(file.path), `it is torn at byte ${end}`);
    if (!this.#isNew(`${file.name} torn`)) return;
    this.#log.warn("journal file is torn", { path: file.path, offset: end });
  }

  /** Notes a block that cannot be read. */
  noteBlock({ path, name }: FileEntry, offset: number, error: unknown): void {
    this.#noteDamage(fileWords(path), error);
    if (!this.#isNew(`${name} ${offset}`)) return;
    this.#damagedBlocks++;
    this.#log.warn("damaged block skipped", { path, offset, reason: errorText(error) });
  }

  /** Notes a block with unreadable frames despite a valid checksum. */
  noteFrames({ baseSeq, baseTimeUs }: Block, error: BlockError): void {
    const where = baseSeq === undefined ? { timeUs: baseTimeUs } : { seq: baseSeq };
    this.#noteDamage(`block ${JSON.stringify(where)}`, error);
    if (!this.#isNew(`block ${JSON.stringify(where)}`)) return;
    this.#damagedBlocks++;
    this.#log.warn("damaged frames skipped", { ...where, reason: error.message });
  }

  /** @param what description of a file or block */
  #noteDamage(what: string, error: unknown): void {
    if (this.#damaged.has(what)) return;
    const [oldest] = this.#damaged.keys();
    if (oldest !== undefined && this.#damaged.size >= MAX_NAMED_FAULTS) this.#damaged.delete(oldest);
    this.#damaged.set(what, typeof error === "string" ? error : errorText(error));
  }

  #warnOnce(path: string, message: string, error: unknown): void {
    const reason = errorText(error);
    if (this.#isNew(`${path} ${reason}`)) this.#log.warn(message, { path, reason });
  }

  /** False if the fault was reported before. */
  #isNew(fault: string): boolean {
    if (this.#reported.has(fault)) return false;
    if (this.#reported.size >= MAX_REPORTED_FAULTS) this.#reported.clear();
    this.#reported.add(fault);
    return true;
  }
}

function fileWords(path: string): string {
  return `journal file "${basename(path)}"`;
}
