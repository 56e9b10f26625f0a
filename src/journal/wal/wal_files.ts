import { syncDirectory } from "../../base/mod.ts";
import type { Message } from "../../frame/mod.ts";
import { readFileAt } from "../index/file_index.ts";
import { JOURNAL_FILE_MODE } from "../file/modes.ts";
import { requireInPlace, writeAll } from "../file/journal_file.ts";
import { maxWalBytes, readWal, type Wal, WalBuffer, type WalHeader } from "./wal.ts";
import { MAX_BLOCK_BYTES } from "../types.ts";

/** Names of the two tails, beside the journal's files. */
export const WAL_NAMES = ["tail-a", "tail-b"] as const;

/** One tail file and the block that goes into it. */
export class WalFile {
  readonly #directory: string;
  readonly #path: string;
  readonly #buffer = new WalBuffer();
  #file: Deno.FsFile | undefined;
  /** Counts the blocks that this file began with; a write that outlives its block changes nothing. */
  #generation = 0;
  /** True until something of this block is on disk: the file holds an older block, which is in the journal. */
  #isStale = true;
  /** Bytes of this block that need not be written again. */
  #synced = 0;
  #lastSeq = 0;

  constructor(directory: string, name: string) {
    this.#directory = directory;
    this.#path = `${directory}/${name}`;
  }

  begin(header: WalHeader, opening: unknown): void {
    this.#buffer.begin(header);
    this.#buffer.addOpening(opening);
    this.#generation++;
    this.#isStale = true;
    this.#synced = 0;
    this.#lastSeq = 0;
  }

  add(seq: number, message: Message): void {
    this.#buffer.addFrame(message);
    this.#lastSeq = seq;
  }

  /** Writes and syncs what waits. Returns the last frame that is on disk then, of the block that was there at the call. */
  async flush(): Promise<number> {
    // All taken at once: while the disk works, frames come, and even other blocks.
    const generation = this.#generation;
    const isStale = this.#isStale;
    const place = this.#synced;
    const lastSeq = this.#lastSeq;
    const bytes = this.#buffer.from(place);
    if (bytes.length === 0) return lastSeq;
    const file = await this.#open();
    if (isStale) await file.truncate(0);
    await file.seek(place, Deno.SeekMode.Start);
    await writeAll(file, bytes);
    await file.syncData();
    if (generation !== this.#generation) return lastSeq;
    this.#isStale = false;
    this.#synced = place + bytes.length;
    return lastSeq;
  }

  async #open(): Promise<Deno.FsFile> {
    if (this.#file) {
      await requireInPlace(this.#file, this.#path);
      return this.#file;
    }
    this.#file = await Deno.open(this.#path, { write: true, create: true, mode: JOURNAL_FILE_MODE });
    await syncDirectory(this.#directory);
    return this.#file;
  }

  /** Closes the file. The next flush opens it and writes the whole block again: the file may be another one then. */
  close(): void {
    try {
      this.#file?.close();
    } catch {
      // Closed by the system already.
    }
    this.#file = undefined;
    this.#synced = 0;
  }
}

/**
 * The two tails: while the frames of one block wait in the journal's memory to be written, those of the next go to the
 * other tail, so that neither is overwritten before its block is safe.
 */
export class WalFiles {
  readonly #files: readonly [WalFile, WalFile];
  readonly #onFrame: (seq: number) => void;
  #current = 0;

  /** @param onFrame told of each frame that is taken */
  constructor(directory: string, onFrame: (seq: number) => void) {
    this.#onFrame = onFrame;
    const [first, second] = WAL_NAMES;
    this.#files = [new WalFile(directory, first), new WalFile(directory, second)];
  }

  /** Where the open block goes, or the last one went: until the next but one begins, it may be flushed. */
  get current(): WalFile {
    return this.#files[this.#current] ?? this.#files[0];
  }

  /** Begins the tail of a block, in the file that the block before did not use. */
  begin(header: WalHeader, opening: unknown): void {
    this.#current = 1 - this.#current;
    this.current.begin(header, opening);
  }

  /** Takes a frame of the open block; it is safe after the next flush. */
  add(seq: number, message: Message): void {
    this.current.add(seq, message);
    this.#onFrame(seq);
  }

  /**
   * Writes and syncs what waits of the open block; all blocks before the last one must be in the journal, as the file
   * may hold one of them. Returns the last frame that is on disk then.
   */
  flush(): Promise<number> {
    return this.current.flush();
  }

  /** Closes both files; flushing opens them again. */
  close(): void {
    for (const file of this.#files) file.close();
  }
}

/** A tail file and what it holds. */
export interface StoredWal {
  path: string;
  /** Size of the file. */
  bytes: number;
  /** Undefined where its header cannot be read. */
  tail: Wal | undefined;
}

async function readTailFile(path: string): Promise<StoredWal | undefined> {
  try {
    using file = await Deno.open(path);
    const { size: bytes } = await file.stat();
    // Whatever lies there under this name, not more than a tail of the largest blocks is read.
    const length = Math.min(bytes, maxWalBytes(MAX_BLOCK_BYTES));
    return { path, bytes, tail: readWal(await readFileAt(file, { offset: 0, length })) };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.IsADirectory) return undefined;
    throw error;
  }
}

/** Reads the tails of a directory, the older one first. */
export async function readWals(directory: string): Promise<StoredWal[]> {
  const tails = await Promise.all(WAL_NAMES.map((name) => readTailFile(`${directory}/${name}`)));
  const firstSeqOf = ({ tail }: StoredWal) => tail?.firstSeq ?? 0;
  return tails.filter((tail) => tail !== undefined).sort((one, other) => firstSeqOf(one) - firstSeqOf(other));
}

/** Removes the tails: all their frames are in blocks. */
export async function removeWals(directory: string): Promise<void> {
  for (const name of WAL_NAMES) {
    await Deno.remove(`${directory}/${name}`).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    });
  }
}
