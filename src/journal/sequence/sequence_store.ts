import {
  backoffMs,
  type Clock,
  type DurableFile,
  errorText,
  FileError,
  type Logger,
  systemClock,
} from "../../base/mod.ts";
import { ID_BYTES } from "../block/metadata.ts";
import {
  decideStart,
  type EpochReason,
  formatHead,
  type HeadFound,
  type JournalEnd,
  parseHead,
  type SeqRange,
  type SequenceStart,
  type StoredHead,
} from "./sequence_start.ts";

/** Name of the file in the state directory. */
export const HEAD_FILE = "head.json";
/** Numbers per reservation: enough for nine minutes at 2000 frames/s. */
export const SEQUENCE_RESERVE = 2 ** 20;

/** Assigned numbers after which the epoch is stored as used: fewer frames may all be unsynced at a power failure. */
const USED_AFTER = 4096;
const RETRY = { firstMs: 1000, capMs: 60_000 };
/** Maximum number of stored previous epochs without a block in the journal. */
const MAX_PREVIOUS = 8;

/** Options of a sequence store. */
export interface SequenceStoreOptions {
  /** Path of `head.json`; this process must be the only writer. */
  file: DurableFile;
  /** Last position of the journal including its WAL; undefined if there is no frame. */
  journalEnd?: JournalEnd | undefined;
  /** Logs new epochs and disk errors. */
  log: Logger;
  /** Clock for retry intervals. */
  clock?: Clock;
  /** Source of epoch ids; default `crypto.getRandomValues`. */
  randomBytes?: (count: number) => Uint8Array<ArrayBuffer>;
  /** Numbers reserved at once, default {@linkcode SEQUENCE_RESERVE}. */
  reserve?: number;
  /** Called while running, before the first number of the new epoch is assigned. */
  onNewEpoch?: (epoch: Uint8Array<ArrayBuffer>, reason: EpochReason) => void;
}

/**
 * Whether the sequence numbers are durable.
 *
 * - `durable`: the reserve is on disk
 * - `overdue`: extending the reserve failed; `left` numbers remain
 * - `volatile`: the epoch is not on disk; the next start begins another one
 */
export type SequenceState =
  | { status: "durable" }
  | { status: "overdue"; left: number; error: string }
  | { status: "volatile"; error: string };

/**
 * Assigns sequence numbers that never repeat within an epoch, despite crashes, power failures and disk errors. A number is
 * assigned only if a reserve that contains it is on disk, and the next start continues after the reserve. An epoch that was
 * never written needs no reserve, because no start can continue it. So the boat does not stop when writing fails: at the
 * end of the reserve a new epoch begins in memory, until it can be written.
 */
export class SequenceStore {
  readonly #file: DurableFile;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #randomBytes: (count: number) => Uint8Array<ArrayBuffer>;
  readonly #reserve: number;
  readonly #onNewEpoch: (epoch: Uint8Array<ArrayBuffer>, reason: EpochReason) => void;
  #start: SequenceStart = { kind: "new", first: 1, reason: { code: "first_start", message: "" } };
  /** State on disk at the start. */
  #found: StoredHead | undefined;
  #skipped: SeqRange | undefined;
  #uncleanRange: SeqRange | undefined;
  #epoch = "";
  #previous: readonly string[] = [];
  #isUsed = false;
  #head = 0;
  /** Highest number that may be assigned; the next start may begin after it. */
  #limit = 0;
  /** Durable reserve of this epoch. */
  #reserved: number | undefined;
  /** Number at which the reserve is extended. */
  #extendAt = 0;
  #writing: Promise<void> | undefined;
  #failure = { times: 0, error: "", retryAtMs: -Infinity };
  #closed = false;

  private constructor(options: SequenceStoreOptions) {
    this.#file = options.file;
    this.#log = options.log;
    this.#clock = options.clock ?? systemClock;
    this.#randomBytes = options.randomBytes ?? ((count) => crypto.getRandomValues(new Uint8Array(count)));
    this.#reserve = options.reserve ?? SEQUENCE_RESERVE;
    this.#onNewEpoch = options.onNewEpoch ?? (() => {});
  }

  /** Reads the state, decides where the numbers continue, and reserves the first ones on disk. Never fails. */
  static async open(options: SequenceStoreOptions): Promise<SequenceStore> {
    const store = new SequenceStore(options);
    await store.#open(options.journalEnd);
    return store;
  }

  /** How the numbers continued when the store was opened. */
  get start(): SequenceStart {
    return this.#start;
  }

  /** Numbers of this epoch that the start skipped; they were never assigned. */
  get skipped(): SeqRange | undefined {
    return this.#skipped;
  }

  /**
   * Numbers of this epoch after the last recorded one that a run without an orderly shutdown may have assigned; the start
   * skipped them. Undefined after an orderly shutdown.
   */
  get uncleanRange(): SeqRange | undefined {
    return this.#uncleanRange;
  }

  /** 16 bytes that identify the epoch. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return Uint8Array.fromHex(this.#epoch);
  }

  /** Last assigned number; before the first assignment, the first number minus 1. */
  get head(): number {
    return this.#head;
  }

