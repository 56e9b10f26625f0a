import { basename, dirname } from "node:path";
import { FileError, pathExists, removeIfExists, syncDirectory } from "../../base/mod.ts";
import type { ConvertedBlock } from "./blocks.ts";
import { JOURNAL_DIRECTORY_MODE, JournalFile, nextFileName } from "../../journal/mod.ts";

/** Output of a conversion: one file, or a directory (created if missing) of files named like those of a boat server. */
export interface ConvertTarget {
  /** Kind of output. */
  kind: "file" | "directory";
  /** Path of the file or directory. */
  path: string;
}

/** A file that was written. */
export interface ConvertedFile {
  /** Path. */
  path: string;
  /** Size, bytes. */
  bytes: number;
  /** Number of blocks. */
  blocks: number;
  /** Number of the first message. */
  firstSeq: number;
  /** Number of the last message. */
  lastSeq: number;
  /** Time of the first message, microseconds since 1970. */
  firstTimeUs: number;
  /** Latest time of a message, microseconds since 1970. */
  latestTimeUs: number;
}

/** An output file exists, and must not be overwritten. */
export class OutputExistsError extends Error {
  /** `OutputExistsError`. */
  override readonly name = "OutputExistsError";
}

/** Options of {@linkcode ConvertedFiles}. */
export interface ConvertedFilesOptions {
  to: ConvertTarget;
  prefix: string;
  blockBytes: number;
  compression: "none" | "zstd";
  /** Size after which a new file begins, bytes; 0: never. */
  rotateBytes: number;
  overwrite: boolean;
}

/** A file under its temporary name. */
interface Written {
  temporary: string;
  file: ConvertedFile;
}

/** Writes blocks into files. They get their final names when all of them are complete, so that no partial file can be used. */
export class ConvertedFiles {
  readonly #options: ConvertedFilesOptions;
  readonly #directory: string;
  readonly #written: Written[] = [];
  #open: { journal: JournalFile; written: Written } | undefined;

  constructor(options: ConvertedFilesOptions) {
    const { to } = options;
    this.#options = options;
    this.#directory = to.kind === "directory" ? to.path : dirname(to.path);
  }

  /** Checks that a single output file may be written. @throws {OutputExistsError} it exists */
  async check(): Promise<void> {
    if (this.#options.to.kind === "file") await this.#requireFree(this.#options.to.path);
  }

  /**
   * Writes a block.
   *
   * @throws {OutputExistsError} its file exists
   * @throws {FileError} it cannot be written
   */
  async write(block: ConvertedBlock): Promise<void> {
    const { rotateBytes } = this.#options;
    const isFull = rotateBytes > 0 && (this.#open?.journal.bytes ?? 0) >= rotateBytes;
    if (block.beginsFile || isFull) await this.#end();
    const { journal, written: { file } } = this.#open ??= await this.#begin(block);
    await this.#attempt(file.path, () => journal.append(block));
    file.blocks++;
    file.lastSeq = block.lastSeq;
    file.latestTimeUs = block.latestTimeUs;
  }

  /** Completes the last file and renames all files. After an error some may have been renamed. */
  async finish(): Promise<ConvertedFile[]> {
    await this.#end();
    for (const { temporary, file } of this.#written) {
      await this.#requireFree(file.path);
      await this.#attempt(file.path, () => Deno.rename(temporary, file.path));
    }
    const files = this.#written.splice(0).map(({ file }) => file);
    if (files.length > 0) await this.#attempt(this.#directory, () => syncDirectory(this.#directory));
    return files;
  }

  /** Removes the files that were not renamed. */
  async abandon(): Promise<void> {
    await this.#open?.journal.abandon();
    this.#open = undefined;
    for (const { temporary } of this.#written.splice(0)) await removeIfExists(temporary).catch(() => {});
  }

  async #begin(block: ConvertedBlock): Promise<{ journal: JournalFile; written: Written }> {
    const { to, prefix, blockBytes, compression } = this.#options;
    const directory = this.#directory;
    const { firstSeq, lastSeq, firstTimeUs, latestTimeUs, epochWord } = block;
    const after = this.#written.at(-1)?.file.path;
    const name = to.kind === "file"
      ? basename(to.path)
      : nextFileName(prefix, { timeUs: firstTimeUs, after: after && basename(after), isTaken: () => false });
    const path = to.kind === "file" ? to.path : `${directory}/${name}`;
    const temporary = `${directory}/.${name}.tmp`;
    if (to.kind === "directory") {
      await this.#attempt(directory, () => Deno.mkdir(directory, { recursive: true, mode: JOURNAL_DIRECTORY_MODE }));
    }
    await this.#requireFree(path);
    const journal = await this.#attempt(path, async () => {
      await removeIfExists(temporary);
      return await JournalFile.create({ path: temporary, directory, blockBytes, compression, epochWord });
    });
    const file = { path, bytes: 0, blocks: 0, firstSeq, lastSeq, firstTimeUs, latestTimeUs };
    const written = { temporary, file };
    this.#written.push(written);
    return { journal, written };
  }

  async #end(): Promise<void> {
    if (!this.#open) return;
    const { journal, written: { temporary, file } } = this.#open;
    await this.#attempt(file.path, () => journal.end());
    this.#open = undefined;
    file.bytes = (await Deno.stat(temporary)).size;
  }

  async #requireFree(path: string): Promise<void> {
    if (this.#options.overwrite || !await pathExists(path)) return;
    throw new OutputExistsError(`Cannot write "${path}": it is there already`);
  }

  async #attempt<T>(path: string, action: () => Promise<T>): Promise<T> {
    try {
      return await action();
    } catch (cause) {
      throw new FileError("write", { path, cause });
    }
  }
}
