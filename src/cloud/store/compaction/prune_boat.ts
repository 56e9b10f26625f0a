import { EARLIEST_US } from "../object_times.ts";
import { Ranges } from "../../../base/mod.ts";
import type { ObjectStore } from "../../../object_store/mod.ts";
import type { ObjectChanges } from "../boat_objects.ts";
import { type ListedObject, listPruned } from "../object_list.ts";
import { withBlocks } from "../object_blocks.ts";
import { clockKey, prunedKey } from "../object_names.ts";
import { coveredAmong } from "./plan.ts";

/** Which frames are kept in the store; 0 or left out: no limit. */
export interface StoreRetention {
  /** Longest age since the first frame of an object, milliseconds. */
  maxAgeMs?: number | undefined;
  /** Age below which nothing is deleted for its age, milliseconds. */
  minKeepMs?: number | undefined;
  /** Most bytes of one boat. */
  maxBytes?: number | undefined;
}

/** Options of {@linkcode pruneBoat}. */
export interface PruneOptions {
  id: string;
  store: ObjectStore;
  /** All objects of the boat. */
  objects: readonly ListedObject[];
  retention: StoreRetention;
  /** Milliseconds since 1970. */
  nowMs: number;
  changed: (changes: ObjectChanges) => Promise<void> | void;
  signal?: AbortSignal | undefined;
}

/**
 * Deletes the oldest objects of a boat beyond the limits; the newest one stays. Their numbers are recorded before, so that no
 * node asks the boat for them again.
 *
 * @throws {StoreError} the store does not answer: the rest is done by the next call
 */
export async function pruneBoat({ id, store, changed, signal, ...options }: PruneOptions): Promise<void> {
  const { nowMs } = options;
  if (planPruning(options).length === 0) return;
  // The clock of this node may be wrong, that of the store has dated the objects.
  const old = planPruning({ ...options, nowMs: Math.min(nowMs, await storeClock(store, { id, signal })) });
  if (old.length === 0) return;
  const known = await listPruned(store, { id, signal });
  for (const [epoch, objects] of Map.groupBy(old, (object) => object.epoch)) {
    const before = known.filter((each) => each.epoch === epoch);
    const all = new Ranges([...before, ...objects].map(({ first, last }) => ({ start: first, end: last + 1 })));
    const keep = new Set<string>();
    for (const { start, end } of all) {
      const key = prunedKey({ id, epoch, first: start, last: end - 1 });
      keep.add(key);
      await store.putIfAbsent(key, new Uint8Array(), { signal });
    }
    await store.delete(before.map((each) => prunedKey({ id, ...each })).filter((key) => !keep.has(key)), { signal });
  }
  const removed = old.map(({ key }) => key);
  await store.delete(withBlocks(old), { signal });
  await changed({ added: [], removed });
}

/** The time of the store, milliseconds since 1970: it dates an object that is stored now. */
async function storeClock(
  store: ObjectStore,
  { id, signal }: { id: string; signal: AbortSignal | undefined },
): Promise<number> {
  await store.put(clockKey(id), new Uint8Array(), { signal });
  return (await store.head(clockKey(id), { signal }))?.lastModifiedMs ?? -Infinity;
}

/**
 * The objects that are too old, and the oldest ones of those that are too many. Objects that others have replaced do not count,
 * and go with those. Pure.
 */
export function planPruning(
  { objects, retention, nowMs }: Pick<PruneOptions, "objects" | "retention" | "nowMs">,
): ListedObject[] {
  const { maxAgeMs = 0, minKeepMs = 0, maxBytes = 0 } = retention;
  const replaced = replacedAmong(objects);
  const oldestFirst = objects.filter((object) => !replaced.has(object)).sort((a, b) => timeOf(a) - timeOf(b));
  let bytes = oldestFirst.reduce((sum, { size }) => sum + size, 0);
  const old: ListedObject[] = [];
  for (const object of oldestFirst.slice(0, -1)) {
    const ageMs = nowMs - timeOf(object);
    const isOld = maxAgeMs > 0 && ageMs > Math.max(maxAgeMs, minKeepMs);
    if (!isOld && !(maxBytes > 0 && bytes > maxBytes)) continue;
    old.push(object);
    bytes -= object.size;
  }
  for (const [object, by] of replaced) if (old.includes(by)) old.push(object);
  return old;
}

/** The objects whose numbers another one has, too, and that one. */
function replacedAmong(objects: readonly ListedObject[]): Map<ListedObject, ListedObject> {
  const replaced = new Map<ListedObject, ListedObject>();
  for (const ofEpoch of Map.groupBy(objects, ({ epoch }) => epoch).values()) {
    for (const { object, by } of coveredAmong(ofEpoch).covered) replaced.set(object, by);
  }
  return replaced;
}

/** When an object began, milliseconds since 1970. The clock of a boat may be wrong: it was stored later than it began. */
function timeOf({ time, storedMs }: ListedObject): number {
  const beganMs = (time?.timeUs ?? Infinity) / 1000;
  return beganMs > EARLIEST_US / 1000 && beganMs < storedMs ? beganMs : storedMs;
}
