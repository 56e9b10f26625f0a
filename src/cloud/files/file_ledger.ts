import { basename } from "node:path";
import { asRecord, AtomicFile, type DurableFile, JsonFile, type Logger, readJsonFile } from "../../base/mod.ts";
import type { WrittenBlock } from "../../journal/mod.ts";
import { EPOCH_BYTES, Ranges } from "../../replication/mod.ts";
import { isFrameKey } from "../store/object_names.ts";

/** Name of the ledger file in a boat's directory. */
const LEDGER_FILE = "files.json";
const VERSION = 1;
/** Maximum size of the ledger: some hundred bytes for each file of many years. */
const MAX_LEDGER_BYTES = 64 * 1024 * 1024;

/** The known content of a journal file. */
interface KnownFile {
  /** Numbers of its frames. */
  readonly ranges: Ranges;
  /** False while blocks are still added. */
  isEnded: boolean;
}

/** Options of {@linkcode FileLedger.read}. */
export interface LedgerOptions {
  id: string;
  /** True where files are few and soon gone: after a crash all of them are read again. Default: saved when a file ends. */
  isSavedAtClose?: boolean;
  log: Logger;
}

interface SavedLedger {
  epoch: string;
  pruned: Ranges;
  files: Map<string, KnownFile>;
}

/**
 * The numbers in each journal file of a boat in its current epoch, and the intentionally deleted ones. It tells which frames
 * are missing when a file disappears. Saved when a file ends; after a crash files that have not ended are read again.
 */
export class FileLedger {
  readonly #file: JsonFile;
  #epoch: string | undefined;
  #pruned = new Ranges();
  #files = new Map<string, KnownFile>();
  /** Numbers that are in the object store, whatever files there are. */
  #stored = new Ranges();
  #isComplete = false;
  readonly #isSavedAtClose: boolean;
  #isChanged = false;

  private constructor(file: DurableFile, { id, isSavedAtClose = false, log }: LedgerOptions) {
    this.#isSavedAtClose = isSavedAtClose;
    this.#file = new JsonFile(file, { what: `list of the files of "${id}"`, content: () => this.#content(), log });
  }

  /** Reads the saved ledger; it is empty and incomplete if that fails. */
  static async read(directory: string, options: LedgerOptions): Promise<FileLedger> {
    const file = new AtomicFile(directory, { name: LEDGER_FILE, maxBytes: MAX_LEDGER_BYTES });
    const ledger = new FileLedger(file, options);
    const what = `list of the files of "${options.id}"`;
    const saved = await readJsonFile(file, { what, parse: parseLedger, log: options.log });
    if (saved) {
      ({ epoch: ledger.#epoch, pruned: ledger.#pruned, files: ledger.#files } = saved);
      ledger.#isComplete = true;
    }
    return ledger;
  }

  /** True if the ledger has the numbers of all files; false after it was lost, until all files were read. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Names of the files. */
  get names(): string[] {
    return [...this.#files.keys()];
  }

  /** Clears the ledger for a new epoch. @param options.isNew true if no frame of it was received before */
  beginEpoch(epoch: string, { isNew }: { isNew: boolean }): void {
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#pruned = new Ranges();
    this.#stored = new Ranges();
    this.#files = new Map();
    this.#isComplete = isNew;
  }

  /** True if all numbers of a file are known. */
  isEnded(name: string): boolean {
    return this.#files.get(name)?.isEnded ?? false;
  }

  /** The numbers in a file; undefined: unknown file. */
  rangesOf(name: string): Ranges | undefined {
    return this.#files.get(name)?.ranges;
  }

  /** Adds a block that was written to a file; of objects {@linkcode FileLedger.setStored} has the numbers. */
  noteWritten({ path, firstSeq, lastSeq }: Pick<WrittenBlock, "path" | "firstSeq" | "lastSeq">): void {
    if (isFrameKey(path)) return;
    const name = basename(path);
    const file = this.#files.get(name) ?? { ranges: new Ranges(), isEnded: false };
    file.ranges.add(firstSeq, lastSeq + 1);
    this.#files.set(name, file);
  }

  /** Marks the files that are not open as complete. */
  endFiles(isOpen: (name: string) => boolean): void {
    for (const [name, file] of this.#files) if (!file.isEnded && !isOpen(name)) file.isEnded = true;
    this.#changed();
  }

  /** Sets the content of a file. */
  set(name: string, file: KnownFile): void {
    this.#files.set(name, file);
    this.#changed();
  }

  /** All files were read. Frames that are missing now were deleted before the ledger existed. */
  complete(missing: Ranges): void {
    this.#pruned = this.#pruned.union(missing);
    this.#isComplete = true;
    this.#changed();
  }

  /** Removes a file that is intentionally deleted. */
  prune(name: string): void {
    this.#pruned = this.#pruned.union(this.drop(name));
  }

  /** Removes a file that has disappeared. Returns the numbers that no other file has. */
  drop(name: string): Ranges {
    const ranges = this.rangesOf(name) ?? new Ranges();
    this.#files.delete(name);
    this.#changed();
    return ranges.subtract(this.held());
  }

  /** Sets the numbers that are in the object store: they do not disappear with their files. */
  setStored(stored: Ranges): void {
    this.#stored = new Ranges(stored);
  }

  /** Numbers that are in files or in the object store, or were intentionally deleted. */
  held(): Ranges {
    const held = this.#pruned.union(this.#stored);
    for (const { ranges } of this.#files.values()) held.addAll(ranges);
    return held;
  }

  /** Saves changes at once. */
  flush(): Promise<void> {
    if (this.#isChanged) this.#file.changed();
    this.#isChanged = false;
    return this.#file.flush();
  }

  /** Saves changes and stops saving. */
  async close(): Promise<void> {
    await this.flush();
    await this.#file.close();
  }

  #changed(): void {
    if (this.#isSavedAtClose) this.#isChanged = true;
    else this.#file.changed();
  }

  #content(): unknown {
    const files = Array.from(this.#files, ([name, { ranges, isEnded }]) => ({ name, ended: isEnded, ranges }));
    return { version: VERSION, epoch: this.#epoch ?? null, pruned: this.#pruned, files };
  }
}

/** @throws {TypeError} invalid content */
function parseLedger(text: string): SavedLedger {
  const { version, epoch, pruned, files } = asRecord(JSON.parse(text));
  if (version !== VERSION) throw new TypeError(`expected a list of version ${VERSION}`);
  if (typeof epoch !== "string" || epoch.length !== 2 * EPOCH_BYTES) throw new TypeError(`"epoch" is invalid`);
  if (!Array.isArray(files)) throw new TypeError(`"files" is not a list`);
  return { epoch, pruned: rangesOf(pruned), files: new Map(files.map(parseFile)) };
}

function parseFile(value: unknown): [name: string, file: KnownFile] {
  const { name, ended, ranges } = asRecord(value);
  if (typeof name !== "string") throw new TypeError("a file has no name");
  return [name, { ranges: rangesOf(ranges), isEnded: ended === true }];
}

function rangesOf(value: unknown): Ranges {
  try {
    return Ranges.fromJSON(value);
  } catch (error) {
    if (error instanceof RangeError) throw new TypeError(`invalid ranges: ${error.message}`);
    throw error;
  }
}
