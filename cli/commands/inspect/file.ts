import { basename } from "node:path";
import { newStoredFrame } from "@vessel/gateway/frame";
import {
  type Block,
  type BlockFile,
  BlockReader,
  type IndexedBlock,
  openBlockFile,
  readJournalDirectory,
  type StoredBlock,
  storedBytes,
} from "@vessel/gateway/journal";
import { errorText } from "@vessel/gateway/base";
import { SettingsError } from "../../program/program.ts";

/** A file, or a write-ahead log with frames that no file holds, that was found and not looked at yet. */
export interface FoundFile {
  path: string;
  /** Name of the file, or of the one that a start would write the log into. */
  name: string;
  /** Size of the file. */
  bytes: number;
  /** Looks where its blocks are; none is read. @throws {BlockError} it is no journal */
  open(): Promise<BlockFile>;
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

/**
 * What some words of a command line name: files as they are, and those of directories in the order of their names, with
 * the write-ahead logs after them. Nothing is locked or changed.
 */
export async function findFiles(names: readonly string[]): Promise<FoundFile[]> {
  if (names.length === 0) throw new SettingsError("Cannot work on nothing: expected at least one FILE or DIR");
  const found = new Map<string, FoundFile>();
  const add = async (path: string) => {
    const { size: bytes } = await Deno.stat(path);
    found.set(path, { path, name: basename(path), bytes, open: () => openBlockFile(path) });
  };
  for (const name of names) {
    const { isDirectory } = await Deno.stat(name).catch((error) => {
      throw new SettingsError(`Cannot read "${name}": ${errorText(error)}`);
    });
    if (!isDirectory) {
      await add(name);
      continue;
    }
    const { files, wals } = await readJournalDirectory(name);
    for (const path of files) await add(path);
    for (const wal of wals) {
      const { path, bytes, sealsInto = basename(path) } = wal;
      found.set(path, { path, name: sealsInto, bytes, open: () => Promise.resolve(wal) });
    }
  }
  return [...found.values()];
}

/** Bytes of all files together, for a bar that shows how far something is. */
export function bytesOf(files: readonly FoundFile[]): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * All blocks of a file, one after the other, unpacked and checked.
 *
 * @param onBytes is told of bytes of the file that are done; what it throws ends the reading
 */
export async function* blocksOf(
  { path, bytes, index }: BlockFile,
  onBytes: (bytes: number) => void = () => {},
): AsyncGenerator<ExaminedBlock> {
  using reader = new BlockReader();
  let done = 0;
  for (const place of index.blocks) {
    const where = { offset: place.offset, bytes: storedBytes(place.header), unsealed: place.unsealed };
    yield await reader.readStored(path, where).then(
      (stored): ExaminedBlock => ({ kind: "read", place, stored }),
      (error): ExaminedBlock => ({ kind: "damaged", place, why: errorText(error) }),
    );
    onBytes(place.offset - done);
    done = place.offset;
  }
  onBytes(bytes - done);
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
