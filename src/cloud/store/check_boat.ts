import { isInstanceId } from "../../pki/mod.ts";
import { isStoreError, type ObjectStore } from "../../object_store/mod.ts";
import { type Range, Ranges } from "../../replication/mod.ts";
import { BlockRun } from "./compaction/block_run.ts";
import { blocksOfObject, hashOf, type PackedBlock } from "./frame_objects.ts";
import {
  epochsPrefix,
  type FrameObject,
  framesPrefix,
  parseFrameKey,
  parsePrunedKey,
  prunedPrefix,
} from "./object_names.ts";
import { storedBoats } from "./restore.ts";

/** Something wrong in a store. */
export interface StoreFault {
  /** Key of the object. */
  key: string;
  /** For people. */
  what: string;
}

/** Numbers of one epoch in a store. */
export interface CheckedEpoch {
  /** Hex. */
  epoch: string;
  /** Ranges with frames; `end` is exclusive. */
  stored: Range[];
  /** Ranges that were deleted because they were too old or too many. */
  pruned: Range[];
  /** Missing between the first and the last number. No damage: the boat may still send them. */
  holes: Range[];
  /** Numbers that several objects have, with the same frames. */
  repeated: number;
}

/** What a check of a boat found. */
export interface CheckedBoat {
  /** Instance id. */
  id: string;
  /** Number of its objects with frames. */
  objects: number;
  /** Bytes of its objects. */
  bytes: number;
  /** In the order in which they began. */
  epochs: CheckedEpoch[];
  /** By key. */
  faults: StoreFault[];
}

/** Objects read at the same time. */
const READ_AT_ONCE = 4;

/** Options of {@linkcode checkStoredBoat}. */
export interface CheckOptions {
  /** Called with the bytes read; an error that it throws ends the check. */
  onBytes: (bytes: number) => void;
  /** Ends the check. */
  signal?: AbortSignal | undefined;
}

/** The boats in a store, sorted by id: those with epochs, and those with objects. @throws {StoreError} */
export async function boatsInStore(store: ObjectStore): Promise<string[]> {
  const ids = await storedBoats(store);
  for (let after: string | undefined = framesPrefix("").slice(0, -1);;) {
    // One request for each boat: the next key after all of the last one.
    let next: string | undefined;
    for await (const page of store.list({ prefix: "instances/", after, limit: 1 })) next = page[0]?.key ?? next;
    const id = next?.split("/")[1];
    if (next === undefined || id === undefined) break;
    ids.add(id);
    after = `instances/${id}0`;
  }
  return [...ids].filter(isInstanceId).sort();
}

/**
 * Reads all objects of a boat, and checks them and their numbers. Changes nothing. Memory: a few objects, and the list of all.
 *
 * @throws {StoreError} the store does not answer
 */
export async function checkStoredBoat(store: ObjectStore, id: string, options: CheckOptions): Promise<CheckedBoat> {
  const checked: CheckedBoat = { id, objects: 0, bytes: 0, epochs: [], faults: [] };
  const objects: (FrameObject & { key: string })[] = [];
  for await (const page of store.list({ prefix: framesPrefix(id), signal: options.signal })) {
    for (const { key, size } of page) {
      checked.bytes += size;
      const object = parseFrameKey(key);
      if (object) objects.push({ ...object, key });
      else checked.faults.push({ key, what: "Its name is not that of frames" });
    }
  }
  checked.objects = objects.length;
  // After the frames: an epoch that begins meanwhile is recorded before its frames.
  const known = await checkEpochs(store, { checked, options });
  const waiting = objects.toReversed();
  const read = async () => {
    for (let object = waiting.pop(); object; object = waiting.pop()) {
      const blocks = await readObject(store, { object, options });
      if (typeof blocks === "string") checked.faults.push({ key: object.key, what: blocks });
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, read));
  const pruned = await prunedOf(store, { checked, options });
  for (const [epoch, each] of Map.groupBy(objects, (object) => object.epoch)) {
    if (!known.includes(epoch)) {
      checked.faults.push({ key: framesPrefix(id, epoch), what: "No object says when this epoch began" });
    }
    checked.epochs.push(await checkNumbers(store, { epoch, objects: each, pruned, checked, options }));
  }
  checked.epochs.sort((a, b) => known.indexOf(a.epoch) - known.indexOf(b.epoch));
  checked.faults.sort((a, b) => a.key < b.key ? -1 : 1);
  return checked;
}

