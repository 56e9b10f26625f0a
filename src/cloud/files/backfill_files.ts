import { type Clock, errorText, type Logger } from "../../base/mod.ts";
import {
  epochWordOf,
  JournalFile,
  type JournalIndex,
  nextFileName,
  parseFileName,
  type WrittenBlock,
} from "../../journal/mod.ts";
import { type CheckedBlock, storedForm } from "./block_check.ts";
import { findConflict } from "./block_conflict.ts";

/** First part of the names of files with blocks that boats have sent. */
export const BACKFILL_PREFIX = "backfill";
/** Files that one session has open: a file has blocks of one size and one run of numbers. */
export const MAX_OPEN_BACKFILL_FILES = 4;

/** Where blocks go. */
export interface BackfillFilesOptions {
  /** The boat's directory. */
  directory: string;
  /** What is on disk. */
  index: JournalIndex;
  /** Told of every block that is safe. */
  onWritten: (block: WrittenBlock) => void;
  /** Whether there is no room for more now. */
  isPaused: () => boolean;
  compression: "none" | "zstd";
  clock: Pick<Clock, "wallUs">;
  log: Logger;
}

/** The files of one backfill session: made when the first block of their kind comes, ended with the session. */
export class BackfillFiles {
  readonly #options: BackfillFilesOptions;
  /** By kind of blocks; the one that was made first comes first. */
  readonly #files = new Map<string, JournalFile>();
  readonly #names = new Set<string>();
  /** Newest names there were when files were made that may have blocks of which the record does not know yet. */
  #before: { name: string; newest: string | undefined }[] = [];
  /** What is being written or ended: one thing after the other. */
  #working: Promise<unknown> = Promise.resolve();
  #isEnded = false;
  #newestName: string | undefined;

  /** Makes no file yet. */
  constructor(options: BackfillFilesOptions) {
    this.#options = options;
  }

  /** Whether a file, by its name, is being written; true before it is there. */
  isOpen(name: string): boolean {
    return this.#names.has(name);
  }

  /** Name of the file that was made last; undefined where none was. */
  get newestName(): string | undefined {
    return this.#newestName;
  }

  /**
   * The newest file, by name, whose blocks are all known of, when this session's files are not; undefined where this
   * session says nothing of that.
   */
  get accountedThrough(): { name: string | undefined } | undefined {
    const [oldest] = this.#before;
    return oldest && { name: oldest.newest };
  }

  /**
   * Stores blocks as they are; when this is done a power cut does not take them away. Gives the bytes that they take.
   *
   * To be called when those that were stored before are known of.
   *
   * @param epoch 16 bytes of the boat's run of numbers
   * @throws {Error} they could not be written; some may lie there all the same
   */
  write(blocks: readonly CheckedBlock[], epoch: Uint8Array<ArrayBuffer>): Promise<number> {
    return this.#inTurn(() => this.#write(blocks, epoch));
  }

  /** See {@linkcode findConflict}. */
  conflict(block: CheckedBlock, epoch: Uint8Array<ArrayBuffer>): Promise<number | undefined> {
    return findConflict(block, { index: this.#options.index, epoch });
  }

  /** Ends all files, and takes no more blocks. What fails here is mended when the boat's journal is opened. */
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
      for (const [i, { sealed: { bytes: _, epochWord: __, ...place } }] of stored.entries()) {
        onWritten({ ...place, path, header, fileBytes, offset: offsets[i] ?? 0 });
      }
    } catch (error) {
      // Where it failed nobody knows: what comes next goes into another file.
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
        // A session that is being relieved of this one's place may have been quicker.
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
      this.#options.log.error("a file of fetched blocks cannot be ended", { path: file.path, error: errorText(error) });
      await file.abandon();
    }
    this.#names.delete(nameOf(file));
  }
}

/** By the first block's time; never before the newest there is, as that tells which were written last. */
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
