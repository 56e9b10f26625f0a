import type { BlockLocation } from "../../journal/mod.ts";
import { isStoreError, type ObjectStore, StoreError } from "../../object_store/mod.ts";
import { blocksKey } from "./object_names.ts";

/** Objects from this size on have the locations of their blocks beside them, bytes: of others all is read at once. */
export const LOCATED_OBJECT_BYTES: number = 1024 * 1024;

/** An object with frames. */
interface LocatedObject {
  key: string;
  /** Bytes. */
  size: number;
}

// Content: numbers of 8 bytes, little-endian: version, size of the object, then for each block BLOCK_NUMBERS.
const VERSION = 1;
const NUMBER_BYTES = 8;
/** Offset, bytes, time and number of its first frame. */
const BLOCK_NUMBERS = 4;

/**
 * Stores where the blocks of a large object begin, so that one who wants an hour of it need not read all of it. Only a hint:
 * if it cannot be stored, the object is read.
 */
export async function writeBlocks(
  store: ObjectStore,
  { key, size, blocks, signal }: LocatedObject & {
    blocks: readonly BlockLocation[];
    signal?: AbortSignal | undefined;
  },
): Promise<void> {
  if (size < LOCATED_OBJECT_BYTES) return;
  const numbers = [VERSION, size, ...blocks.flatMap(({ offset, bytes, timeUs, seq }) => [offset, bytes, timeUs, seq])];
  const view = new DataView(new ArrayBuffer(numbers.length * NUMBER_BYTES));
  for (const [i, number] of numbers.entries()) view.setFloat64(i * NUMBER_BYTES, number, true);
  try {
    await store.put(blocksKey(key), new Uint8Array(view.buffer), { signal });
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
  }
}

/**
 * Reads where the blocks of an object begin; undefined: it must be read itself. As an object never changes, they are not
 * outdated.
 *
 * @throws {StoreError} the store does not answer
 */
export async function readBlocks(
  store: ObjectStore,
  { key, size, signal }: LocatedObject & { signal?: AbortSignal | undefined },
): Promise<BlockLocation[] | undefined> {
  if (size < LOCATED_OBJECT_BYTES) return undefined;
  try {
    return parseBlocks(await store.get(blocksKey(key), { signal }), size);
  } catch (error) {
    if (isStoreError(error, "missing") || isStoreError(error, "damaged")) return undefined;
    throw error;
  }
}

/** Keys of objects and of what is beside them, to delete them. */
export function withBlocks(objects: readonly LocatedObject[]): string[] {
  return objects.flatMap(({ key, size }) => size < LOCATED_OBJECT_BYTES ? [key] : [key, blocksKey(key)]);
}

function parseBlocks({ buffer, byteOffset, byteLength }: Uint8Array, size: number): BlockLocation[] | undefined {
  const view = new DataView(buffer, byteOffset, byteLength);
  const numbers = Array.from({ length: byteLength / NUMBER_BYTES }, (_, i) => view.getFloat64(i * NUMBER_BYTES, true));
  const [version, ofSize, ...rows] = numbers;
  if (version !== VERSION || ofSize !== size || rows.length % BLOCK_NUMBERS !== 0) return undefined;
  const found: BlockLocation[] = [];
  let end = 0;
  for (let at = 0; at < rows.length; at += BLOCK_NUMBERS) {
    const [offset = NaN, bytes = NaN, timeUs = NaN, seq = NaN] = rows.slice(at, at + BLOCK_NUMBERS);
    const isIn = offset >= end && bytes > 0 && offset + bytes <= size;
    if (!isIn || ![offset, bytes, timeUs, seq].every(Number.isSafeInteger)) return undefined;
    found.push({ offset, bytes, timeUs, seq });
    end = offset + bytes;
  }
  return found;
}
