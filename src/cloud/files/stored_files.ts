import { errorText, type Logger, turn } from "../../base/mod.ts";
import { BlockError, BlockReader, epochWordOf, openBlockFile } from "../../journal/mod.ts";
import { type Range, Ranges, RangesFullError } from "../../replication/mod.ts";
import type { FileLedger } from "./file_ledger.ts";
import type { InstanceJournal } from "../instance/journal.ts";
import type { InstanceRecord } from "../instance/record.ts";
import { isFrameKey } from "../store/object_names.ts";

/** Readable content of a file. */
export interface ReadFile {
  /** Numbers of the readable frames. */
  ranges: Ranges;
  /** Unreadable blocks, and offsets where a block should begin. */
  damaged: number;
}

/** A file to check. */
export interface FileToCheck {
  path: string;
  name: string;
  /** Current epoch at the time of listing, hex. */
  epoch: string | undefined;
  /** Numbers that it should have; undefined: it is of another epoch. */
  expected: Ranges | undefined;
  /** True if it is of the current epoch. */
  isCurrent: boolean;
}

/** Dependencies of {@linkcode StoredFiles}. */
export interface StoredFilesOptions {
  id: string;
  directory: string;
  journal: InstanceJournal;
  ledger: FileLedger;
  record: InstanceRecord;
  log: Logger;
  /** Called when frames have disappeared from the disk. */
  onVanished: (frames: number, reason: string) => void;
}

/**
 * Compares the open files of a boat with its acknowledged frames. Frames that have disappeared are marked as missing, so
 * that the boat is asked for them. Changes no file. Callers must not run two methods at the same time.
 */
export class StoredFiles {
  readonly #options: StoredFilesOptions;

  constructor(options: StoredFilesOptions) {
    this.#options = options;
  }

  /** Reads the files that may have unknown frames. Returns all numbers that are or were on disk. */
  async catchUp(durable: Iterable<Range>): Promise<Ranges> {
    const { ledger, journal } = this.#options;
    // The ledger may be newer than the saved numbers.
    const known = new Ranges(durable).union(ledger.held());
    for (const { path, name, isCurrent } of this.list()) {
      if (!isCurrent || ledger.isEnded(name)) continue;
      const read = await readBlockFile(path);
      if (!read) continue;
      ledger.set(name, { ranges: read.ranges, isEnded: !journal.isOpen(name) });
      known.addAll(read.ranges);
    }
    return known;
  }

  /** Detects files that have disappeared, by name. */
  async findMissing(): Promise<void> {
    const { directory, journal, ledger, log, id } = this.#options;
    // Before the directory is read: a file created meanwhile must not count as missing.
    const names = ledger.names;
    const there = new Set<string>();
    try {
      for await (const { name } of Deno.readDir(directory)) there.add(name);
    } catch (error) {
      // The disk does not respond: the files may still exist.
      return log.error("boat files not listed", { id, error: errorText(error) });
    }
    for (const name of names) {
      if (there.has(name) && journal.index.has(name)) continue;
      const gone = ledger.drop(name);
      journal.forgetFile(name);
      this.#vanish(gone, `file ${name} ${there.has(name) ? "cannot be read" : "is gone"}`);
    }
  }

  /** Files to check, oldest first; objects of the store are not among them. */
  list(): FileToCheck[] {
    const { journal, ledger, record: { epoch } } = this.#options;
    const word = epoch === undefined ? undefined : epochWordOf(Uint8Array.fromHex(epoch));
    return journal.index.files.filter(({ path }) => !isFrameKey(path)).map(({ path, epochWord }) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      const isCurrent = epochWord === word;
      // A copy: a reader may miss blocks that are added while it reads.
      const expected = isCurrent ? new Ranges(ledger.rangesOf(name) ?? []) : undefined;
      return { path, name, epoch, expected, isCurrent };
    });
  }

  /** Compares the content of a file with the expected one. */
  compare({ name, epoch, expected, isCurrent }: FileToCheck, { ranges, damaged }: ReadFile): void {
    const { ledger, journal, record } = this.#options;
    record.counters.damagedBlocks += damaged;
    const known = ledger.rangesOf(name);
    // It may have been intentionally deleted meanwhile.
    if (!isCurrent || epoch !== record.epoch || (expected && expected.count > 0 && !known)) return;
    const gone = (expected ?? new Ranges()).subtract(ranges);
    const held = (known ?? new Ranges()).subtract(gone).union(ranges);
    ledger.set(name, { ranges: held, isEnded: !journal.isOpen(name) });
    this.markReceived(ranges);
    this.#vanish(gone.subtract(ledger.held()), `file ${name} is damaged`);
  }

  /** Marks frames that no file has as missing, once the content of all files is known. */
  findUnheld(): void {
    const { ledger, journal, record: { received } } = this.#options;
    const isKnown = ({ name, isCurrent }: FileToCheck) => !isCurrent || ledger.rangesOf(name) !== undefined;
    if (!this.list().every(isKnown)) return;
    const held = ledger.held();
    held.addAll(journal.notInFiles);
    const missing = new Ranges(received.record().durable).subtract(held);
    if (ledger.isComplete) this.#vanish(missing, "no file has them");
    else ledger.complete(missing);
  }

  /** Marks frames on disk or in the store as received. */
  markReceived(ranges: Ranges): void {
    const { record: { received } } = this.#options;
    for (const range of ranges) {
      try {
        received.addBlock(range);
        received.markDurable(range);
      } catch (error) {
        if (!(error instanceof RangesFullError)) throw error;
      }
    }
  }

  #vanish(gone: Ranges, reason: string): void {
    const { record, onVanished } = this.#options;
    const frames = record.vanish(gone);
    if (frames > 0) onVanished(frames, reason);
  }
}

/**
 * Reads and checks all blocks of a file; undefined: the file does not exist.
 *
 * @param options.pace called with the size of each block before the next one is read
 * @throws {Error} the file cannot be read
 */
export async function readBlockFile(
  path: string,
  { pace = turn }: { pace?: (bytes: number) => Promise<void> } = {},
): Promise<ReadFile | undefined> {
  const found: ReadFile = { ranges: new Ranges(), damaged: 0 };
  using reader = new BlockReader();
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      found.damaged++;
      return undefined;
    }
  };
  try {
    const file = await attempt(() => openBlockFile(path));
    found.damaged += file?.index.damaged ?? 0;
    for (const location of file?.blocks ?? []) {
      const block = await attempt(() => reader.read(path, location));
      if (block?.baseSeq !== undefined) found.ranges.add(block.baseSeq, block.baseSeq + block.frameCount);
      await pace(location.bytes);
    }
    return found;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** True for damaged content and unreadable disk sectors. */
function isDamage(error: unknown): boolean {
  return error instanceof BlockError || (error instanceof Error && "code" in error && error.code === "EIO");
}