/** The epochs in their order; reports objects that name none, and positions without an object. */
async function checkEpochs(
  store: ObjectStore,
  { checked: { id, faults }, options: { signal } }: { checked: CheckedBoat; options: CheckOptions },
): Promise<string[]> {
  const epochs: string[] = [];
  let position = 0;
  for await (const page of store.list({ prefix: epochsPrefix(id), signal })) {
    for (const { key } of page) {
      const epoch = new TextDecoder().decode(await store.get(key, { signal }));
      if (!/^[0-9a-f]{32}$/.test(epoch)) faults.push({ key, what: "It does not name an epoch" });
      else if (epochs.includes(epoch)) faults.push({ key, what: `It names epoch ${epoch} again` });
      if (Number(key.split("/").at(-1)) !== ++position) faults.push({ key, what: `Expected position ${position}` });
      epochs.push(epoch);
    }
  }
  return epochs;
}

/** The blocks of an object, or what is wrong with it. */
async function readObject(
  store: ObjectStore,
  { object: { key, epoch, first, last, hash }, options: { onBytes, signal } }: {
    object: FrameObject & { key: string };
    options: CheckOptions;
  },
): Promise<PackedBlock[] | string> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = await store.get(key, { signal });
  } catch (error) {
    if (isStoreError(error, "damaged")) return error.message;
    // Joined with others since it was listed.
    if (isStoreError(error, "missing")) return [];
    throw error;
  }
  onBytes(bytes.length);
  if (await hashOf(bytes) !== hash) return "Its content is not that of its name: the hash differs";
  const blocks = await blocksOfObject(bytes, { epoch: Uint8Array.fromHex(epoch) }).catch(() => undefined);
  if (!blocks) return "A block is damaged, or of another epoch";
  const numbers = new Ranges(blocks.map((block) => ({ start: block.first, end: block.last + 1 })));
  const isAsNamed = JSON.stringify([...numbers]) === JSON.stringify([{ start: first, end: last + 1 }]);
  return isAsNamed ? blocks : "Its frames are not those of its name";
}

async function prunedOf(
  store: ObjectStore,
  { checked: { id, faults }, options: { signal } }: { checked: CheckedBoat; options: CheckOptions },
): Promise<Map<string, Ranges>> {
  const pruned = new Map<string, Ranges>();
  for await (const page of store.list({ prefix: prunedPrefix(id), signal })) {
    for (const { key } of page) {
      const range = parsePrunedKey(key);
      if (!range) {
        faults.push({ key, what: "Its name is not that of deleted numbers" });
        continue;
      }
      const ranges = pruned.get(range.epoch) ?? new Ranges();
      ranges.add(range.first, range.last + 1);
      pruned.set(range.epoch, ranges);
    }
  }
  return pruned;
}

/** Numbers of an epoch: holes, and objects that overlap. */
async function checkNumbers(
  store: ObjectStore,
  { epoch, objects, pruned, checked: { faults }, options }: {
    epoch: string;
    objects: readonly (FrameObject & { key: string })[];
    pruned: ReadonlyMap<string, Ranges>;
    checked: CheckedBoat;
    options: CheckOptions;
  },
): Promise<CheckedEpoch> {
  const stored = new Ranges();
  let repeated = 0;
  let before: (FrameObject & { key: string })[] = [];
  for (const object of objects.toSorted((a, b) => a.first - b.first || b.last - a.last)) {
    before = before.filter(({ last }) => last >= object.first);
    for (const other of before) {
      repeated += Math.min(other.last, object.last) - object.first + 1;
      const isSame = await haveSameFrames(store, { one: other, other: object, options });
      if (!isSame) {
        faults.push({ key: object.key, what: `It has other frames than ${other.key} with the same numbers` });
      }
    }
    before.push(object);
    stored.add(object.first, object.last + 1);
  }
  const gone = pruned.get(epoch) ?? new Ranges();
  const all = stored.union(gone);
  const holes = all.holes((all.last ?? 0) + 1, 1);
  return { epoch, stored: [...stored], pruned: [...gone], holes, repeated };
}

/** True if no number has different frames in two objects; also if one of them is damaged, which is reported already. */
async function haveSameFrames(
  store: ObjectStore,
  { one, other, options }: {
    one: FrameObject & { key: string };
    other: FrameObject & { key: string };
    options: CheckOptions;
  },
): Promise<boolean> {
  const quiet = { ...options, onBytes: () => {} };
  const [blocks, others] = [
    await readObject(store, { object: one, options: quiet }),
    await readObject(store, { object: other, options: quiet }),
  ];
  if (typeof blocks === "string" || typeof others === "string") return true;
  const run = new BlockRun();
  for (const block of blocks) run.add(block);
  return others.every((block) => run.compare(block) !== "different");
}
