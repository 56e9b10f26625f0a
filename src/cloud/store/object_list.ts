import { isStoreError, type ObjectInfo, type ObjectStore } from "../../object_store/mod.ts";
import { type FrameObject, framesPrefix, parseFrameKey, parsePrunedKey, prunedPrefix } from "./object_names.ts";
import { type ObjectTime, readTime, readTimes } from "./object_times.ts";

/** An object with frames, as a list shows it. */
export interface ListedObject extends FrameObject {
  key: string;
  /** Bytes. */
  size: number;
  /** When it was stored, by the store's clock, milliseconds since 1970. */
  storedMs: number;
  /** Undefined: it is not a journal file. */
  time: ObjectTime | undefined;
}

/** Objects of a boat. */
export interface ObjectList {
  objects: ListedObject[];
  /** How many of them were read because the hint lacks their times. */
  timesRead: number;
}

/** Beginnings of objects that are read at the same time. */
const HEADS_AT_ONCE = 32;

/**
 * Lists the objects with frames of a boat. Several pages are no snapshot: one that is stored or deleted meanwhile may be
 * missing.
 *
 * @throws {StoreError} the store does not answer
 */
export async function listObjects(
  store: ObjectStore,
  { id, signal }: { id: string; signal?: AbortSignal | undefined },
): Promise<ObjectList> {
  const [times, infos] = await Promise.all([readTimes(store, { id, signal }), listAll(store, { id, signal })]);
  const objects: ListedObject[] = [];
  const unknown: ListedObject[] = [];
  for (const { key, size, lastModifiedMs: storedMs } of infos) {
    const object = parseFrameKey(key);
    if (object?.id !== id) continue;
    const time = times.get(key);
    (time ? objects : unknown).push({ ...object, key, size, storedMs, time });
  }
  const timesRead = unknown.length;
  const read = async () => {
    for (let object = unknown.pop(); object; object = unknown.pop()) {
      try {
        object.time = await readTime(store, { ...object, signal });
        objects.push(object);
      } catch (error) {
        // Replaced by another node since it was listed.
        if (!isStoreError(error, "missing")) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: HEADS_AT_ONCE }, read));
  return { objects, timesRead };
}

async function listAll(
  store: ObjectStore,
  { id, signal }: { id: string; signal: AbortSignal | undefined },
): Promise<ObjectInfo[]> {
  const infos: ObjectInfo[] = [];
  for await (const page of store.list({ prefix: framesPrefix(id), signal })) infos.push(...page);
  return infos;
}

/** Numbers of a boat whose objects were deleted because they were too old or too many. @throws {StoreError} */
export async function listPruned(
  store: ObjectStore,
  { id, signal }: { id: string; signal?: AbortSignal | undefined },
): Promise<{ epoch: string; first: number; last: number }[]> {
  const pruned: { epoch: string; first: number; last: number }[] = [];
  for await (const page of store.list({ prefix: prunedPrefix(id), signal })) {
    for (const { key } of page) {
      const range = parsePrunedKey(key);
      if (range) pruned.push(range);
    }
  }
  return pruned;
}
