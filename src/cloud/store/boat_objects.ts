import type { FileSource } from "../../journal/mod.ts";
import { isStoreError, type ObjectStore } from "../../object_store/mod.ts";
import { Ranges } from "../../replication/mod.ts";
import { frameBodies } from "./frame_objects.ts";
import { ObjectCache } from "./object_cache.ts";
import { epochKey, epochsPrefix, frameKey, type FrameObject, framesPrefix, parseFrameKey } from "./object_names.ts";

/** An object of a boat, as its index has it. */
export interface StoredFile {
  /** Its key, by which {@linkcode BoatObjects.open} opens it. */
  path: string;
  /** Bytes. */
  size: number;
  lastSeq: number;
}

/** A boat's frames in the store. Objects are only added: what a list did not show may still be there. */
export class BoatObjects {
  readonly #id: string;
  readonly #store: ObjectStore;
  readonly #cache: ObjectCache;
  readonly #objects = new Map<string, FrameObject & { size: number }>();
  readonly #stored = new Map<string, Ranges>();
  /** In the order in which they began. */
  #epochs: string[] = [];

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

  /** Numbers of the frames of an epoch, hex, for which the store has answered. */
  storedOf(epoch: string): Ranges {
    return this.#stored.get(epoch) ?? new Ranges();
  }

  /** The objects, in the order of their keys. */
  get files(): StoredFile[] {
    return [...this.#objects].sort(([a], [b]) => a < b ? -1 : 1)
      .map(([path, { size, last }]) => ({ path, size, lastSeq: last }));
  }

  /**
   * Learns what is in the store.
   *
   * @throws {StoreError} the store cannot be listed; what was listed before the error is known
   */
  async list(signal?: AbortSignal): Promise<void> {
    this.#epochs = await this.#listEpochs(signal);
    for await (const page of this.#store.list({ prefix: framesPrefix(this.#id), signal })) {
      for (const { key, size } of page) {
        const object = parseFrameKey(key);
        if (object?.id === this.#id) this.#add(key, { ...object, size });
      }
    }
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
    const epochs: string[] = [];
    for await (const page of this.#store.list({ prefix: epochsPrefix(this.#id), signal })) {
      for (const { key } of page) epochs.push(new TextDecoder().decode(await this.#store.get(key, { signal })));
    }
    return epochs;
  }

  /**
   * Stores the frames of a journal file. Returns when the store has answered for all. Frames that the store has in another
   * object are stored, too: only equal bytes have equal keys.
   *
   * @param options.epoch of the file's frames, 16 bytes
   * @returns `isWhole`: false if damaged blocks, or blocks of another epoch, were left out
   * @throws {StoreError} some are not stored
   * @throws {Deno.errors.NotFound} the file does not exist
   */
  async putFile(
    path: string,
    { epoch, signal }: { epoch: Uint8Array<ArrayBuffer>; signal?: AbortSignal | undefined },
  ): Promise<{ isWhole: boolean }> {
    let isWhole = true;
    const leftOut = () => isWhole = false;
    for await (const { first, last, bytes, hash } of frameBodies(path, { epoch, leftOut })) {
      const object = { id: this.#id, epoch: epoch.toHex(), first, last, hash };
      const key = frameKey(object);
      if (this.#objects.has(key)) continue;
      // An object with this key has these bytes: the key contains their hash.
      await this.#store.putIfAbsent(key, bytes, { signal });
      this.#add(key, { ...object, size: bytes.length });
    }
    return { isWhole };
  }

  /**
   * Opens an object as a file. Its bytes are read from the store when they are asked for.
   *
   * @throws {Deno.errors.NotFound} it is not in the store
   */
  open(path: string): Promise<FileSource> {
    const object = this.#objects.get(path);
    if (!object) return Promise.reject(new Deno.errors.NotFound(`No object "${path}" is known`));
    const { size } = object;
    return Promise.resolve({
      bytes: size,
      read: (offset, length) => this.#read(path, { offset, length, size }),
      [Symbol.dispose]: () => {},
    });
  }

  async #read(
    path: string,
    range: { offset: number; length: number; size: number },
  ): Promise<Uint8Array<ArrayBuffer>> {
    try {
      return await this.#cache.read(path, range);
    } catch (error) {
      if (!isStoreError(error, "missing")) throw error;
      throw new Deno.errors.NotFound(error.message, { cause: error });
    }
  }

  #add(key: string, object: FrameObject & { size: number }): void {
    this.#objects.set(key, object);
    const stored = this.#stored.get(object.epoch) ?? new Ranges();
    stored.add(object.first, object.last + 1);
    this.#stored.set(object.epoch, stored);
  }
}
