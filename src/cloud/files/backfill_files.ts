import { type Clock, errorText, type Logger } from "../../base/mod.ts";
import {
  epochWordOf,
  JournalFile,
  type JournalIndex,
  nextFileName,
  parseFileName,
  type WrittenBlock,
} from "../../journal/mod.ts";
import { type CheckedBlock, findConflict, storedForm } from "./block_check.ts";

/** Prefix of the names of backfill files. */
export const BACKFILL_PREFIX = "backfill";
/** Maximum open files of one backfill: a file has blocks of one size and one epoch. */
export const MAX_OPEN_BACKFILL_FILES = 4;

/** Options of {@linkcode BackfillFiles}. */
export interface BackfillFilesOptions {
  /** The boat's directory. */
  directory: string;
  index: JournalIndex;
  /** Called for each block that is synced to disk. */
  onWritten: (block: WrittenBlock) => void;
  /** True while recording is paused. */
  isPaused: () => boolean;
  compression: "none" | "zstd";
  clock: Pick<Clock, "wallUs">;
  log: Logger;
}

/** The files of one backfill: created for their first block, ended with the backfill. */
export class BackfillFiles {
  readonly #options: BackfillFilesOptions;
  /** By kind of blocks; the oldest file first. */
  readonly #files = new Map<string, JournalFile>();
  readonly #names = new Set<string>();
  /** For each file that may have blocks which the record lacks: the newest file when it was created. */
  #before: { name: string; newest: string | undefined }[] = [];
  /** The last of the operations, which run one after the other. */
  #working: Promise<unknown> = Promise.resolve();
  #isEnded = false;
  #newestName: string | undefined;

  constructor(options: BackfillFilesOptions) {
    this.#options = options;
  }

  /** True while a file, given by its name, is being written, and before it exists. */
  isOpen(name: string): boolean {
    return this.#names.has(name);
  }

  /** Name of the file that was created last; undefined: none. */
  get newestName(): string | undefined {
    return this.#newestName;
  }

  /**
   * The newest file before those of this backfill that may have blocks which the record lacks; undefined: there are no such
   * files.
   */
  get accountedThrough(): { name: string | undefined } | undefined {
    const [oldest] = this.#before;
    return oldest && { name: oldest.newest };
  }

  /**
   * Writes blocks unchanged and syncs them. Returns their size on disk, bytes. Must not be called before the record contains
   * the blocks of the last call.
   *
   * @param epoch 16 bytes
   * @throws {Error} writing failed; some of the blocks may be on disk
   */
  write(blocks: readonly CheckedBlock[], epoch: Uint8Array<ArrayBuffer>): Promise<number> {
    return this.#inTurn(() => this.#write(blocks, epoch));
  }

  /** See {@linkcode findConflict}. */
  conflict(block: CheckedBlock, epoch: Uint8Array<ArrayBuffer>): Promise<number | undefined> {
    return findConflict(block, { index: this.#options.index, epoch });
  }

  /** Ends all files; further blocks go into new ones. */
  rotate(): Promise<void> {
    return this.#inTurn(async () => {
      for (const kind of [...this.#files.keys()]) await this.#endFile(kind);
    });
  }

  /** Ends all files; further blocks are refused. Opening the boat's journal repairs a file that fails to end. */
  end(): Promise<void> {
    return this.#inTurn(async () => {
      this.#isEnded = true;
      for (const kind of [...this.#files.keys()]) await this.#endFile(kind);
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#working.then(work);
    this.#working = done.catch(() => {});
    return done;
  }

  async #write(blocks: readonly CheckedBlock[], epoch: Uint8Array<ArrayBuffer>): Promise<number> {
    if (this.#isEnded) throw new Error("the session of these blocks has ended");
    if (this.#options.isPaused()) throw new Error("recording is paused: there is no room");
    this.#before = this.#before.filter(({ name }) => this.#names.has(name));
    let bytes = 0;
    for (const [blockBytes, group] of Map.groupBy(blocks, (each) => each.bytes.length)) {
      bytes += await this.#writeGroup(group, { blockBytes, epoch });
    }
    return bytes;
  }

  async #writeGroup(
    blocks: readonly CheckedBlock[],
    { blockBytes, epoch }: { blockBytes: number; epoch: Uint8Array<ArrayBuffer> },
  ): Promise<number> {
    const { compression, onWritten } = this.#options;
    const kind = `${epoch.toHex()} ${blockBytes}`;
    const firstTimeUs = blocks[0]?.firstTimeUs ?? 0;
    const file = this.#files.get(kind) ?? await this.#create(kind, { firstTimeUs, blockBytes, epoch });
    const stored = blocks.map((block) => storedForm(block, { epoch, compression }));
    try {
      const offsets = await file.appendAll(stored);
      const { path, header, bytes: fileBytes } = file;
      for (const [i, { sealed: { bytes: _, epochWord: __, ...block } }] of stored.entries()) {
        onWritten({ ...block, path, header, fileBytes, offset: offsets[i] ?? 0 });
      }
    } catch (error) {
      // The content of the file is unknown now: further blocks go into another file.
      this.#files.delete(kind);
      this.#names.delete(nameOf(file));
      await file.abandon();
      throw error;
    }
    return stored.reduce((sum, { packed }) => sum + packed.length, 0);
  }

  async #create(kind: string, { firstTimeUs, blockBytes, epoch }: {
    firstTimeUs: number;
    blockBytes: number;
    epoch: Uint8Array<ArrayBuffer>;
  }): Promise<JournalFile> {
    const [oldest] = this.#files.keys();
    if (oldest !== undefined && this.#files.size >= MAX_OPEN_BACKFILL_FILES) await this.#endFile(oldest);
    const { directory, compression, clock } = this.#options;
    for (;;) {
      const when = { timeUs: firstTimeUs, nowMs: clock.wallUs() / 1000 };
      const { name, newest } = await nextName(directory, when);
      this.#names.add(name);
      this.#before.push({ name, newest });
      const path = `${directory}/${name}`;
      const epochWord = epochWordOf(epoch);
      try {
        const file = await JournalFile.create({ path, directory, blockBytes, compression, epochWord });
        this.#files.set(kind, file);
        this.#newestName = name;
        return file;
      } catch (error) {
        this.#names.delete(name);
        this.#before.pop();
        // The backfill that this one replaces may have created a file with this name.
        if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
      }
    }
  }

  async #endFile(kind: string): Promise<void> {
    const file = this.#files.get(kind);
    if (!file) return;
    this.#files.delete(kind);
    try {
      await file.end();
    } catch (error) {
      this.#options.log.error("backfill file not completed", { path: file.path, error: errorText(error) });
      await file.abandon();
    }
    this.#names.delete(nameOf(file));
  }
}

/** A name by the first block's time, but after the newest name: the order of names is the order of writing. */
async function nextName(
  directory: string,
  { timeUs, nowMs }: { timeUs: number; nowMs: number },
): Promise<{ name: string; newest: string | undefined }> {
  const taken = new Set<string>();
  let newest: { name: string; timeMs: number } | undefined;
  for await (const { name } of Deno.readDir(directory)) {
    taken.add(name);
    const parsed = parseFileName(name);
    if (parsed?.prefix !== BACKFILL_PREFIX || parsed.timeMs <= (newest?.timeMs ?? -Infinity)) continue;
    newest = { name, timeMs: parsed.timeMs };
  }
  const after = newest?.name;
  const isTaken = (name: string) => taken.has(name);
  return { name: nextFileName(BACKFILL_PREFIX, { timeUs, after, isTaken, nowMs }), newest: after };
}

function nameOf({ path }: JournalFile): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
