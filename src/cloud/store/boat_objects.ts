import { type FileSource, type OutsideFile, type SealedBlock, SourceUnavailableError } from "../../journal/mod.ts";
import { type ObjectStore, StoreError } from "../../object_store/mod.ts";
import { Ranges } from "../../replication/mod.ts";
import { frameBodies, type FrameBody, frameBodyOf } from "./frame_objects.ts";
import { ObjectCache } from "./object_cache.ts";
import { epochKey, epochsPrefix, frameKey, type FrameObject } from "./object_names.ts";
import { type ListedObject, listObjects, listPruned } from "./object_list.ts";
import { readBlocks, writeBlocks } from "./object_blocks.ts";
import { EARLIEST_US, headOf, type ObjectTime, writeTimes } from "./object_times.ts";
import { inReadTime } from "./read_time.ts";

/** What is known of an object. */
interface KnownObject extends FrameObject {
  /** Bytes. */
  size: number;
  /** Undefined: it is not a journal file. */
  time: ObjectTime | undefined;
}

/** What has changed in the store besides what was stored here. */
export interface ObjectChanges {
  added: readonly ListedObject[];
  /** Keys. */
  removed: readonly string[];
}

/**
 * Objects whose times are not in the hint yet: for more than this it is stored again. A node that gets the boat reads the
 * beginning of each of them.
 */
const MAX_UNSAVED_TIMES = 16;

/** A boat's frames in the store. Objects are only added: what a list did not show may still be there. */
export class BoatObjects {
  readonly #id: string;
  readonly #store: ObjectStore;
  readonly #cache: ObjectCache;
  readonly #objects = new Map<string, KnownObject>();
  #unsavedTimes = 0;
  readonly #stored = new Map<string, Ranges>();
  /** In the order in which they began. */
  #epochs: string[] = [];
  readonly #epochByKey = new Map<string, string>();

  /** @param options.cache parts of objects that were read; default: one of its own */
  constructor(
    { id, store, cache = new ObjectCache({ store }) }: { id: string; store: ObjectStore; cache?: ObjectCache },
  ) {
    this.#id = id;
    this.#store = store;
    this.#cache = cache;
  }

  /** Its epochs, hex, in the order in which they began. */
  get epochs(): readonly string[] {
    return this.#epochs;
  }

  /** Numbers of the frames of an epoch, hex, for which the store has answered, and those that were deleted intentionally. */
  storedOf(epoch: string): Ranges {
    return this.#stored.get(epoch) ?? new Ranges();
  }

