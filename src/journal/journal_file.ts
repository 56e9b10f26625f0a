import { syncDirectory } from "../base/mod.ts";
import { compress } from "./compression.ts";
import { encodeBlockHeader, encodeFileHeader, encodeIndex, epochWordOf, FILE_HEADER_BYTES } from "./file_layout.ts";

/** A block that is ready to be written. */
export interface SealedBlock {
  bytes: Uint8Array<ArrayBuffer>;
  firstSeq: number;
  lastSeq: number;
  firstTimeUs: number;
  lastTimeUs: number;
}

/** How a journal file is made. */
export interface JournalFileOptions {
  path: string;
  directory: string;
  blockBytes: number;
  compression: "none" | "zstd";
  epoch: Uint8Array;
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  let done = 0;
  while (done < bytes.length) done += await file.write(bytes.subarray(done));
}

/** One journal file that is being written: made new, grown block by block, ended with an index. */
export class JournalFile {
  readonly path: string;
  readonly #options: JournalFileOptions;
  readonly #file: Deno.FsFile;
  readonly #offsets: number[] = [];
  #bytes = FILE_HEADER_BYTES;

  private constructor(options: JournalFileOptions, file: Deno.FsFile) {
    this.path = options.path;
    this.#options = options;
    this.#file = file;
  }

  /**
   * Makes the file, with its header, and syncs the directory.
   *
   * @throws {Deno.errors.AlreadyExists} there is one of that name
   */
  static async create(options: JournalFileOptions): Promise<JournalFile> {
    const { path, directory, blockBytes, compression, epoch } = options;
    const file = await Deno.open(path, { write: true, createNew: true, mode: 0o644 });
    const journal = new JournalFile(options, file);
    try {
      await writeAll(file, encodeFileHeader({ version: 2, blockBytes, compression, epochWord: epochWordOf(epoch) }));
      await syncDirectory(directory);
      return journal;
    } catch (error) {
      journal.abandon();
      throw error;
    }
  }

  /** Bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Blocks so far. */
  get blocks(): number {
    return this.#offsets.length;
  }

  /** Writes a block and syncs it. Returns where it begins. After an error the file takes no more blocks. */
  async append({ bytes, firstSeq, firstTimeUs }: SealedBlock): Promise<number> {
    const { compression } = this.#options;
    const data = compress(bytes, compression);
    const header = { baseTimeUs: firstTimeUs, baseSeq: firstSeq, dictionaryBytes: 0, dataBytes: data.length };
    const offset = this.#bytes;
    if (compression === "zstd") {
      const head = encodeBlockHeader(header, { version: 2, compression });
      const whole = new Uint8Array(head.length + data.length);
      whole.set(head);
      whole.set(data, head.length);
      await writeAll(this.#file, whole);
      this.#bytes += whole.length;
    } else {
      await writeAll(this.#file, data);
      this.#bytes += data.length;
    }
    await this.#file.syncData();
    this.#offsets.push(offset);
    return offset;
  }

  /** Ends the file with its index, syncs and closes it; a file without blocks is removed. */
  async end(): Promise<void> {
    try {
      if (this.#offsets.length === 0) return await Deno.remove(this.path);
      if (this.#options.compression === "zstd") await writeAll(this.#file, encodeIndex(this.#offsets));
      await this.#file.sync();
    } finally {
      this.#file.close();
    }
  }

  /** Closes the file as it is, after an error; what is torn at its end is cut off when the next recording starts. */
  abandon(): void {
    try {
      this.#file.close();
    } catch {
      // Closed by the system already.
    }
  }
}
