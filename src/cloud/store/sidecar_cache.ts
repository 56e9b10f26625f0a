import { basename } from "node:path";
import { removeIfExists } from "../../base/mod.ts";
import { JOURNAL_DIRECTORY_MODE, sidecarOf } from "../../journal/mod.ts";
import { parseFrameKey } from "./object_names.ts";

/** Default of {@linkcode SidecarCacheOptions.maxBytes}. */
export const DEFAULT_SIDECAR_BYTES: number = 1024 ** 3;

/** Smaller objects have no sidecar, bytes: they are soon joined, and reading their frames is quick. */
export const MIN_SIDECAR_OBJECT_BYTES: number = 256 * 1024;

/** Options of a {@linkcode SidecarCache}. */
export interface SidecarCacheOptions {
  /** Created if missing. Whatever else is in it is deleted, too. */
  directory: string;
  /** Bytes of all sidecars; the least recently used ones are deleted. */
  maxBytes: number;
  /** Size of objects that have one, bytes; default {@linkcode MIN_SIDECAR_OBJECT_BYTES}. */
  minFileBytes?: number;
}

/** Sidecars of objects on the local disk, for all boats: series are read from them instead of from the store. */
export class SidecarCache {
  /** Smaller objects have none, bytes. */
  readonly minFileBytes: number;
  readonly #directory: string;
  readonly #maxBytes: number;
  /** Bytes by file name, least recently used first. */
  readonly #files = new Map<string, number>();
  #bytes = 0;

  private constructor({ directory, maxBytes, minFileBytes = MIN_SIDECAR_OBJECT_BYTES }: SidecarCacheOptions) {
    this.minFileBytes = minFileBytes;
    this.#directory = directory;
    this.#maxBytes = maxBytes;
  }

  /** Opens the directory with what an earlier run has left. @throws {Error} it cannot be used */
  static async open(options: SidecarCacheOptions): Promise<SidecarCache> {
    const cache = new SidecarCache(options);
    const { directory } = options;
    await Deno.mkdir(directory, { recursive: true, mode: JOURNAL_DIRECTORY_MODE });
    const found: { name: string; bytes: number; usedMs: number }[] = [];
    for await (const { name } of Deno.readDir(directory)) {
      const { mtime, size: bytes } = await Deno.stat(`${directory}/${name}`);
      found.push({ name, bytes, usedMs: mtime?.getTime() ?? 0 });
    }
    for (const { name, bytes } of found.sort((a, b) => a.usedMs - b.usedMs)) cache.#use(name, bytes);
    await cache.#prune();
    return cache;
  }

  /** Path of the sidecar of an object, given by its key. */
  pathOf(key: string): string {
    const name = nameOf(key);
    this.#use(name, this.#files.get(name) ?? 0);
    return `${this.#directory}/${name}`;
  }

  /** Notes the new size of the sidecar of an object, and deletes others beyond the limit: a request makes them again. */
  async written(key: string, bytes: number): Promise<void> {
    this.#use(nameOf(key), bytes);
    await this.#prune();
  }

  #use(name: string, bytes: number): void {
    this.#bytes += bytes - (this.#files.get(name) ?? 0);
    this.#files.delete(name);
    this.#files.set(name, bytes);
  }

  async #prune(): Promise<void> {
    for (const [name, bytes] of [...this.#files].slice(0, -1)) {
      if (this.#bytes <= this.#maxBytes) return;
      await removeIfExists(`${this.#directory}/${name}`);
      this.#files.delete(name);
      this.#bytes -= bytes;
    }
  }
}

/** The name of an object contains the hash of its content; two boats may have equal content. */
function nameOf(key: string): string {
  return `${parseFrameKey(key)?.id ?? ""}-${basename(sidecarOf(key))}`;
}
