import { epochWordOf, type FileHead, HEAD_BYTES, readHead } from "../../journal/mod.ts";
import { isStoreError, type ObjectStore, StoreError } from "../../object_store/mod.ts";
import { type FrameObject, timesKey } from "./object_names.ts";

/** What a key does not say of an object. */
export interface ObjectTime {
  /** Time of its first frame, microseconds since 1970. */
  timeUs: number;
  /** Bytes of each of its blocks, unpacked. */
  blockBytes: number;
}

/** A time before this is that of a clock that was not set: 2001, microseconds since 1970. */
export const EARLIEST_US: number = Date.UTC(2001) * 1000;
const VERSION = 1;

/**
 * Reads the times of a boat's objects, by key. Only a hint, so that not every object must be read: it may be missing or old.
 * An object never changes, so that nothing in it is wrong.
 *
 * @throws {StoreError} the store does not answer
 */
export async function readTimes(
  store: ObjectStore,
  { id, signal }: { id: string; signal?: AbortSignal | undefined },
): Promise<Map<string, ObjectTime>> {
  try {
    return parseTimes(new TextDecoder().decode(await store.get(timesKey(id), { signal })));
  } catch (error) {
    const isUseless = error instanceof SyntaxError || error instanceof TypeError || isStoreError(error, "missing");
    if (isUseless || isStoreError(error, "damaged")) return new Map();
    throw error;
  }
}

/** Stores the times of a boat's objects. @throws {StoreError} */
export async function writeTimes(
  store: ObjectStore,
  { id, times, signal }: { id: string; times: Iterable<[key: string, ObjectTime]>; signal?: AbortSignal | undefined },
): Promise<void> {
  const objects = Array.from(times, ([key, { timeUs, blockBytes }]) => [key, timeUs, blockBytes]);
  const text = JSON.stringify({ version: VERSION, objects });
  await store.put(timesKey(id), new TextEncoder().encode(text), { signal });
}

/** Reads the time of an object from its beginning; undefined: it is none of ours. @throws {StoreError} also if it is `missing` */
export async function readTime(
  store: ObjectStore,
  { key, size, signal }: { key: string; size: number; signal?: AbortSignal | undefined },
): Promise<ObjectTime | undefined> {
  try {
    const length = Math.min(size, HEAD_BYTES);
    const bytes = await store.getRange(key, { offset: 0, length, signal });
    const head = await readHead((offset, count) => Promise.resolve(bytes.slice(offset, offset + count)), size);
    return head?.first && { timeUs: head.first.timeUs, blockBytes: head.header.blockBytes };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    return undefined;
  }
}

/** The beginning of an object as an index has it. */
export function headOf({ epoch, first }: FrameObject, { timeUs, blockBytes }: ObjectTime, bytes: number): FileHead {
  const epochWord = epochWordOf(Uint8Array.fromHex(epoch));
  return { header: { version: 2, blockBytes, compression: "zstd", epochWord }, bytes, first: { timeUs, seq: first } };
}

/** @throws {SyntaxError|TypeError} */
function parseTimes(text: string): Map<string, ObjectTime> {
  const found: unknown = JSON.parse(text);
  const times = new Map<string, ObjectTime>();
  if (typeof found !== "object" || found === null || !("objects" in found) || !Array.isArray(found.objects)) {
    return times;
  }
  for (const each of found.objects) {
    if (!Array.isArray(each)) continue;
    const [key, timeUs, blockBytes]: unknown[] = each;
    if (typeof key !== "string" || !Number.isSafeInteger(timeUs) || !Number.isSafeInteger(blockBytes)) continue;
    times.set(key, { timeUs: Number(timeUs), blockBytes: Number(blockBytes) });
  }
  return times;
}
