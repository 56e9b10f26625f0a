import { syncDirectory } from "../../base/mod.ts";
import { compress } from "../block/compression.ts";
import { JOURNAL_FILE_MODE } from "./name.ts";
import { encodeBlockHeader, encodeFileHeader, encodeIndex, FILE_HEADER_BYTES, type FileHeader } from "./layout.ts";

/** A block that is ready to be written. */
export interface SealedBlock {
  bytes: Uint8Array<ArrayBuffer>;
  firstSeq: number;
  lastSeq: number;
  firstTimeUs: number;
  latestTimeUs: number;
  /** First four bytes of its epoch; see {@linkcode epochWordOf}. */
  epochWord: number;
}

/** How a journal file is made. */
export interface JournalFileOptions {
  path: string;
  directory: string;
  blockBytes: number;
  compression: "none" | "zstd";
  epochWord: number;
}

/** Writes all bytes at the file's current position. */
export async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  let done = 0;
  while (done < bytes.length) done += await file.write(bytes.subarray(done));
}

/**
 * Makes sure that an open file is still the one of its name: what is written to one that was removed goes nowhere, and
 * the system says nothing.
 *
 * @throws {Deno.errors.NotFound} it is not
 */
export async function requireInPlace(file: Deno.FsFile, path: string): Promise<void> {
  const [opened, named] = await Promise.all([file.stat(), Deno.stat(path)]);
  if (opened.ino !== named.ino || opened.dev !== named.dev) {
    throw new Deno.errors.NotFound(`Another file is at ${path} now`);
  }
}

/** One journal file that is being written: made new, grown block by block, ended with an index. */
export class JournalFile {
  readonly path: string;
  readonly header: FileHeader;
  readonly #options: JournalFileOptions;
  readonly #file: Deno.FsFile;
  readonly #offsets: number[] = [];
  #bytes = FILE_HEADER_BYTES;

  private constructor(options: JournalFileOptions, file: Deno.FsFile) {
    const { path, blockBytes, compression, epochWord } = options;
    this.path = path;
    this.header = { version: 2, blockBytes, compression, epochWord };
    this.#options = options;
    this.#file = file;
  }

  /**
   * Makes the file, with its header, and syncs both file and directory.
   *
   * @throws {Deno.errors.AlreadyExists} there is one of that name
   */
  static async create(options: JournalFileOptions): Promise<JournalFile> {
    const { path, directory } = options;
    const file = await Deno.open(path, { write: true, createNew: true, mode: JOURNAL_FILE_MODE });
    const journal = new JournalFile(options, file);
    try {
      await writeAll(file, encodeFileHeader(journal.header));
      // Before any block: a header that is torn could say something else of all of them.
      await file.syncData();
      await syncDirectory(directory);
      return journal;
    } catch (error) {
      await journal.abandon();
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

  /**
   * Writes a block and syncs it. Returns where it begins. After an error the file takes no more blocks.
   *
   * @param packed its bytes as stored in the file; left out: packed now
   */
  async append(sealed: SealedBlock, packed?: Uint8Array<ArrayBuffer>): Promise<number> {
    const [offset = this.#bytes] = await this.appendAll([{ sealed, packed }]);
    return offset;
  }

  /** Writes several blocks, which are safe together in the end; otherwise as {@linkcode append}. */
  async appendAll(
    blocks: readonly { sealed: SealedBlock; packed?: Uint8Array<ArrayBuffer> | undefined }[],
  ): Promise<number[]> {
    const { compression } = this.#options;
    const parts: Uint8Array<ArrayBuffer>[] = [];
    const offsets: number[] = [];
    let end = this.#bytes;
    for (const { sealed: { bytes, firstSeq, firstTimeUs }, packed } of blocks) {
      const data = packed ?? compress(bytes, compression);
      const header = { baseTimeUs: firstTimeUs, baseSeq: firstSeq, dictionaryBytes: 0, dataBytes: data.length };
      const head = compression === "zstd" ? encodeBlockHeader(header, { version: 2, compression }) : new Uint8Array(0);
      parts.push(head, data);
      offsets.push(end);
      end += head.length + data.length;
    }
    await requireInPlace(this.#file, this.path);
    await writeAll(this.#file, joined(parts, end - this.#bytes));
    await this.#file.syncData();
    this.#bytes = end;
    this.#offsets.push(...offsets);
    return offsets;
  }

  /** Ends the file with its index, syncs and closes it. After an error it is to be abandoned. */
  async end(): Promise<void> {
    if (this.#offsets.length === 0) return await this.abandon();
    if (this.#options.compression === "zstd") await writeAll(this.#file, encodeIndex(this.#offsets));
    await this.#file.sync();
    this.#file.close();
  }

  /**
   * Closes the file with the blocks that are safe, or removes it when there is none: the last one may lie there whole
   * without being safe, and will be written once more elsewhere. What fails here is mended when a recording starts.
   */
  async abandon(): Promise<void> {
    try {
      await this.#file.truncate(this.#bytes);
    } catch {
      // The disk fails, which is why we are here.
    }
    try {
      this.#file.close();
    } catch {
      // Closed by the system already.
    }
    if (this.#offsets.length === 0) await Deno.remove(this.path).catch(() => {});
  }
}

function joined(parts: readonly Uint8Array<ArrayBuffer>[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