  /** Whether the numbers are durable. */
  get state(): SequenceState {
    const { error } = this.#failure;
    if (this.#reserved === undefined) return { status: "volatile", error };
    if (error === "") return { status: "durable" };
    return { status: "overdue", left: this.#limit - this.#head, error };
  }

  /** Assigns the next number. Without a remaining reserve it starts a new epoch at 1. */
  next(): number {
    if (this.#closed) throw new Error("Cannot assign a number: the store is closed");
    if (this.#head >= this.#limit) {
      const why = this.#failure.error || "the disk is too slow";
      this.#renew({ code: "not_durable", message: `no number after ${this.#head} could be reserved: ${why}` });
    }
    const seq = ++this.#head;
    this.#isUsed = true;
    if (seq >= this.#extendAt) this.#extend();
    return seq;
  }

  /** Starts a new epoch at 1 immediately: a peer knows numbers of this one that this journal does not. */
  newEpoch(message: string): void {
    if (!this.#closed) this.#renew({ code: "asked", message });
  }

  /**
   * Stores the last number, so that the next start skips none; no more numbers are assigned. Logs a write error: the next
   * start then skips the reserve.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#writing;
    try {
      await this.#file.write(formatHead(this.#end()));
    } catch (error) {
      this.#log.warn("last sequence number not stored", { error: errorText(error) });
    }
  }

  #end(): StoredHead {
    const [epoch, previous, head, found] = [this.#epoch, this.#previous, this.#head, this.#found];
    // No frame since the start: keeps the state, because a clean head would declare the skipped numbers as assigned.
    if (found?.epoch === epoch && head === (found.cleanHead ?? found.reservedThrough)) return found;
    return { epoch, previous, reservedThrough: head, cleanHead: head, ...(this.#isUsed && { isUsed: true }) };
  }

  async #open(journal: JournalEnd | undefined): Promise<void> {
    const found = await this.#read();
    this.#start = decideStart(found, { journal, reserve: this.#reserve });
    if (this.#start.kind === "new") {
      this.#previous = epochsSoFar(found, journal);
      this.#begin(this.#start.reason);
      await this.#persist();
      return;
    }
    if (found.kind !== "head") return;
    this.#found = found.head;
    ({ epoch: this.#epoch, previous: this.#previous, isUsed: this.#isUsed = false } = found.head);
    this.#head = this.#limit = this.#start.first - 1;
    if (!this.#start.isUnrecorded) this.#skipped = this.#start.skipped;
    if (found.head.cleanHead === undefined) this.#uncleanRange = this.#start.skipped;
    // Before the first number: the state on disk still declares the orderly shutdown.
    await this.#persist();
    if (this.#reserved !== undefined) return;
    const reason: EpochReason = {
      code: "not_durable",
      message: `no number after ${this.#head} could be reserved: ${this.#failure.error}`,
    };
    this.#begin(reason);
    this.#start = { kind: "new", first: 1, reason };
  }

  async #read(): Promise<HeadFound> {
    try {
      const bytes = await this.#file.read();
      return bytes ? parseHead(bytes) : { kind: "missing" };
    } catch (error) {
      return { kind: "damaged", why: errorText(error) };
    }
  }

  #renew(reason: EpochReason): void {
    this.#begin(reason);
    this.#extend();
    this.#onNewEpoch(this.epoch, reason);
  }

  #begin({ code, message }: EpochReason): void {
    if (this.#epoch) this.#previous = [this.#epoch, ...this.#previous];
    this.#previous = this.#previous.slice(0, MAX_PREVIOUS);
    this.#epoch = this.#randomBytes(ID_BYTES).toHex();
    this.#skipped = undefined;
    this.#uncleanRange = undefined;
    this.#isUsed = false;
    this.#head = 0;
    this.#limit = Infinity;
    this.#reserved = undefined;
    this.#extendAt = 0;
    const level = code === "first_start" ? "info" : "warn";
    this.#log[level]("sequence numbers begin at 1 in a new epoch", { epoch: this.#epoch, reason: message });
  }

  #extend(): void {
    if (this.#writing || this.#closed || this.#clock.monoMs() < this.#failure.retryAtMs) return;
    this.#writing = this.#persist().finally(() => {
      this.#writing = undefined;
      // Numbers were assigned meanwhile, or an epoch began.
      if (this.#head >= this.#extendAt) this.#extend();
    });
  }

  /** Reserves numbers of this epoch from the head on. Never fails. */
  async #persist(): Promise<void> {
    const epoch = this.#epoch;
    const [head, isUsed, reserved = 0] = [this.#head, this.#isUsed, this.#reserved];
    const reservedThrough = reserved - head > this.#reserve / 2 ? reserved : head + this.#reserve;
    const mayBeOnDisk = this.#limit !== Infinity;
    // From here on a start may continue this epoch.
    if (!mayBeOnDisk) this.#limit = reservedThrough;
    try {
      const previous = this.#previous;
      await this.#file.write(formatHead({ epoch, reservedThrough, previous, ...(isUsed && { isUsed }) }));
    } catch (error) {
      const isUntouched = error instanceof FileError && error.content === "untouched";
      if (epoch === this.#epoch && !mayBeOnDisk && isUntouched) this.#limit = Infinity;
      this.#noteFailure(errorText(error));
      return;
    }
    if (this.#failure.times > 0) this.#log.info("sequence numbers are reserved on disk again");
    this.#failure = { times: 0, error: "", retryAtMs: -Infinity };
    if (epoch !== this.#epoch) return;
    this.#limit = this.#reserved = reservedThrough;
    this.#extendAt = Math.min(reservedThrough - this.#reserve / 2, isUsed ? Infinity : head + USED_AFTER);
  }

  #noteFailure(error: string): void {
    const times = this.#failure.times + 1;
    if (times === 1) this.#log.warn("sequence numbers cannot be reserved on disk", { error });
    this.#failure = { times, error, retryAtMs: this.#clock.monoMs() + backoffMs(times, RETRY) };
  }
}

/** Epochs that the journal may end with, now or after a power failure removed its last blocks. */
function epochsSoFar(found: HeadFound, journal: JournalEnd | undefined): string[] {
  const ofHead = found.kind === "head" ? [found.head.epoch, ...found.head.previous] : [];
  const ofJournal = journal?.epoch ? [journal.epoch.toHex()] : [];
  return [...new Set([...ofJournal, ...ofHead])];
}
