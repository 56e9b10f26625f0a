import { type Block, readMemoryBlock } from "./block.ts";
import type { DictionaryDecoder } from "./compression.ts";
import { type BlockSource, unpackStored } from "./reader.ts";
import { FILE_HEADER_BYTES, type FileHeader, parseFileHeader } from "../file/layout.ts";

/**
 * Reads blocks of local files without a promise, for callers that cannot wait. Keeps the most recently used file open until
 * disposed.
 */
export class SyncBlockReader implements Disposable {
  readonly #decoder: DictionaryDecoder | undefined;
  #open: { path: string; file: Deno.FsFile; header: FileHeader } | undefined;

  /**
   * Makes a reader without an open file.
   *
   * @param decoder required for files whose compression is `zstd-dict`
   */
  constructor(decoder?: DictionaryDecoder) {
    this.#decoder = decoder;
  }

  /**
   * Reads, decompresses and checks a block, whose size must be known.
   *
   * @throws {Deno.errors.NotFound} the file does not exist
   * @throws {BlockError} the block is damaged, or the file is not a journal
   */
  read(path: string, { offset, bytes, unsealed }: BlockSource): Block {
    if (unsealed) return readMemoryBlock(unsealed);
    const { file, header } = this.#use(path);
    return unpackStored(readAt(file, { offset, length: bytes }), { header, decoder: this.#decoder }).block;
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#open?.file.close();
    this.#open = undefined;
  }

  #use(path: string) {
    if (this.#open?.path === path) return this.#open;
    this[Symbol.dispose]();
    const file = Deno.openSync(path);
    try {
      const header = parseFileHeader(readAt(file, { offset: 0, length: FILE_HEADER_BYTES }));
      return this.#open = { path, file, header };
    } catch (error) {
      file.close();
      throw error;
    }
  }
}

/** Reads `length` bytes at an offset; fewer at the end of the file. */
function readAt(file: Deno.FsFile, { offset, length }: { offset: number; length: number }): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  file.seekSync(offset, Deno.SeekMode.Start);
  let done = 0;
  while (done < length) {
    const read = file.readSync(bytes.subarray(done));
    if (read === null) break;
    done += read;
  }
  return bytes.subarray(0, done);
}
