import type { ObjectStore } from "../../object_store/mod.ts";
import { inReadTime } from "./read_time.ts";

/** Bytes that are read from the store at once: a request takes as long as some hundred kilobytes. */
const CHUNK_BYTES = 1024 * 1024;
/** Parts that are read ahead of one who reads an object from part to part: each request takes some 10 to 50 ms. */
const CHUNKS_AHEAD = 7;
/** Objects whose readers are told apart. */
const MAX_READ_AT_ONCE = 256;
/** Default of {@linkcode ObjectCacheOptions.maxBytes}. */
export const DEFAULT_CACHE_BYTES: number = 64 * 1024 * 1024;

/** Options of an {@linkcode ObjectCache}. */
export interface ObjectCacheOptions {
  store: ObjectStore;
  /** Bytes kept in memory; the least recently used ones are dropped. */
  maxBytes?: number;
}

/** Parts of objects in memory, shared by all readers of a node. Objects never change, so that nothing in it is outdated. */
export class ObjectCache {
  readonly #store: ObjectStore;
  readonly #maxBytes: number;
  /** Least recently used first. A part that is being read is in it, too. */
  readonly #chunks = new Map<string, { bytes: number; content: Promise<Uint8Array<ArrayBuffer>> }>();
  #bytes = 0;
  /** The part that was asked for last of each object; only of those that are read now. */
  readonly #lastStart = new Map<string, number>();

  constructor({ store, maxBytes = DEFAULT_CACHE_BYTES }: ObjectCacheOptions) {
    this.#store = store;
    this.#maxBytes = maxBytes;
  }

  /**
   * Reads a part of an object.
   *
   * @param range.size bytes of the whole object
   * @throws {StoreError} it cannot be read
   */
  async read(
    key: string,
    { offset, length, size }: { offset: number; length: number; size: number },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const end = Math.min(size, offset + length);
    const found = new Uint8Array(Math.max(0, end - offset));
    for (let at = offset; at < end;) {
      const start = at - at % CHUNK_BYTES;
      this.#readAhead(key, { start, size });
      const chunk = await this.#chunk(key, { start, size });
      const part = chunk.subarray(at - start, end - start);
      if (part.length === 0) return found.subarray(0, at - offset);
      found.set(part, at - offset);
      at += part.length;
    }
    return found;
  }

  /** Begins to read the next parts, if the one before this was asked for last. */
  #readAhead(key: string, { start, size }: { start: number; size: number }): void {
    const last = this.#lastStart.get(key);
    if (last === start) return;
    this.#lastStart.delete(key);
    this.#lastStart.set(key, start);
    for (const oldest of this.#lastStart.keys()) {
      if (this.#lastStart.size <= MAX_READ_AT_ONCE) break;
      this.#lastStart.delete(oldest);
    }
    if (last !== start - CHUNK_BYTES) return;
    const end = Math.min(size, start + (1 + CHUNKS_AHEAD) * CHUNK_BYTES);
    for (let at = start + CHUNK_BYTES; at < end; at += CHUNK_BYTES) void this.#chunk(key, { start: at, size });
  }

  #chunk(key: string, { start, size }: { start: number; size: number }): Promise<Uint8Array<ArrayBuffer>> {
    const bytes = Math.min(CHUNK_BYTES, size - start);
    const name = `${key} ${start}`;
    const known = this.#chunks.get(name);
    if (known) {
      // Set again, so that it is the most recently used one.
      this.#chunks.delete(name);
      this.#chunks.set(name, known);
      return known.content;
    }
    const content = inReadTime((signal) => this.#store.getRange(key, { offset: start, length: bytes, signal }));
    this.#chunks.set(name, { bytes, content });
    this.#bytes += bytes;
    content.catch(() => this.#drop(name));
    for (const oldest of this.#chunks.keys()) {
      if (this.#bytes <= this.#maxBytes || oldest === name) break;
      this.#drop(oldest);
    }
    return content;
  }

  #drop(name: string): void {
    const chunk = this.#chunks.get(name);
    if (chunk && this.#chunks.delete(name)) this.#bytes -= chunk.bytes;
  }
}
