import { nextFileName } from "../file/name.ts";
import { JournalFile } from "../file/journal_file.ts";
import type { SealedBlock } from "../types.ts";
import type { JournalWriterOptions, WrittenBlock } from "./journal_writer_types.ts";

/** Write statistics since the start. */
export interface WriteFigures {
  blocks: number;
  /** Bytes of blocks as stored (after compression). */
  bytes: number;
  /** Time to write and sync the newest block, milliseconds; 0 before the first. */
  lastBlockMs: number;
}

/** Options of a {@linkcode FileSequence}. */
type FileSequenceOptions =
  & Required<
    Pick<JournalWriterOptions, "directory" | "prefix" | "blockBytes" | "compression" | "rotateBytes" | "clock">
  >
  & Pick<JournalWriterOptions, "newestFile" | "onEnded">;

/**
 * The sequence of files of a journal. A file is created with its first block and holds blocks of one epoch.
 * The caller decides when a file ends.
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

  /** Name of the open file; known before the file is created. */
  get openName(): string | undefined {
    return this.#openName;
  }

  /** True if a block may go into the open file, or no file is open. */
  fits({ epochWord }: SealedBlock): boolean {
    return this.#file === undefined || this.#file.header.epochWord === epochWord;
  }

  /**
   * Writes and syncs a block. Returns its location, and whether the file is full.
   *
   * @param packed its bytes as stored in the file
   * @throws {Error} the disk failed: call `abandon()`
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
    const location = { path: file.path, offset, fileBytes: file.bytes, header: file.header };
    const { rotateBytes } = this.#options;
    const isFull = rotateBytes > 0 && file.bytes >= rotateBytes;
    return { written: { firstSeq, lastSeq, firstTimeUs, latestTimeUs, ...location }, isFull };
  }

  /** Completes the open file, if any; the next block goes into a new one. */
  async end(): Promise<void> {
    await this.#file?.end();
    this.#leave();
  }

  /** Closes the file after a disk error. It keeps its durable blocks; the next block goes into a new file. */
  async abandon(): Promise<void> {
    await this.#file?.abandon();
    this.#leave();
  }

  async #create({ firstTimeUs: timeUs, epochWord }: SealedBlock): Promise<JournalFile> {
    const { directory, prefix, blockBytes, compression, clock } = this.#options;
    const taken = new Set<string>();
    const names = {
      timeUs,
      after: this.#newestFile,
      isTaken: (name: string) => taken.has(name),
      nowMs: clock.wallUs() / 1000,
    };
    for (;;) {
      const name = this.#openName = nextFileName(prefix, names);
      const path = `${directory}/${name}`;
      try {
        const file = await JournalFile.create({ path, directory, blockBytes, compression, epochWord });
        this.#newestFile = name;
        return file;
      } catch (error) {
        if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
        taken.add(name);
      }
    }
  }

  #leave(): void {
    const file = this.#file;
    this.#file = undefined;
    this.#openName = undefined;
    if (file && file.blocks > 0) this.#options.onEnded?.(file.path);
  }
}
