import { isStoreError, type ObjectStore } from "../../../object_store/mod.ts";
import type { ObjectChanges } from "../boat_objects.ts";
import { blocksOfObject, bodyOf, hashOf, OBJECT_BYTES } from "../frame_objects.ts";
import { type ListedObject, listObjects } from "../object_list.ts";
import { withBlocks, writeBlocks } from "../object_blocks.ts";
import { frameKey, timesKey } from "../object_names.ts";
import { writeTimes } from "../object_times.ts";
import { BlockRun } from "./block_run.ts";
import { planCompaction } from "./plan.ts";
import { pruneBoat, type StoreRetention } from "./prune_boat.ts";

/** Time from storing a joined object to deleting those that it replaces: nodes may read from a list of that age. */
export const GRACE_MS = 3_600_000;

/** Objects that cannot be joined. */
export interface CompactionFault {
  epoch: string;
  first: number;
  last: number;
  /** `different`: other frames have the same numbers, so that two machines may be this boat. `damaged`: cannot be read. */
  kind: "different" | "damaged";
  /** Keys. */
  objects: string[];
}

/** What is remembered of a boat between two passes; after a restart objects are read again. */
export class CompactionMemory {
  /** Objects whose content was found in another one, by `object by` keys. */
  readonly verified = new Set<string>();
  /** Objects with a reported fault. */
  readonly faulty = new Map<string, CompactionFault>();
}

