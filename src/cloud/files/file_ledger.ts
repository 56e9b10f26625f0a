import { AtomicFile, type DurableFile, JsonFile, type Logger, readJsonFile } from "../../base/mod.ts";
import { EPOCH_BYTES, Ranges } from "../../replication/mod.ts";

/** Name of the file in a boat's directory. */
const LEDGER_FILE = "files.json";
const VERSION = 1;
/** Largest file that is read: some hundred bytes for each of the files of many years. */
const MAX_LEDGER_BYTES = 64 * 1024 * 1024;

/** A journal file, as far as it is known. */
interface KnownFile {
  /** Numbers of its frames. */
  readonly ranges: Ranges;
  /** False while blocks are still added. */
  isEnded: boolean;
}

/** What is written down. */
interface KeptLedger {
  epoch: string;
  pruned: Ranges;
  files: Map<string, KnownFile>;
}

/**
 * Which numbers each journal file of a boat holds, in the boat's current epoch, and which were deleted on purpose. It
 * tells what is missing when a file is gone. Written down when a file ends; after a crash the files that have not ended
 * are read again.
 */
export class FileLedger {
  readonly #kept: JsonFile;
  #epoch: string | undefined;
  #pruned = new Ranges();
  #files = new Map<string, KnownFile>();
  #isComplete = false;

  private constructor(file: DurableFile, { id, log }: { id: string; log: Logger }) {
    this.#kept = new JsonFile(file, { what: `list of the files of "${id}"`, content: () => this.#content(), log });
  }

  /** Reads what is there; where it cannot be read nothing is known. */
  static async read(directory: string, options: { id: string; log: Logger }): Promise<FileLedger> {
    const file = new AtomicFile(directory, { name: LEDGER_FILE, maxBytes: MAX_LEDGER_BYTES });
    const ledger = new FileLedger(file, options);
    const what = `list of the files of "${options.id}"`;
    const kept = await readJsonFile(file, { what, parse: parseLedger, log: options.log });
    if (kept) {
      ({ epoch: ledger.#epoch, pruned: ledger.#pruned, files: ledger.#files } = kept);
      ledger.#isComplete = true;
    }
    return ledger;
  }

  /** Whether every number that a file held is known here; false until all files were read where the list was lost. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Names of the files. */
  get names(): string[] {
    return [...this.#files.keys()];
  }

  /** Numbers that were deleted on purpose, to stay within the limits of what is kept. */
  get pruned(): Ranges {
    return this.#pruned;
  }

  /** Begins with an epoch, unless it is the one that goes on. @param options.isNew nothing was received of it before */
  begin(epoch: string, { isNew }: { isNew: boolean }): void {
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#pruned = new Ranges();
    this.#files = new Map();
    this.#isComplete = isNew;
  }

  /** Whether all that a file holds is known. */
  isEnded(name: string): boolean {
    return this.#files.get(name)?.isEnded ?? false;
  }

  /** Numbers that a file holds; undefined where it is not known. */
  rangesOf(name: string): Ranges | undefined {
    return this.#files.get(name)?.ranges;
  }

  /** A block was written. */
  note(name: string, { firstSeq, lastSeq }: { firstSeq: number; lastSeq: number }): void {
    const file = this.#files.get(name) ?? { ranges: new Ranges(), isEnded: false };
    file.ranges.add(firstSeq, lastSeq + 1);
    this.#files.set(name, file);
  }

  /** No more blocks come into these files. */
  ended(isOpen: (name: string) => boolean): void {
    for (const [name, file] of this.#files) if (!file.isEnded && !isOpen(name)) file.isEnded = true;
    this.#kept.changed();
  }

  /** What a file holds was read. */
  set(name: string, file: KnownFile): void {
    this.#files.set(name, file);
    this.#kept.changed();
  }

  /** All files were read: what is missing in them now was deleted before anybody kept this list. */
  complete(missing: Ranges): void {
    this.#pruned = this.#pruned.union(missing);
    this.#isComplete = true;
    this.#kept.changed();
  }

  /** A file is deleted on purpose. */
  prune(name: string): void {
    this.#pruned = this.#pruned.union(this.drop(name));
  }

  /** A file is gone. Gives the numbers that only it held. */
  drop(name: string): Ranges {
    const ranges = this.rangesOf(name) ?? new Ranges();
    this.#files.delete(name);
    this.#kept.changed();
    return ranges.subtract(this.held());
  }

  /** Numbers that are in files, or were deleted on purpose. */
  held(): Ranges {
    const held = new Ranges(this.#pruned);
    for (const { ranges } of this.#files.values()) held.addAll(ranges);
    return held;
  }

  /** Writes down what has changed now. */
  flush(): Promise<void> {
    return this.#kept.flush();
  }

  /** Writes down what has changed, and nothing any more. */
  close(): Promise<void> {
    return this.#kept.close();
  }

  #content(): unknown {
    const files = Array.from(this.#files, ([name, { ranges, isEnded }]) => ({ name, ended: isEnded, ranges }));
    return { version: VERSION, epoch: this.#epoch ?? null, pruned: this.#pruned, files };
  }
}

/** @throws {TypeError} it is none of ours */
function parseLedger(text: string): KeptLedger {
  const { version, epoch, pruned, files } = record(JSON.parse(text));
  if (version !== VERSION) throw new TypeError(`it is no list of version ${VERSION}`);
  if (typeof epoch !== "string" || epoch.length !== 2 * EPOCH_BYTES) throw new TypeError("its epoch is none");
  if (!Array.isArray(files)) throw new TypeError(`its "files" are no list`);
  return { epoch, pruned: rangesOf(pruned), files: new Map(files.map(parseFile)) };
}

function parseFile(value: unknown): [name: string, file: KnownFile] {
  const { name, ended, ranges } = record(value);
  if (typeof name !== "string") throw new TypeError("a file has no name");
  return [name, { ranges: rangesOf(ranges), isEnded: ended === true }];
}

function rangesOf(value: unknown): Ranges {
  try {
    return Ranges.fromJSON(value);
  } catch (error) {
    if (error instanceof RangeError) throw new TypeError(`its ranges cannot be used: ${error.message}`);
    throw error;
  }
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}
