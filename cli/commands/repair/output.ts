import {
  type Compression,
  encodeBlockHeader,
  encodeFileHeader,
  encodeIndex,
  FILE_HEADER_BYTES,
  type FileHeader,
  JOURNAL_FILE_MODE,
} from "@vessel/gateway/journal";
import { isThere, syncDirectory } from "@vessel/gateway/base";

/** A block as it shall lie in a file. */
export interface OutputBlock {
  timeUs: number;
  /** Undefined in version 1. */
  firstSeq: number | undefined;
  /** Its bytes, packed as the file's header says. */
  data: Uint8Array<ArrayBuffer>;
}

/** How files are written: what had dictionaries has none any more. */
export type OutputHeader = FileHeader & { compression: Exclude<Compression, "zstd-dict"> };

/** A journal file that is there under its name when it is whole, and not before. */
export class OutputFile {
  readonly path: string;
  readonly #directory: string;
  readonly #part: string;
  readonly #header: OutputHeader;
  readonly #file: Deno.FsFile;
  readonly #offsets: number[] = [];
  #bytes = FILE_HEADER_BYTES;

  private constructor(
    place: { path: string; directory: string; part: string },
    header: OutputHeader,
    file: Deno.FsFile,
  ) {
    this.path = place.path;
    this.#directory = place.directory;
    this.#part = place.part;
    this.#header = header;
    this.#file = file;
  }

  static async create(
    directory: string,
    { name, header }: { name: string; header: OutputHeader },
  ): Promise<OutputFile> {
    const place = { path: `${directory}/${name}`, directory, part: `${directory}/.${name}.part` };
    const file = await Deno.open(place.part, { write: true, create: true, truncate: true, mode: JOURNAL_FILE_MODE });
    const output = new OutputFile(place, header, file);
    await output.#write(encodeFileHeader(header));
    return output;
  }

  async append({ timeUs: baseTimeUs, firstSeq: baseSeq, data }: OutputBlock): Promise<void> {
    const { compression, version } = this.#header;
    const lengths = { dictionaryBytes: 0, dataBytes: data.length };
    const head = compression === "none"
      ? new Uint8Array(0)
      : encodeBlockHeader({ baseTimeUs, baseSeq, ...lengths }, { version, compression });
    await this.#write(head);
    await this.#write(data);
    this.#offsets.push(this.#bytes);
    this.#bytes += head.length + data.length;
  }

  /** Ends the file and gives it its name. Nothing is written over. @throws {Deno.errors.AlreadyExists} */
  async end(): Promise<void> {
    if (this.#header.compression !== "none") await this.#write(encodeIndex(this.#offsets));
    await this.#file.sync();
    this.#file.close();
    // Not by a hard link, which would refuse by itself: memory cards have none.
    if (await isThere(this.path)) throw new Deno.errors.AlreadyExists(`"${this.path}" is there by now`);
    await Deno.rename(this.#part, this.path);
    await syncDirectory(this.#directory);
  }

  /** Takes away what was written. */
  async abandon(): Promise<void> {
    try {
      this.#file.close();
    } catch {
      // It was ended, and something failed behind that.
    }
    await Deno.remove(this.#part).catch(() => {});
  }

  async #write(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length;) done += await this.#file.write(bytes.subarray(done));
  }
}
