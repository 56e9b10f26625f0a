import { syncDirectory, writeAll } from "../../base/mod.ts";
import { compress } from "../block/compression.ts";
import { concat } from "../block/metadata.ts";
import type { SealedBlock } from "../types.ts";
import { JOURNAL_FILE_MODE } from "./name.ts";
import { encodeBlockHeader, encodeFileHeader, encodeIndex, FILE_HEADER_BYTES, type FileHeader } from "./layout.ts";

/** Options of a new journal file. */
export interface JournalFileOptions {
  path: string;
  directory: string;
  blockBytes: number;
  compression: "none" | "zstd";
  epochWord: number;
}

/** Metadata of a file or directory; undefined if it does not exist. */
export async function statIfExists(path: string): Promise<Deno.FileInfo | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** An open file. */
export interface OpenFile {
  file: Deno.FsFile;
  path: string;
  /** Metadata of the open file. */
  info: Pick<Deno.FileInfo, "ino" | "dev">;
}

/**
 * Checks that an open file is still the one at its path: writes to a deleted file succeed, and are lost.
 *
 * @throws {Deno.errors.NotFound} it is not
 */
export async function requireInPlace({ path, info }: Omit<OpenFile, "file">): Promise<void> {
  const { ino, dev } = await Deno.stat(path);
  if (ino !== info.ino || dev !== info.dev) throw new Deno.errors.NotFound(`Another file is at ${path} now`);
}

/** A journal file that is being written: created, extended block by block, and completed with an index. */
export class JournalFile {
  readonly path: string;
  readonly header: FileHeader;
  readonly #options: JournalFileOptions;
  readonly #file: Deno.FsFile;
  readonly #info: Deno.FileInfo;
  readonly #offsets: number[] = [];
  #bytes = FILE_HEADER_BYTES;

  private constructor(options: JournalFileOptions, { file, info }: { file: Deno.FsFile; info: Deno.FileInfo }) {
    const { path, blockBytes, compression, epochWord } = options;
    this.path = path;
    this.header = { version: 2, blockBytes, compression, epochWord };
    this.#options = options;
    this.#file = file;
    this.#info = info;
  }

  /**
   * Creates the file with its header, and syncs file and directory.
   *
   * @throws {Deno.errors.AlreadyExists} the file exists
   */
  static async create(options: JournalFileOptions): Promise<JournalFile> {
    const { path, directory } = options;
    const file = await Deno.open(path, { write: true, createNew: true, mode: JOURNAL_FILE_MODE });
    const journal = new JournalFile(options, { file, info: file.statSync() });
    try {
      await writeAll(file, encodeFileHeader(journal.header));
      // Before any block: a torn header could misrepresent all of them.
      await file.syncData();
      await syncDirectory(directory);
      return journal;
    } catch (error) {
      await journal.abandon();
      throw error;
    }
  }

  /** Size so far, bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Number of blocks so far. */
  get blocks(): number {
    return this.#offsets.length;
  }

  /**
   * Writes and syncs a block. Returns its offset. After an error call {@linkcode JournalFile.abandon}.
   *
   * @param packed the block as stored in the file; default: compresses it now
   */
  async append(sealed: SealedBlock, packed?: Uint8Array<ArrayBuffer>): Promise<number> {
    const [offset = this.#bytes] = await this.appendAll([{ sealed, packed }]);
    return offset;
  }

  /** Writes several blocks with one sync; otherwise as {@linkcode JournalFile.append}. */
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
      const head = encodeBlockHeader(header, { version: 2, compression });
      parts.push(head, data);
      offsets.push(end);
      end += head.length + data.length;
    }
    await requireInPlace({ path: this.path, info: this.#info });
    await writeAll(this.#file, concat(parts));
    await this.#file.syncData();
    this.#bytes = end;
    this.#offsets.push(...offsets);
    return offsets;
  }

  /** Completes the file with its index, syncs and closes it. After an error call {@linkcode JournalFile.abandon}. */
  async end(): Promise<void> {
    if (this.#offsets.length === 0) return await this.abandon();
    if (this.#options.compression === "zstd") await writeAll(this.#file, encodeIndex(this.#offsets));
    await this.#file.sync();
    this.#file.close();
  }

  /**
   * Closes the file with its durable blocks; removes it if it has none. The last block may be complete without being durable:
   * it is truncated, because it will be written to another file. If that fails, the next start repairs the file.
   */
  async abandon(): Promise<void> {
    try {
      await this.#file.truncate(this.#bytes);
    } catch {
      // Expected: the disk failed.
    }
    try {
      this.#file.close();
    } catch {
      // Closed by the system already.
    }
    if (this.#offsets.length === 0) await Deno.remove(this.path).catch(() => {});
  }
}
