import type { Logger } from "../../base/mod.ts";
import {
  type Block,
  type BlockError,
  type BlockLocation,
  JournalIndex,
  type OpenSource,
  SourceUnavailableError,
} from "../../journal/mod.ts";
import { type ObjectStore, StoreError } from "../../object_store/mod.ts";
import { BoatObjects } from "./boat_objects.ts";
import { storedBoats } from "./restore.ts";

/** Which boat to read. */
export interface StoredJournalOptions {
  /** Instance id. */
  id: string;
  /** Gets warnings about damage. */
  log: Logger;
  /** Ends listing. */
  signal?: AbortSignal | undefined;
}

/** A block in an object. */
export interface StoredBlockLocation extends Pick<BlockLocation, "offset" | "bytes" | "seq" | "timeUs"> {
  /** Key of the object. */
  path: string;
  /** First four bytes of its epoch. */
  epochWord: number;
}

/** The frames of a boat in an object store, for reading without a node. A node may compact them meanwhile. */
export class StoredJournal {
  /** Opens an object, given by its key. */
  readonly open: OpenSource;
  readonly #index: JournalIndex;

  private constructor(index: JournalIndex, open: OpenSource) {
    this.#index = index;
    this.open = open;
  }

  /** Lists the objects of a boat. @throws {StoreError} they cannot be listed */
  static async open(store: ObjectStore, { id, log, signal }: StoredJournalOptions): Promise<StoredJournal> {
    const objects = new BoatObjects({ id, store });
    await objects.list(signal);
    const open: OpenSource = (path) => objects.open(path);
    const relist = async () => {
      try {
        await objects.list(signal);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        throw new SourceUnavailableError(error.message, { cause: error });
      }
      return objects.files;
    };
    const index = await JournalIndex.open(undefined, { log, open, relist });
    await index.add(objects.files);
    return new StoredJournal(index, open);
  }

  /** Messages about objects that are damaged or cannot be read. */
  get damage(): readonly string[] {
    return this.#index.damage;
  }

  /**
   * The blocks that may hold frames of a time, epoch by epoch, by number. No number comes twice.
   *
   * @param range bounds, inclusive, microseconds since 1970
   * @throws {SourceUnavailableError} the store does not answer
   */
  blocks(range: { fromUs?: number | undefined; toUs?: number | undefined } = {}): AsyncGenerator<Block> {
    return this.#index.blocks(range);
  }

  /** Number of damaged blocks found. */
  get damagedBlocks(): number {
    return this.#index.damagedBlocks;
  }

  /** Locations of all blocks, unread. @throws {SourceUnavailableError} the store does not answer */
  async locations(): Promise<StoredBlockLocation[]> {
    const found: StoredBlockLocation[] = [];
    for (const { path, epochWord } of this.#index.files) {
      for (const { offset, bytes, seq, timeUs } of await this.#index.blocksOf(path)) {
        found.push({ path, epochWord, offset, bytes, seq, timeUs });
      }
    }
    return found;
  }

  /** Reports a block with unreadable frames despite a valid checksum. */
  noteDamaged(block: Block, error: BlockError): void {
    this.#index.noteDamaged(block, error);
  }
}

/** Boats that are named in the message when one must be chosen. */
const MAX_NAMED = 20;

/**
 * The boat to read: the given one, or the only one of the store.
 *
 * @throws {StoreError} the store cannot be listed
 * @throws {RangeError} the store does not have it, or has several; the message names them
 */
export async function chooseStoredBoat(store: ObjectStore, id: string | undefined): Promise<string> {
  const ids = [...await storedBoats(store)].sort();
  const [only, ...others] = ids;
  if (only === undefined) throw new RangeError(`${store.url} has no boat`);
  if (id === undefined && others.length === 0) return only;
  if (id !== undefined && ids.includes(id)) return id;
  const names = ids.slice(0, MAX_NAMED).join(", ") +
    (ids.length > MAX_NAMED ? ` and ${ids.length - MAX_NAMED} others` : "");
  throw new RangeError(
    id === undefined ? `${store.url} has several boats: ${names}` : `${store.url} has no boat "${id}", only ${names}`,
  );
}
