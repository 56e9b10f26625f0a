import { basename, dirname } from "node:path";
import { FileError, pathExists, syncDirectory } from "../../base/mod.ts";
import type { ConvertedBlock } from "./blocks.ts";
import { JOURNAL_DIRECTORY_MODE, JournalFile, nextFileName } from "../../journal/mod.ts";

/** Where a journal is written: one file, or a directory (made when missing) of files named as a boat server would. */
export interface ConvertTarget {
  /** Which of the two. */
  kind: "file" | "directory";
  /** Where it is. */
  path: string;
}

/** A file that was written. */
export interface ConvertedFile {
  /** Where it is. */
  path: string;
  /** Its size. */
  bytes: number;
  /** Blocks in it. */
  blocks: number;
  /** Number of its first message … */
  firstSeq: number;
  /** … and of its last one. */
  lastSeq: number;
  /** Of the first message, microseconds since 1970. */
  firstTimeUs: number;
  /** Of the last message, microseconds since 1970. */
  latestTimeUs: number;
}

/** A file is there already, and was not to be written over. */
export class OutputExistsError extends Error {
  /** `OutputExistsError`. */
  override readonly name = "OutputExistsError";
}

/** How the files are written. */
export interface ConvertedFilesOptions {
  to: ConvertTarget;
  prefix: string;
  blockBytes: number;
  compression: "none" | "zstd";
  /** A file is ended when it is larger; 0 never. */
  rotateBytes: number;
  overwrite: boolean;
}

/** A file under its temporary name. */
interface Written {
  temporary: string;
  file: ConvertedFile;
}

/** Writes blocks into files which get their names when all of them are whole: before, there is nothing to be mistaken. */
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

  /** Looks whether the file may be written, as far as its name is known. @throws {OutputExistsError} it may not */
  async check(): Promise<void> {
    if (this.#options.to.kind === "file") await this.#requireFree(this.#options.to.path);
  }

  /**
   * Writes a block.
   *
   * @throws {OutputExistsError} the name of its file is taken
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

  /** Ends the last file and gives all of them their names. What this throws leaves files that have theirs. */
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

  /** Removes what has no name yet. */
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

async function removeIfExists(path: string): Promise<void> {
  try {
    await Deno.remove(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