/** Options of {@linkcode compactBoat}. */
export interface CompactOptions {
  id: string;
  store: ObjectStore;
  memory: CompactionMemory;
  /** Milliseconds since 1970. */
  nowMs: number;
  /** Time that the objects of a day that is over are not joined, milliseconds; default 0. */
  dayDelayMs?: number | undefined;
  /** Which frames are kept; default all. */
  retention?: StoreRetention | undefined;
  /** Called after each change. */
  changed: (changes: ObjectChanges) => Promise<void> | void;
  /** Called once for each fault. */
  report: (fault: CompactionFault) => void;
  /** Largest object, bytes; default {@linkcode OBJECT_BYTES}. */
  objectBytes?: number | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Joins the objects of a boat and deletes those that have been replaced for {@linkcode GRACE_MS}. Needs no lock: an object is
 * deleted only after another one was found to have all of its frames, so that several nodes may do it at the same time, and
 * may be killed at any time.
 *
 * @throws {StoreError} the store does not answer: what was done is right, the rest is done by the next call
 */
export async function compactBoat(options: CompactOptions): Promise<void> {
  const { id, store, nowMs, dayDelayMs = 0, objectBytes = OBJECT_BYTES, retention = {}, changed, signal } = options;
  const { memory } = options;
  const { objects, timesRead } = await listObjects(store, { id, signal });
  const byEpoch = Map.groupBy(objects.filter(({ key }) => !memory.faulty.has(key)), ({ epoch }) => epoch);
  const covered: { object: ListedObject; by: ListedObject }[] = [];
  const all = new Map(objects.map((object) => [object.key, object]));
  let isChanged = timesRead > 0;
  for (const each of byEpoch.values()) {
    const plan = planCompaction(each, { nowMs, dayDelayMs, objectBytes });
    covered.push(...plan.covered);
    for (const group of plan.merge) {
      const joined = await join(group, options);
      if (!joined) continue;
      all.set(joined.key, joined);
      isChanged = true;
      await changed({ added: [joined], removed: [] });
    }
  }
  if (!isChanged && covered.length === 0) return await pruneBoat({ ...options, retention, objects });
  const times = [...all.values()].flatMap(({ key, time }): [string, NonNullable<typeof time>][] =>
    time ? [[key, time]] : []
  );
  await writeTimes(store, { id, times, signal });
  if (covered.length > 0) await deleteCovered(covered, options);
  await pruneBoat({ ...options, retention, objects: [...all.values()] });
}

/** Stores an object with the frames of a group; undefined if that is not possible, which is reported. */
async function join(group: readonly ListedObject[], options: CompactOptions): Promise<ListedObject | undefined> {
  const { store, id, memory, nowMs, signal } = options;
  const [{ epoch }] = [group[0] ?? { epoch: "" }];
  const run = new BlockRun();
  for (const object of group) {
    const added = await addObject(run, { object, options });
    if (added !== "held" && added !== "added") {
      const overlapping = group.filter(({ first, last }) => first <= object.last && last >= object.first);
      fault(added, { group: added === "damaged" ? [object] : overlapping, options });
      return undefined;
    }
  }
  const blockBytes = group[0]?.time?.blockBytes ?? 0;
  const body = await bodyOf(run.blocks, { blockBytes, epoch: Uint8Array.fromHex(epoch) });
  const { first, last, bytes, digests, hash, timeUs, blocks } = body;
  const object = { id, epoch, first, last, hash };
  const key = frameKey(object);
  await store.putIfAbsent(key, bytes, { digests, signal });
  await writeBlocks(store, { key, size: bytes.length, blocks, signal });
  for (const each of group) memory.verified.add(`${each.key} ${key}`);
  return { ...object, key, size: bytes.length, storedMs: nowMs, time: { timeUs, blockBytes } };
}

/** Adds the frames of an object to a run. */
async function addObject(
  run: BlockRun,
  { object, options: { store, signal }, mayAdd = true }: {
    object: ListedObject;
    options: Pick<CompactOptions, "store" | "signal">;
    mayAdd?: boolean;
  },
): Promise<"added" | "held" | "different" | "damaged"> {
  const bytes = await store.get(object.key, { signal });
  const epoch = Uint8Array.fromHex(object.epoch);
  const blocks = await hashOf(bytes) === object.hash ? await blocksOfObject(bytes, { epoch }) : undefined;
  let result: "added" | "held" = "held";
  for (const block of blocks ?? []) {
    const addition = mayAdd ? run.add(block) : run.compare(block);
    if (addition === "different") return addition;
    if (addition === "gap") return "damaged";
    if (addition === "added") result = "added";
  }
  return blocks ? result : "damaged";
}

function fault(
  kind: CompactionFault["kind"],
  { group, options: { memory, report } }: { group: readonly ListedObject[]; options: CompactOptions },
): void {
  const [first, epoch] = [Math.min(...group.map((each) => each.first)), group[0]?.epoch ?? ""];
  const found = {
    kind,
    epoch,
    first,
    last: Math.max(...group.map(({ last }) => last)),
    objects: group.map(({ key }) => key),
  };
  for (const key of found.objects) memory.faulty.set(key, found);
  report(found);
}

/** Deletes objects that another one has replaced for {@linkcode GRACE_MS}, after it was found to have all of their frames. */
async function deleteCovered(
  covered: readonly { object: ListedObject; by: ListedObject }[],
  options: CompactOptions,
): Promise<void> {
  const { id, store, memory, changed, signal } = options;
  // The hint was just stored: the store's own clock.
  const storeMs = (await store.head(timesKey(id), { signal }))?.lastModifiedMs ?? -Infinity;
  const runs = new Map<string, BlockRun | undefined>();
  const replaced: ListedObject[] = [];
  for (const { object, by } of covered) {
    if (storeMs - by.storedMs < GRACE_MS) continue;
    const pair = `${object.key} ${by.key}`;
    try {
      if (!memory.verified.has(pair)) {
        if (!runs.has(by.key)) runs.set(by.key, await runOf(by, options));
        const found = await addObject(runs.get(by.key) ?? new BlockRun(), { object, options, mayAdd: false });
        if (found !== "held") {
          if (found !== "added") fault(found, { group: found === "damaged" ? [object] : [object, by], options });
          continue;
        }
        memory.verified.add(pair);
      }
    } catch (error) {
      // Another node has deleted it.
      if (!isStoreError(error, "missing")) throw error;
      continue;
    }
    // Not from a list alone: another node may have replaced the larger one, too.
    if ((await store.head(by.key, { signal }))?.size === by.size) replaced.push(object);
  }
  if (replaced.length === 0) return;
  await store.delete(withBlocks(replaced), { signal });
  const removed = replaced.map(({ key }) => key);
  for (const pair of memory.verified) {
    if (removed.some((key) => pair.startsWith(`${key} `))) memory.verified.delete(pair);
  }
  await changed({ added: [], removed });
}

/** The blocks of an object; undefined: it is damaged, which is reported. */
async function runOf(object: ListedObject, options: CompactOptions): Promise<BlockRun | undefined> {
  const run = new BlockRun();
  const added = await addObject(run, { object, options });
  if (added === "added") return run;
  if (added !== "held") fault(added, { group: [object], options });
  return undefined;
}
