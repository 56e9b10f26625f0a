import { type Block, readBlock } from "./block.ts";
import type { BlockLocation } from "../index/block_table.ts";
import { decompress, loadDictionaryDecoder } from "./compression.ts";
import { BlockError } from "../errors.ts";
import { readFileAt, storedBytes } from "../index/file_index.ts";
import {
  blockHeaderBytes,
  FILE_HEADER_BYTES,
  type FileHeader,
  parseBlockHeader,
  parseFileHeader,
} from "../file/layout.ts";

/** Where a block is. */
export type BlockSource = Pick<BlockLocation, "offset" | "bytes" | "unsealed">;

interface OpenFile {
  path: string;
  file: Deno.FsFile;
  header: FileHeader;
}

/** A block as it lies in its file. */
export interface StoredBlock {
  /** Unpacked and checked. */
  block: Block;
  /** Its bytes, unpacked. */
  bytes: Uint8Array;
  /** Its bytes in the file, behind the block's header, where they are plain zstd. */
  packed: Uint8Array<ArrayBuffer> | undefined;
  /** Bytes from the header on. */
  storedBytes: number;
}

/** Reads blocks of one file after the other; the file read last is kept open until closed. */
export class BlockReader implements Disposable {
  #open: OpenFile | undefined;

  /**
   * Reads, unpacks and checks a block.
   *
   * @throws {Deno.errors.NotFound} the file is gone
   * @throws {BlockError} the block is damaged, or the file is no journal
   */
  async read(path: string, place: BlockSource): Promise<Block> {
    return (await this.readStored(path, place)).block;
  }

  /** Does the same, and gives the bytes, too. */
  async readStored(path: string, { offset, bytes, unsealed }: BlockSource): Promise<StoredBlock> {
    if (unsealed) {
      const block = readBlock(unsealed, { version: 2, blockBytes: unsealed.length });
      return { block, bytes: unsealed, packed: undefined, storedBytes: bytes };
    }
    const { file, header } = await this.#use(path);
    const length = bytes === 0 ? await this.#lengthAt(offset) : bytes;
    const stored = await readFileAt(file, { offset, length });
    const found = parseBlockHeader(stored, header);
    if (found.kind !== "block" || storedBytes(found.header) !== stored.length) {
      throw new BlockError("size", "The block is not whole");
    }
    const { headerBytes, dictionaryBytes, compression } = found.header;
    const data = stored.subarray(headerBytes + dictionaryBytes);
    const { blockBytes } = header;
    const unpacked = compression === "zstd-dict"
      ? (await loadDictionaryDecoder()).decompress(data, {
        dictionary: stored.subarray(headerBytes, headerBytes + dictionaryBytes),
        blockBytes,
      })
      : decompress(data, { compression, blockBytes });
    return {
      block: readBlock(unpacked, header),
      bytes: unpacked,
      packed: compression === "zstd" ? data : undefined,
      storedBytes: length,
    };
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#open?.file.close();
    this.#open = undefined;
  }

  async #use(path: string): Promise<OpenFile> {
    if (this.#open?.path === path) return this.#open;
    this[Symbol.dispose]();
    const file = await Deno.open(path, { read: true });
    try {
      const header = parseFileHeader(await readFileAt(file, { offset: 0, length: FILE_HEADER_BYTES }));
      return this.#open = { path, file, header };
    } catch (error) {
      file.close();
      throw error;
    }
  }

  async #lengthAt(offset: number): Promise<number> {
    const open = this.#open;
    if (!open) return 0;
    const bytes = await readFileAt(open.file, { offset, length: blockHeaderBytes(open.header) });
    const found = parseBlockHeader(bytes, open.header);
    if (found.kind !== "block") throw new BlockError("size", "The block has no possible length");
    return storedBytes(found.header);
  }
}
