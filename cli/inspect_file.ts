import { journalFilesOf } from "@vessel/gateway";
import { newStoredFrame } from "@vessel/gateway/frame";
import {
  type Block,
  BlockReader,
  FILE_HEADER_BYTES,
  type FileIndex,
  type IndexedBlock,
  parseFileHeader,
  readFileAt,
  readFileIndex,
  readingAhead,
  type StoredBlock,
  storedBytes,
} from "@vessel/gateway/journal";
import { errorText } from "@vessel/gateway/settings";
import { SettingsError } from "./program.ts";

/** A journal file as it lies there; no block of it is read. */
export interface ExaminedFile {
  path: string;
  /** Size of the file. */
  bytes: number;
  index: FileIndex;
}

/** A block, or why it cannot be read. */
export type ExaminedBlock =
  & { place: IndexedBlock }
  & ({ kind: "read"; stored: StoredBlock } | { kind: "damaged"; why: string });

/** The frames of a block. */
export interface FrameSpan {
  /** Frames that can be read. */
  frames: number;
  firstTimeUs: number;
  latestTimeUs: number;
  /** Why the next frame, and each behind it, cannot be read. */
  damage: string | undefined;
}

/** Bytes of a file that are read at once to find its blocks: they lie close together where they are compressed. */
const WINDOW_BYTES = 262_144;

/** All files of some words of a command line: files as they are named, and those of directories in the order of their names. */
export async function pathsOf(names: readonly string[]): Promise<string[]> {
  if (names.length === 0) throw new SettingsError("Cannot work on nothing: expected at least one FILE or DIR");
  const paths: string[] = [];
  for (const name of names) {
    const { isDirectory } = await Deno.stat(name).catch((error) => {
      throw new SettingsError(`Cannot read "${name}": ${errorText(error)}`);
    });
    if (isDirectory) paths.push(...await journalFilesOf(name));
    else paths.push(name);
  }
  return [...new Set(paths)];
}

/** Bytes of all files together, for a bar that shows how far something is. */
export async function bytesOf(paths: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const path of paths) bytes += (await Deno.stat(path)).size;
  return bytes;
}

/** Where the blocks of a file are. @throws {BlockError} it is no journal */
export async function examine(path: string): Promise<ExaminedFile> {
  using file = await Deno.open(path);
  const { size, isFile } = await file.stat();
  // A pipe would be waited for.
  if (!isFile) throw new TypeError("it is no file");
  const read = (offset: number, length: number) => readFileAt(file, { offset, length });
  const { compression } = parseFileHeader(await read(0, FILE_HEADER_BYTES));
  const index = await readFileIndex(compression === "none" ? read : readingAhead(read, WINDOW_BYTES), size);
  return { path, bytes: size, index };
}

/** All blocks of a file, one after the other, unpacked and checked. */
export async function* blocksOf({ path, index }: ExaminedFile): AsyncGenerator<ExaminedBlock> {
  using reader = new BlockReader();
  for (const place of index.blocks) {
    const where = { offset: place.offset, bytes: storedBytes(place.header) };
    yield await reader.readStored(path, where).then(
      (stored): ExaminedBlock => ({ kind: "read", place, stored }),
      (error): ExaminedBlock => ({ kind: "damaged", place, why: errorText(error) }),
    );
  }
}

/** Goes through the frames of a block. */
export function spanOf(block: Block): FrameSpan {
  const frame = newStoredFrame();
  const cursor = block.frames();
  const firstTimeUs = block.baseTimeUs;
  let latestTimeUs = firstTimeUs;
  let damage: string | undefined;
  try {
    while (cursor.next(frame)) if (frame.timeUs > latestTimeUs) latestTimeUs = frame.timeUs;
  } catch (error) {
    damage = errorText(error);
  }
  return { frames: cursor.index, firstTimeUs, latestTimeUs, damage };
}

/** First four bytes of an epoch, in hexadecimal as the epoch is; undefined where a file names none. */
export function epochText(word: number): string | undefined {
  if (word === 0) return undefined;
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, word, true);
  return bytes.toHex();
}

/** `1 frame`, `2 frames`. */
export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

/** `5 to 8`, or `5` of one number alone. */
export function rangeText(first: number, last: number): string {
  return first === last ? `${first}` : `${first} to ${last}`;
}
