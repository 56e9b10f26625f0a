import { errorText, type Logger, turn } from "../../base/mod.ts";
import { BlockError, BlockReader, epochWordOf, openBlockFile } from "../../journal/mod.ts";
import { type Range, Ranges, RangesFullError } from "../../replication/mod.ts";
import type { FileLedger } from "./file_ledger.ts";
import type { InstanceJournal } from "../instance/journal.ts";
import type { InstanceRecord } from "../instance/record.ts";

/** What was read of a file. */
export interface ReadFile {
  /** Numbers of the frames that can be read. */
  ranges: Ranges;
  /** Blocks, or places where one should begin, that cannot be read. */
  damaged: number;
}

/** A file that is to be checked. */
export interface FileToCheck {
  path: string;
  name: string;
  /** The epoch that was current when it was listed, hex. */
  epoch: string | undefined;
  /** Numbers that it should hold; undefined: nobody knows, or they are of another epoch. */
  expected: Ranges | undefined;
  /** Whether it is of the current epoch. */
  isCurrent: boolean;
}

/** What the files of a boat are checked with. */
export interface StoredFilesOptions {
  id: string;
  directory: string;
  journal: InstanceJournal;
  ledger: FileLedger;
  record: InstanceRecord;
  log: Logger;
  /** Told when frames that were on disk are gone: how many, and why. */
  onVanished: (frames: number, reason: string) => void;
}

/**
 * Compares the files of a boat that is open with what the boat was told to be safe. What is gone is missing again, so that
 * the boat is asked for it. No file is changed or deleted. Whoever calls this does one thing after the other.
 */
export class StoredFiles {
  readonly #options: StoredFilesOptions;

  constructor(options: StoredFilesOptions) {
    this.#options = options;
  }

  /** Reads the files that may have more than is known. Gives all that is, or was, on disk of these numbers and more. */
  async catchUp(durable: Iterable<Range>): Promise<Ranges> {
    const { ledger, journal } = this.#options;
    // The list of files may be newer than what is written down of numbers.
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

  /** Files that are gone are noted so: by name, which is cheap. */
  async findMissing(): Promise<void> {
    const { directory, journal, ledger, log, id } = this.#options;
    // Before the directory is read: what is made meanwhile is in neither.
    const names = ledger.names;
    const there = new Set<string>();
    try {
      for await (const { name } of Deno.readDir(directory)) there.add(name);
    } catch (error) {
      // A disk that does not answer says nothing of its files.
      return log.error("files of a boat cannot be listed", { id, error: errorText(error) });
    }
    for (const name of names) {
      if (there.has(name) && journal.index.has(name)) continue;
      const gone = ledger.drop(name);
      journal.leaveFile(name);
      this.#vanish(gone, `file ${name} ${there.has(name) ? "cannot be read" : "is gone"}`);
    }
  }

  /** Files to be checked, oldest first. */
  list(): FileToCheck[] {
    const { journal, ledger, record: { epoch } } = this.#options;
    const word = epoch === undefined ? undefined : epochWordOf(Uint8Array.fromHex(epoch));
    return journal.index.files.map(({ path, epochWord }) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      const isCurrent = epochWord === word;
      // What is added to the file from now on is not expected of a reader that may have passed its place.
      const expected = isCurrent ? new Ranges(ledger.rangesOf(name) ?? []) : undefined;
      return { path, name, epoch, expected, isCurrent };
    });
  }

  /** A file was read from end to end. */
  compare({ name, epoch, expected, isCurrent }: FileToCheck, { ranges, damaged }: ReadFile): void {
    const { ledger, journal, record } = this.#options;
    record.counters.damagedBlocks += damaged;
    const known = ledger.rangesOf(name);
    // It may have been deleted on purpose meanwhile.
    if (!isCurrent || epoch !== record.epoch || (expected && expected.count > 0 && !known)) return;
    const gone = (expected ?? new Ranges()).subtract(ranges);
    const held = (known ?? new Ranges()).subtract(gone).union(ranges);
    ledger.set(name, { ranges: held, isEnded: !journal.isOpen(name) });
    this.#claim(ranges);
    this.#vanish(gone.subtract(ledger.held()), `file ${name} is damaged`);
  }

  /** All files are known: what none of them holds is gone. */
  decide(): void {
    const { ledger, journal, record: { received } } = this.#options;
    const isKnown = ({ name, isCurrent }: FileToCheck) => !isCurrent || ledger.rangesOf(name) !== undefined;
    if (!this.list().every(isKnown)) return;
    const held = ledger.held();
    held.addAll(journal.notInFiles);
    const missing = new Ranges(received.record().durable).subtract(held);
    if (ledger.isComplete) this.#vanish(missing, "no file has them");
    else ledger.complete(missing);
  }

  /** What is on disk is here, whoever has put it there. */
  #claim(ranges: Ranges): void {
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
 * Reads all blocks of a file, and checks them; undefined: there is no such file.
 *
 * @param options.pace called with the bytes of each block before the next one is read
 * @throws {Error} it cannot be read now; nothing is known of it
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
    for (const place of file?.blocks ?? []) {
      const block = await attempt(() => reader.read(path, place));
      if (block?.baseSeq !== undefined) found.ranges.add(block.baseSeq, block.baseSeq + block.frameCount);
      await pace(place.bytes);
    }
    return found;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Whether what is read is wrong, or its place on the disk cannot be read. */
function isDamage(error: unknown): boolean {
  return error instanceof BlockError || (error instanceof Error && "code" in error && error.code === "EIO");
}
