import { dirname } from "node:path";
import { pathExists, syncDirectory, writeAll } from "@vessel/gateway/base";
import {
  type Compression,
  encodeBlockHeader,
  encodeFileHeader,
  encodeIndex,
  FILE_HEADER_BYTES,
  type FileHeader,
  JOURNAL_FILE_MODE,
} from "@vessel/gateway/journal";

/** A block to write. */
export interface OutputBlock {
  timeUs: number;
  /** Undefined in version 1. */
  firstSeq: number | undefined;
  /** Its bytes, compressed as the file's header says. */
  data: Uint8Array<ArrayBuffer>;
}

/** Compression of the output: without dictionaries. */
export type OutputHeader = FileHeader & { compression: Exclude<Compression, "zstd-dict"> };

/** A journal file that gets its final name only when it is complete. */
export class OutputFile {
  readonly path: string;
  readonly #part: string;
  readonly #header: OutputHeader;
  readonly #file: Deno.FsFile;
  readonly #offsets: number[] = [];
  #bytes = FILE_HEADER_BYTES;

  private constructor(path: string, { part, header, file }: { part: string; header: OutputHeader; file: Deno.FsFile }) {
    this.path = path;
    this.#part = part;
    this.#header = header;
    this.#file = file;
  }

  static async create(
    directory: string,
    { name, header }: { name: string; header: OutputHeader },
  ): Promise<OutputFile> {
    const part = `${directory}/.${name}.part`;
    const file = await Deno.open(part, { write: true, create: true, truncate: true, mode: JOURNAL_FILE_MODE });
    const output = new OutputFile(`${directory}/${name}`, { part, header, file });
    await output.#write(encodeFileHeader(header));
    return output;
  }

  async append({ timeUs: baseTimeUs, firstSeq: baseSeq, data }: OutputBlock): Promise<void> {
    const head = encodeBlockHeader({ baseTimeUs, baseSeq, dictionaryBytes: 0, dataBytes: data.length }, this.#header);
    await this.#write(head);
    await this.#write(data);
    this.#offsets.push(this.#bytes);
    this.#bytes += head.length + data.length;
  }

  /** Completes the file and renames it. Never overwrites. @throws {Deno.errors.AlreadyExists} */
  async end(): Promise<void> {
    if (this.#header.compression !== "none") await this.#write(encodeIndex(this.#offsets));
    await this.#file.sync();
    this.#file.close();
    // A hard link would fail by itself if the name exists, but file systems of memory cards have none.
    if (await pathExists(this.path)) throw new Deno.errors.AlreadyExists(`"${this.path}" exists`);
    await Deno.rename(this.#part, this.path);
    await syncDirectory(dirname(this.path));
  }

  /** Deletes the partial output. */
  async abandon(): Promise<void> {
    try {
      this.#file.close();
    } catch {
      // Already closed: a later step failed.
    }
    await Deno.remove(this.#part).catch(() => {});
  }

  async #write(bytes: Uint8Array): Promise<void> {
    await writeAll(this.#file, bytes);
  }
}
