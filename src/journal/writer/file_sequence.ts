import type { Clock } from "../../base/mod.ts";
import { nextFileName } from "../file/name.ts";
import { JournalFile, type SealedBlock } from "../file/journal_file.ts";
import type { WrittenBlock } from "./journal_writer_types.ts";

/** What was written since the start. */
export interface WriteFigures {
  blocks: number;
  /** Bytes of blocks as they lie in the files. */
  bytes: number;
  /** How long writing and syncing the newest block took, milliseconds; 0 before the first. */
  lastBlockMs: number;
}

/** How files are made. */
export interface FileSequenceOptions {
  /** Directory of the files, which this process holds alone. */
  directory: string;
  /** First part of their names. */
  prefix: string;
  blockBytes: number;
  compression: "none" | "zstd";
  /** A file that is larger takes no more blocks; 0: there is no such limit. */
  rotateBytes: number;
  /** Newest file there is: no name sorts before it. */
  newestFile?: string | undefined;
  clock: Clock;
  /** Told of every file that is ended. */
  onEnded?: ((path: string) => void) | undefined;
}

/**
 * The files of a journal, one after the other: each is made when its first block comes, and has blocks of one run of
 * numbers. When it ends whoever writes blocks has to say.
 */
export class FileSequence {
  /** Running totals. */
  readonly figures: WriteFigures = { blocks: 0, bytes: 0, lastBlockMs: 0 };
  readonly #options: FileSequenceOptions;
  #file: JournalFile | undefined;
  #newestFile: string | undefined;
  #openName: string | undefined;

  constructor(options: FileSequenceOptions) {
    this.#options = options;
    this.#newestFile = options.newestFile;
  }

  /** Name of the file that is written; known before the file is there. */
  get openName(): string | undefined {
    return this.#openName;
  }

  /** Whether a block belongs into the file that is open; true where none is. */
  fits({ epochWord }: SealedBlock): boolean {
    return this.#file === undefined || this.#file.header.epochWord === epochWord;
  }

  /**
   * Writes a block, which is safe then. Tells where it is, and whether its file is full.
   *
   * @param packed its bytes as they shall lie in the file
   * @throws {Error} the disk fails: the files are to be abandoned
   */
  async append(
    block: SealedBlock,
    packed: Uint8Array<ArrayBuffer>,
  ): Promise<{ written: WrittenBlock; isFull: boolean }> {
    const { clock } = this.#options;
    const startMs = clock.monoMs();
    const file = this.#file ??= await this.#create(block);
    const offset = await file.append(block, packed);
    this.figures.blocks++;
    this.figures.bytes += file.bytes - offset;
    this.figures.lastBlockMs = clock.monoMs() - startMs;
    const { firstSeq, lastSeq, firstTimeUs, latestTimeUs } = block;
    const place = { path: file.path, offset, fileBytes: file.bytes, header: file.header };
    const { rotateBytes } = this.#options;
    const isFull = rotateBytes > 0 && file.bytes >= rotateBytes;
    return { written: { firstSeq, lastSeq, firstTimeUs, latestTimeUs, ...place }, isFull };
  }

  /** Ends the open file, if there is one; the next block goes into another. */
  async end(): Promise<void> {
    await this.#file?.end();
    this.#leave();
  }

  /** The disk has failed: the file keeps the blocks that are safe, and the next one goes into another. */
  async abandon(): Promise<void> {
    await this.#file?.abandon();
    this.#leave();
  }

  async #create({ firstTimeUs: timeUs, epochWord }: SealedBlock): Promise<JournalFile> {
    const { directory, prefix, blockBytes, compression, clock } = this.#options;
    const taken = new Set<string>();
    for await (const { name } of Deno.readDir(directory)) taken.add(name);
    const nowMs = clock.wallUs() / 1000;
    const name = nextFileName(prefix, { timeUs, after: this.#newestFile, isTaken: (each) => taken.has(each), nowMs });
    const path = `${directory}/${name}`;
    this.#openName = name;
    const file = await JournalFile.create({ path, directory, blockBytes, compression, epochWord });
    this.#newestFile = name;
    return file;
  }

  #leave(): void {
    const file = this.#file;
    this.#file = undefined;
    this.#openName = undefined;
    if (file && file.blocks > 0) this.#options.onEnded?.(file.path);
  }
}