  /** The objects as files for an index, in the order of their keys, by which {@linkcode BoatObjects.open} opens them. */
  get files(): OutsideFile[] {
    return [...this.#objects].sort(([a], [b]) => a < b ? -1 : 1).map(([key, object]) => outsideFile(key, object));
  }

  /**
   * Learns what is in the store.
   *
   * @throws {StoreError} the store cannot be listed
   */
  async list(signal?: AbortSignal): Promise<void> {
    const options = { id: this.#id, signal };
    const { objects, timesRead } = await listObjects(this.#store, options);
    // After the objects: an epoch is recorded before its frames are stored, and a range before they are deleted.
    const [epochs, pruned] = await Promise.all([this.#listEpochs(signal), listPruned(this.#store, options)]);
    this.#epochs = inOrderOfTime(epochs, objects);
    for (const object of objects) if (!this.#objects.has(object.key)) this.#add(object.key, object);
    for (const { epoch, first, last } of pruned) this.#noteStored({ epoch, first, last });
    this.#unsavedTimes += timesRead;
    await this.saveManyTimes(signal);
  }

  /** Another object has the frames of some, which are deleted; or they are deleted intentionally. */
  replace({ added, removed }: ObjectChanges): { added: OutsideFile[] } {
    for (const key of removed) this.#objects.delete(key);
    for (const object of added) this.#add(object.key, object);
    this.#unsavedTimes += added.length;
    return { added: added.map((object) => outsideFile(object.key, object)) };
  }

  /** Stores the hint, if it lacks many objects. @throws {StoreError} */
  async saveManyTimes(signal?: AbortSignal): Promise<void> {
    if (this.#unsavedTimes > MAX_UNSAVED_TIMES) await this.saveTimes(signal);
  }

  /** Stores the hint, if it lacks objects. @throws {StoreError} */
  async saveTimes(signal?: AbortSignal): Promise<void> {
    if (this.#unsavedTimes === 0) return;
    const times = new Map<string, ObjectTime>();
    for (const [key, { time }] of this.#objects) if (time) times.set(key, time);
    await writeTimes(this.#store, { id: this.#id, times, signal });
    this.#unsavedTimes = 0;
  }

  /**
   * Records that an epoch has begun after the known ones. Must come before its frames: keys of objects have no order of
   * epochs.
   *
   * @throws {StoreError} it is not recorded
   */
  async beginEpoch(epoch: string, signal?: AbortSignal): Promise<void> {
    while (!this.#epochs.includes(epoch)) {
      const key = epochKey(this.#id, this.#epochs.length + 1);
      const answer = await this.#store.putIfAbsent(key, new TextEncoder().encode(epoch), { signal });
      if (answer === "stored") this.#epochs.push(epoch);
      else this.#epochs = await this.#listEpochs(signal);
    }
  }

  async #listEpochs(signal: AbortSignal | undefined): Promise<string[]> {
    const keys: string[] = [];
    for await (const page of this.#store.list({ prefix: epochsPrefix(this.#id), signal })) {
      keys.push(...page.map(({ key }) => key));
    }
    const read = async (key: string) => new TextDecoder().decode(await this.#store.get(key, { signal }));
    return await Promise.all(keys.map(async (key) => {
      // They never change.
      const epoch = this.#epochByKey.get(key) ?? await read(key);
      this.#epochByKey.set(key, epoch);
      return epoch;
    }));
  }

  /**
   * Stores the frames of a journal file. Returns when the store has answered for all. Frames that the store has in another
   * object are stored, too: only equal bytes have equal keys.
   *
   * @param options.epoch of the file's frames, 16 bytes
   * @returns the new objects; `isWhole`: false if damaged blocks, or blocks of another epoch, were left out
   * @throws {StoreError} some are not stored
   * @throws {Deno.errors.NotFound} the file does not exist
   */
  async putFile(
    path: string,
    { epoch, signal }: { epoch: Uint8Array<ArrayBuffer>; signal?: AbortSignal | undefined },
  ): Promise<{ added: OutsideFile[]; isWhole: boolean }> {
    const added: OutsideFile[] = [];
    let isWhole = true;
    const leftOut = () => isWhole = false;
    for await (const body of frameBodies(path, { epoch, leftOut })) {
      const { file, isNew } = await this.#putBody(body, { epoch: epoch.toHex(), signal });
      if (isNew) added.push(file);
    }
    return { added, isWhole };
  }

  /**
   * Stores the frames of a sealed block as an object of their own. Returns when the store has answered.
   *
   * @param options.packed the block as a file has it
   * @param options.epoch of its frames, 16 bytes
   * @returns the object
   * @throws {StoreError} it is not stored
   */
  async putBlock(
    block: SealedBlock,
    { packed, epoch, signal }: {
      packed: Uint8Array<ArrayBuffer>;
      epoch: Uint8Array<ArrayBuffer>;
      signal?: AbortSignal | undefined;
    },
  ): Promise<OutsideFile> {
    const body = await frameBodyOf(block, { packed, epoch });
    const { file } = await this.#putBody(body, { epoch: epoch.toHex(), signal });
    return file;
  }

  async #putBody(
    { first, last, bytes, digests, hash, blocks, ...time }: FrameBody,
    { epoch, signal }: { epoch: string; signal?: AbortSignal | undefined },
  ): Promise<{ file: OutsideFile; isNew: boolean }> {
    const object = { id: this.#id, epoch, first, last, hash };
    const key = frameKey(object);
    const before = this.#objects.get(key);
    if (before) return { file: outsideFile(key, before), isNew: false };
    const answer = await this.#store.putIfAbsent(key, bytes, { digests, signal });
    const size = bytes.length;
    if (answer === "exists") await this.#checkWhole(key, { bytes: size, signal });
    await writeBlocks(this.#store, { key, size, blocks, signal });
    const known = { ...object, size, time };
    this.#add(key, known);
    this.#unsavedTimes++;
    return { file: outsideFile(key, known), isNew: true };
  }

  /** An object with this key has these bytes, as the key contains their hash: if it has all of them. */
  async #checkWhole(key: string, { bytes, signal }: { bytes: number; signal: AbortSignal | undefined }): Promise<void> {
    const found = await this.#store.head(key, { signal });
    if (found?.size === bytes) return;
    const why = `there are ${
      found?.size ?? "no"
    } bytes instead of ${bytes}; delete it, and the frames are stored again`;
    throw new StoreError(`Object "${key}" is damaged in ${this.#store.url}: ${why}`, { kind: "damaged" });
  }

  /**
   * Opens an object as a file. Its bytes are read from the store when they are asked for.
   *
   * @throws {Deno.errors.NotFound} it is not in the store; also thrown by `read`
   * @throws {SourceUnavailableError} by `read`: the store does not answer
   */
  open(path: string): Promise<FileSource> {
    const object = this.#objects.get(path);
    if (!object) return Promise.reject(new Deno.errors.NotFound(`No object "${path}" is known`));
    const { size } = object;
    return Promise.resolve({
      bytes: size,
      read: (offset, length) => this.#read(path, { offset, length, size }),
      blocks: () =>
        this.#whileHere(path, () => inReadTime((signal) => readBlocks(this.#store, { key: path, size, signal }))),
      [Symbol.dispose]: () => {},
    });
  }

  #read(path: string, range: { offset: number; length: number; size: number }): Promise<Uint8Array<ArrayBuffer>> {
    return this.#whileHere(path, () => this.#cache.read(path, range));
  }

  async #whileHere<T>(path: string, read: () => Promise<T>): Promise<T> {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      if (error.kind !== "missing") throw new SourceUnavailableError(error.message, { cause: error });
      // Another node has put its frames into a larger object.
      this.#objects.delete(path);
      throw new Deno.errors.NotFound(error.message, { cause: error });
    }
  }

  #add(key: string, object: KnownObject): void {
    this.#objects.set(key, object);
    this.#noteStored(object);
  }

  #noteStored({ epoch, first, last }: Pick<FrameObject, "epoch" | "first" | "last">): void {
    const stored = this.#stored.get(epoch) ?? new Ranges();
    stored.add(first, last + 1);
    this.#stored.set(epoch, stored);
  }
}

/**
 * Epochs in the order in which they began: that of their keys, unless the frames of one are all older than those of one before
 * it, because a node stored them late.
 */
function inOrderOfTime(epochs: readonly string[], objects: readonly ListedObject[]): string[] {
  const spans = new Map<string, { fromUs: number; toUs: number }>();
  for (const { epoch, time } of objects) {
    if (!time || time.timeUs < EARLIEST_US) continue;
    const { fromUs = Infinity, toUs = -Infinity } = spans.get(epoch) ?? {};
    spans.set(epoch, { fromUs: Math.min(fromUs, time.timeUs), toUs: Math.max(toUs, time.timeUs) });
  }
  const isOlder = (one: string, other: string) =>
    (spans.get(one)?.toUs ?? Infinity) < (spans.get(other)?.fromUs ?? -Infinity);
  const ordered: string[] = [];
  for (const epoch of epochs) {
    const at = ordered.findIndex((other) => isOlder(epoch, other));
    ordered.splice(at < 0 ? ordered.length : at, 0, epoch);
  }
  return ordered;
}

function outsideFile(path: string, { last: lastSeq, size, time, ...object }: KnownObject): OutsideFile {
  return { path, lastSeq, ...(time && { head: headOf({ ...object, last: lastSeq }, time, size) }) };
}
