import { errorText, type Logger } from "../../base/mod.ts";
import type { Block } from "../block/block.ts";
import { BlockError } from "../errors.ts";
import { nameOf, parseFileName } from "../file/name.ts";
import type { FileEntry } from "../file/order.ts";
import type { TableFaults } from "./read_table.ts";

/** Maximum number of remembered faults; each is reported once. */
const MAX_TOLD_FAULTS = 10_000;

/** Faults that health can name; older ones go. */
export const MAX_NAMED_FAULTS = 1000;

/** Faults of a journal's files. Each fault is reported once. */
export class IndexFaults {
  readonly #log: Logger;
  readonly #unread = new Set<string>();
  readonly #told = new Set<string>();
  /** By name of the file. */
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

  /** Blocks that were found damaged. */
  get damagedBlocks(): number {
    return this.#damagedBlocks;
  }

  /** What is damaged or cannot be read, in words; each names its file. */
  get damage(): string[] {
    const unread = [...this.#unread].map((path) => `journal file "${nameOf(path)}" cannot be read`);
    return [...Array.from(this.#damaged, ([name, reason]) => `${name} is damaged: ${reason}`), ...unread];
  }

  /** Forgets a file's read fault: it was read, will be read again, or need not be read. */
  noteRead(path: string): void {
    this.#unread.delete(path);
  }

  /** The blocks of a file cannot be found. */
  noteUnread(path: string, error: unknown): void {
    this.#unread.add(path);
    this.#refusals++;
    this.#tellOf(path, "journal file cannot be read", error);
  }

  /** A file is none of the journal's, or could not be read. */
  notePassedOver(path: string, error: unknown): void {
    if (!(error instanceof BlockError || error instanceof Deno.errors.NotFound)) {
      this.#unread.add(path);
      this.#refusals++;
    }
    // One with another name is somebody else's.
    if (error instanceof BlockError && parseFileName(nameOf(path))) this.#noteDamage(fileWords(nameOf(path)), error);
    this.#tellOf(path, "journal file passed over", error);
  }

  /** Forgets a removed file. */
  noteRemoved(path: string): void {
    this.#unread.delete(path);
    this.#damaged.delete(fileWords(nameOf(path)));
  }

  /** A file was deleted by somebody else. */
  noteGone({ path, name }: FileEntry): void {
    this.noteRemoved(path);
    if (this.#isNews(`${name} gone`)) this.#log.warn("journal file was deleted while it was read", { path });
  }

  /** Faults that were found while the blocks of a file were looked for. */
  noteTable(file: FileEntry, { damaged, tornAt }: TableFaults): void {
    for (const offset of damaged) {
      this.noteBlock(file, offset, new BlockError("size", "The block has no possible length"));
    }
    if (tornAt === undefined || file.isWritten) return;
    this.#noteDamage(fileWords(file.name), `it is torn at byte ${tornAt}`);
    if (!this.#isNews(`${file.name} torn`)) return;
    this.#log.warn("journal file is torn", { path: file.path, offset: tornAt });
  }

  /** A block cannot be read. */
  noteBlock({ path, name }: FileEntry, offset: number, error: unknown): void {
    this.#noteDamage(fileWords(name), error);
    if (!this.#isNews(`${name} ${offset}`)) return;
    this.#damagedBlocks++;
    this.#log.warn("damaged block passed over", { path, offset, reason: errorText(error) });
  }

  /** Frames of a block cannot be read, though its checksum fits. */
  noteFrames({ baseSeq, baseTimeUs }: Block, error: BlockError): void {
    const where = baseSeq === undefined ? { timeUs: baseTimeUs } : { seq: baseSeq };
    this.#noteDamage(`block ${JSON.stringify(where)}`, error);
    if (!this.#isNews(`block ${JSON.stringify(where)}`)) return;
    this.#damagedBlocks++;
    this.#log.warn("damaged frames passed over", { ...where, reason: error.message });
  }

  /** @param what a file or block, in words */
  #noteDamage(what: string, error: unknown): void {
    if (this.#damaged.has(what)) return;
    const [oldest] = this.#damaged.keys();
    if (oldest !== undefined && this.#damaged.size >= MAX_NAMED_FAULTS) this.#damaged.delete(oldest);
    this.#damaged.set(what, typeof error === "string" ? error : errorText(error));
  }

  #tellOf(path: string, what: string, error: unknown): void {
    const reason = errorText(error);
    if (this.#isNews(`${path} ${reason}`)) this.#log.warn(what, { path, reason });
  }

  /** False if it was reported before. */
  #isNews(fault: string): boolean {
    if (this.#told.has(fault)) return false;
    if (this.#told.size >= MAX_TOLD_FAULTS) this.#told.clear();
    this.#told.add(fault);
    return true;
  }
}

function fileWords(name: string): string {
  return `journal file "${name}"`;
}
