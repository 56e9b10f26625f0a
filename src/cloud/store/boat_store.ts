import { basename } from "node:path";
import { errorText, type Logger, removeIfExists } from "../../base/mod.ts";
import {
  epochWordOf,
  FILE_HEADER_BYTES,
  type JournalIndex,
  type OutsideFile,
  type SealedBlock,
  sidecarOf,
  SourceUnavailableError,
  tablesOf,
  type WrittenBlock,
} from "../../journal/mod.ts";
import { StoreError } from "../../object_store/mod.ts";
import { type Range, Ranges } from "../../replication/mod.ts";
import type { FileLedger } from "../files/file_ledger.ts";
import { BoatObjects, type ObjectChanges } from "./boat_objects.ts";
import { epochOfFile } from "./frame_objects.ts";
import type { FrameStore } from "./frame_store.ts";
import { isFrameKey } from "./object_names.ts";
import { inReadTime, LIST_TIMEOUT_MS } from "./read_time.ts";

/** Where a boat's frames are on their way to the store. */
export interface Spool {
  index: JournalIndex;
  ledger: FileLedger;
  /** True while a file, given by its name, is being written. */
  isOpen: (name: string) => boolean;
  /** Epochs of the boat, hex, in the order in which they began; the last one is the current epoch. */
  epochs: () => readonly string[];
}

/** Longest time in which a block is stored without a file, milliseconds. */
const PLACE_TIMEOUT_MS = 5000;

/** The object store as the open files of one boat use it. */
export class BoatStore {
  readonly #id: string;
  readonly #objects: BoatObjects;
  readonly #log: Logger;
  readonly #isAway: () => boolean;
  #isListed = false;
  /** True if blocks were placed since the last call of {@linkcode BoatStore.ship}. */
  #hasPlaced = false;
  /** Names of local files whose frames are stored; `isWhole`: all that the file should have. */
  readonly #shipped = new Map<string, { isWhole: boolean }>();

  /** @param options.listed the objects, if they were just listed; `away`, and by default: what the store has is unknown */
  constructor(
    { id, frameStore, log, listed }: {
      id: string;
      frameStore: FrameStore;
      log: Logger;
      listed?: BoatObjects | "away" | undefined;
    },
  ) {
    this.#id = id;
    const isListed = this.#isListed = typeof listed === "object";
    this.#objects = isListed ? listed : new BoatObjects({ id, ...frameStore });
    this.#isAway = frameStore.isAway ?? (() => false);
    this.#log = log;
  }

  /** False while it is unknown what the store has of the boat, because it cannot be listed. */
  get isListed(): boolean {
    return this.#isListed;
  }

  /** The objects. */
  get objects(): BoatObjects {
    return this.#objects;
  }

  /** The objects as files for an index. */
  get files(): OutsideFile[] {
    return this.#objects.files;
  }

  /** Numbers of the frames of an epoch, hex, for which the store has answered. */
  storedOf(epoch: string): Ranges {
    return this.#objects.storedOf(epoch);
  }

