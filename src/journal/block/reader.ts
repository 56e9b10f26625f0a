import { turn } from "../../base/mod.ts";
import type { FormatVersion } from "./layout.ts";
import { type Block, readBlock, readMemoryBlock } from "./block.ts";
import { decompress, type DictionaryDecoder, loadDictionaryDecoder } from "./compression.ts";
import { BlockError } from "../errors.ts";
import { storedBytes } from "../index/file_index.ts";
import { type BlockLocation, type FileSource, openLocal, type OpenSource } from "../file/source.ts";
import {
  type BlockHeader,
  blockHeaderBytes,
  FILE_HEADER_BYTES,
  type FileHeader,
  parseBlockHeader,
  parseFileHeader,
} from "../file/layout.ts";

/** Location of a block in its file. */
export type BlockSource = Pick<BlockLocation, "offset" | "bytes" | "unsealed">;

interface OpenFile {
  path: string;
  source: FileSource;
  header: FileHeader;
}

/** A block with its stored form. */
export interface StoredBlock {
  /** The decompressed, checked block. */
  block: Block;
  /** Its decompressed bytes. */
  bytes: Uint8Array;
  /** Its compressed bytes in the file, without the header; undefined unless they are zstd without a dictionary. */
  packed: Uint8Array<ArrayBuffer> | undefined;
  /** Size in the file including the header, bytes. */
  storedBytes: number;
}

/** Reads blocks of files. Keeps the most recently used file open until disposed. */
export class BlockReader implements Disposable {
  readonly #openSource: OpenSource;
  #open: OpenFile | undefined;

  /**
   * Makes a reader without an open file.
   *
   * @param open opens a file; default: on the local disk
   */
  constructor(open: OpenSource = openLocal) {
    this.#openSource = open;
  }

  /**
   * Reads, decompresses and checks a block.
   *
   * @throws {Deno.errors.NotFound} the file does not exist
   * @throws {BlockError} the block is damaged, or the file is not a journal
   */
  async read(path: string, source: BlockSource): Promise<Block> {
    return (await this.readStored(path, source)).block;
  }

  /** As {@linkcode BlockReader.read}; undefined if the block is damaged or its file does not exist. */
  async tryRead(path: string, source: BlockSource): Promise<Block | undefined> {
    try {
      return await this.read(path, source);
    } catch (error) {
      if (error instanceof BlockError || error instanceof Deno.errors.NotFound) return undefined;
      throw error;
    }
  }

  /** As {@linkcode BlockReader.read}, with the bytes of the block. */
  async readStored(path: string, { offset, bytes, unsealed }: BlockSource): Promise<StoredBlock> {
    if (unsealed) return { ...memoryBlock(unsealed), storedBytes: bytes };
    const { source, header } = await this.#use(path);
    const length = bytes === 0 ? await lengthAt(offset, { source, header }) : bytes;
    const stored = await source.read(offset, length);
    const decoder = needsDictionary(stored, header) ? await loadDictionaryDecoder() : undefined;
    return unpackStored(stored, { header, decoder });
  }

  /** Closes the file. */
  [Symbol.dispose](): void {
    this.#open?.source[Symbol.dispose]();
    this.#open = undefined;
  }

  async #use(path: string): Promise<OpenFile> {
    if (this.#open?.path === path) return this.#open;
    this[Symbol.dispose]();
    const source = await this.#openSource(path);
    try {
      const header = parseFileHeader(await source.read(0, FILE_HEADER_BYTES));
      return this.#open = { path, source, header };
    } catch (error) {
      source[Symbol.dispose]();
      throw error;
    }
  }
}

/** The header of a stored block. @throws {BlockError} the block is incomplete */
function partsOf(stored: Uint8Array, header: FileHeader): BlockHeader {
  const found = parseBlockHeader(stored, header);
  if (found.kind !== "block" || storedBytes(found.header) !== stored.length) {
    throw new BlockError("size", "The block is incomplete");
  }
  return found.header;
}

/** True if {@linkcode unpackStored} needs a dictionary decoder. @throws {BlockError} the block is incomplete */
export function needsDictionary(stored: Uint8Array, header: FileHeader): boolean {
  return partsOf(stored, header).compression === "zstd-dict";
}

/**
 * Decompresses and checks a stored block.
 *
 * @param options.decoder required if the block has a dictionary
 * @throws {BlockError} the block is damaged
 */
export function unpackStored(
  stored: Uint8Array<ArrayBuffer>,
  { header, decoder }: { header: FileHeader; decoder: DictionaryDecoder | undefined },
): StoredBlock {
  const { headerBytes, dictionaryBytes, compression } = partsOf(stored, header);
  const data = stored.subarray(headerBytes + dictionaryBytes);
  const { blockBytes } = header;
  const unpack = () => {
    if (compression !== "zstd-dict") return decompress(data, { compression, blockBytes });
    if (decoder === undefined) throw new TypeError("The dictionary decoder is not loaded");
    const dictionary = stored.subarray(headerBytes, headerBytes + dictionaryBytes);
    return decoder.decompress(data, { dictionary, blockBytes });
  };
  const bytes = unpack();
  return {
    block: readBlock(bytes, header),
    bytes,
    packed: compression === "zstd" ? data : undefined,
    storedBytes: stored.length,
  };
}

function memoryBlock(bytes: Uint8Array): StoredBlock {
  return { block: readMemoryBlock(bytes), bytes, packed: undefined, storedBytes: bytes.length };
}

/** Reads blocks that are in no file yet. Yields to other tasks before each. */
export async function* readUnwritten(
  unwritten: readonly Uint8Array[],
): AsyncGenerator<StoredBlock & { version: FormatVersion }> {
  for (const bytes of unwritten) {
    await turn();
    yield { ...memoryBlock(bytes), version: 2 };
  }
}

/** Size of the block at an offset, from its header. */
async function lengthAt(offset: number, { source, header }: Pick<OpenFile, "source" | "header">): Promise<number> {
  const found = parseBlockHeader(await source.read(offset, blockHeaderBytes(header)), header);
  if (found.kind !== "block") throw new BlockError("size", "The length of the block is invalid");
  return storedBytes(found.header);
}