  /** The number up to and including which the store has every frame that exists; 0: none, or unknown. */
  storedThrough(epoch: string, { absent }: { absent: Iterable<Range> }): number {
    if (!this.#isListed) return 0;
    return new Ranges([...this.storedOf(epoch), ...absent]).contiguousThrough();
  }

  /** Learns what the store has. Returns false if the store does not answer in time, which is logged. */
  async list(signal?: AbortSignal): Promise<boolean> {
    try {
      await inReadTime((over) => this.#objects.list(over), { signal, timeoutMs: LIST_TIMEOUT_MS });
      this.#isListed = true;
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.#isListed = false;
      this.#log.error("boat's objects not listed", { id: this.#id, error: errorText(error) });
    }
    return this.#isListed;
  }

  /** Lists the objects again, because one has gone. @throws {SourceUnavailableError} the store does not answer */
  async listForReading(): Promise<OutsideFile[]> {
    try {
      await inReadTime((signal) => this.#objects.list(signal));
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new SourceUnavailableError(error.message, { cause: error });
    }
    return this.files;
  }

  /** Objects were stored or deleted by compaction. */
  async replace({ added, removed }: ObjectChanges, { index }: Pick<Spool, "index">): Promise<void> {
    await index.add(this.#objects.replace({ added, removed }).added);
    for (const key of removed) index.noteRemoved(key, { isReplaced: true });
  }

  /**
   * Stores a sealed block of live frames without a file. Never rejects.
   *
   * @param options.packed the block as a file has it
   * @returns where it is; undefined: it is not known to be stored, and must go into a file
   */
  async place(
    block: SealedBlock,
    { packed, spool: { index, ledger, epochs } }: {
      packed: Uint8Array<ArrayBuffer>;
      spool: Spool;
    },
  ): Promise<WrittenBlock | undefined> {
    const current = epochs().at(-1);
    const epoch = current === undefined ? undefined : Uint8Array.fromHex(current);
    if (!epoch || epochWordOf(epoch) !== block.epochWord || !this.#isListed || this.#isAway()) return undefined;
    try {
      const signal = AbortSignal.timeout(PLACE_TIMEOUT_MS);
      for (const each of epochs()) await this.#objects.beginEpoch(each, signal);
      const file = await this.#objects.putBlock(block, { packed, epoch, signal });
      await index.add([file]);
      this.#hasPlaced = true;
      ledger.setStored(this.storedOf(epoch.toHex()));
      const { firstSeq, lastSeq, firstTimeUs, latestTimeUs } = block;
      const { path, head } = file;
      if (!head) return undefined;
      const { header, bytes: fileBytes } = head;
      return { firstSeq, lastSeq, firstTimeUs, latestTimeUs, path, offset: FILE_HEADER_BYTES, header, fileBytes };
    } catch (error) {
      this.#log.warn("frames go into a file, not to the store at once", { id: this.#id, error: errorText(error) });
      return undefined;
    }
  }

  /** True if a complete local file has frames that may not be stored. */
  hasUnstored({ index, isOpen }: Pick<Spool, "index" | "isOpen">): boolean {
    return index.files.some(({ path }) =>
      !isFrameKey(path) && !isOpen(basename(path)) && !this.#shipped.has(basename(path))
    );
  }

  /**
   * Stores the frames of all complete local files, oldest first, and deletes those that were stored by an earlier call: one
   * that is just being read is still there. A file that is damaged stays. Returns true if there were any, or if blocks were
   * placed since the last call.
   *
   * @throws {StoreError} some frames are not stored: try again later
   */
  async ship(spool: Spool, signal?: AbortSignal): Promise<boolean> {
    let hasStored = false;
    const { index, ledger, isOpen, epochs } = spool;
    for (const epoch of epochs()) await this.#objects.beginEpoch(epoch, signal);
    await this.#deleteShipped(spool);
    for (const { path, epochWord } of index.files) {
      const name = basename(path);
      if (isFrameKey(path) || isOpen(name) || this.#shipped.has(name)) continue;
      const epoch = await epochOfFile(path, { epochWord, epochs: epochs() });
      const { added, isWhole } = await this.#objects.putFile(path, { epoch: Uint8Array.fromHex(epoch), signal });
      await index.add(added);
      const current = epochs().at(-1);
      if (current !== undefined) ledger.setStored(this.storedOf(current));
      this.#shipped.set(name, { isWhole: isWhole && this.#hasAll(ledger.rangesOf(name), current) });
      hasStored = true;
    }
    await this.#objects.saveManyTimes(signal);
    hasStored ||= this.#hasPlaced;
    this.#hasPlaced = false;
    return hasStored;
  }

  /** True if the store has all numbers that a file should have; of another epoch than the current one nothing is known. */
  #hasAll(expected: Ranges | undefined, epoch: string | undefined): boolean {
    return expected === undefined || epoch === undefined || expected.subtract(this.storedOf(epoch)).count === 0;
  }

  async #deleteShipped({ index, ledger }: Spool): Promise<void> {
    for (const { path } of index.files) {
      const name = basename(path);
      if (isFrameKey(path) || !this.#shipped.get(name)?.isWhole) continue;
      for (const each of [path, sidecarOf(path), tablesOf(path)]) await removeIfExists(each);
      index.noteRemoved(path, { isReplaced: true });
      ledger.drop(name);
      this.#shipped.delete(name);
    }
  }
}
