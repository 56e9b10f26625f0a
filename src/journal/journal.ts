import { AtomicFile } from "../base/mod.ts";
import type { Message } from "../frame/mod.ts";
import { DirectoryGuard } from "./writer/directory_guard.ts";
import { epochWordOf } from "./file/layout.ts";
import { DEFAULT_PREFIX } from "./file/name.ts";
import type { WriteFigures } from "./writer/file_sequence.ts";
import { FormerEpochs, type FormerRecording } from "./index/former_epochs.ts";
import { JournalIndex } from "./index/journal_index.ts";
import type { KeeperStatus } from "./keeper/directory_keeper.ts";
import { Keeper } from "./keeper/keeper.ts";
import type { RetentionSettings } from "./keeper/retention.ts";
import { type JournalState, JournalWriter, type JournalWriterOptions } from "./writer/journal_writer.ts";
import { recover } from "./wal/recovery.ts";
import type { SeqRange } from "./sequence/sequence_start.ts";
import { HEAD_FILE, type SequenceState, SequenceStore } from "./sequence/sequence_store.ts";
import type { WindowDigest, WindowDigests } from "./digest/window_digest.ts";
import { digestsThrough } from "./digest/window_digest_read.ts";

/** How a journal is opened. */
export interface JournalOptions extends
  Omit<
    JournalWriterOptions,
    "epoch" | "gap" | "newestFile" | "digests" | "checkDirectory" | "onWritten" | "onEnded"
  > {
  /** Directory of `head.json`, which knows the numbers that were given out. */
  stateDirectory: string;
  /** Which files are kept; left out: all. */
  retention?: RetentionSettings | undefined;
  /** Program that archives files. */
  archiveCommand?: string | undefined;
  /** Whose files these are, for that program; default the prefix. */
  instanceId?: string | undefined;
  /** How often files are looked after, milliseconds; see {@linkcode KeeperOptions}. */
  lookEveryMs?: number | undefined;
  /** Numbers reserved on disk at once; for tests. */
  reserve?: number;
  /** Told before the first number of a new epoch, which begins when no more numbers can be reserved on disk. */
  onNewEpoch?: (epoch: Uint8Array<ArrayBuffer>) => void;
}

interface Parts {
  index: JournalIndex;
  guard: DirectoryGuard;
  writer: JournalWriter;
  numbers: SequenceStore;
  digests: WindowDigests;
  former: FormerEpochs;
  keeper: Keeper | undefined;
}

/** A keeper of the directory, where files are to be deleted or archived. */
function keeperOf(
  options: JournalOptions,
  { writer, index, guard }: { writer: JournalWriter; index: JournalIndex; guard: DirectoryGuard },
): Keeper | undefined {
  const { directory, retention, archiveCommand, instanceId, lookEveryMs, prefix = DEFAULT_PREFIX, log, clock } =
    options;
  if (retention === undefined) return undefined;
  return new Keeper({
    directory,
    settings: retention,
    command: archiveCommand,
    instanceId: instanceId ?? prefix,
    lookEveryMs,
    isAway: () => guard.looksAway(),
    isOpen: (name) => name === writer.openName,
    isReadable: (name) => index.has(name),
    onPause: (isPaused) => writer.pause(isPaused),
    onRemoved: (name) => index.noteRemoved(`${directory}/${name}`),
    log,
    clock,
  });
}

/**
 * The journal of a boat: numbers that never repeat, frames on disk, and the way back to them. It holds its directory
 * alone, and is whole again after whatever ended the last recording.
 */
export class Journal {
  /** What is on disk, and what is about to be. */
  readonly index: JournalIndex;
  readonly #keeper: Keeper | undefined;
  readonly #guard: DirectoryGuard;
  readonly #writer: JournalWriter;
  readonly #numbers: SequenceStore;
  readonly #digests: WindowDigests;
  readonly #former: FormerEpochs;

  private constructor(parts: Parts) {
    this.index = parts.index;
    this.#keeper = parts.keeper;
    this.#guard = parts.guard;
    this.#writer = parts.writer;
    this.#numbers = parts.numbers;
    this.#digests = parts.digests;
    this.#former = parts.former;
  }

  /**
   * Takes the directory, mends what is torn, and goes on behind the last number.
   *
   * @throws {FileError} the directory is used by another process, or cannot be written
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const { directory, stateDirectory, log, clock, reserve } = options;
    const late: { index?: JournalIndex; writer?: JournalWriter } = {};
    const guard = await DirectoryGuard.take(directory, { log, onReturn: async () => await late.index?.rescan() });
    try {
      const recovered = await recover(options);
      const pending = recovered.pending.map(({ bytes }) => bytes);
      const index = late.index = await JournalIndex.open(directory, {
        log,
        unwritten: () => late.writer?.unwritten() ?? pending,
        isAway: () => guard.looksAway(),
      });
      const numbers = await SequenceStore.open({
        file: new AtomicFile(stateDirectory, { name: HEAD_FILE }),
        journalEnd: recovered.lastSeq === 0 ? undefined : { epoch: recovered.epoch, seq: recovered.lastSeq },
        log,
        clock,
        ...(reserve !== undefined && { reserve }),
        onNewEpoch: (epoch) => {
          late.writer?.beginEpoch(epoch);
          options.onNewEpoch?.(epoch);
        },
      });
      const { skipped, isUnrecorded = false } = numbers.start.kind === "continued" ? numbers.start : {};
      const digests = await digestsThrough(recovered.lastSeq, { index, epoch: numbers.epoch });
      const writer = late.writer = new JournalWriter({
        ...options,
        digests,
        epoch: numbers.epoch,
        gap: skipped && { firstMissing: skipped.from, reason: isUnrecorded ? "disk" : "restart" },
        newestFile: recovered.newestFile,
        pending: recovered.pending,
        checkDirectory: () => guard.check(),
        onWritten: (block) => index.noteWritten(block),
        onEnded: () => keeper?.wake(),
      });
      const keeper = keeperOf(options, { writer, index, guard });
      keeper?.start();
      const former = new FormerEpochs(index, { prefix: options.prefix ?? DEFAULT_PREFIX });
      return new Journal({ index, guard, writer, numbers, digests, former, keeper });
    } catch (error) {
      guard.close();
      throw error;
    }
  }

  /** The number that the next frame gets when none has been given out yet. */
  get firstSeq(): number {
    return this.#numbers.start.first;
  }

  /** 16 bytes that name the run of numbers. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#numbers.epoch;
  }

  /** Numbers of this epoch that the start has skipped, and that never had a frame. */
  get skipped(): SeqRange | undefined {
    return this.#numbers.skipped;
  }

  /** Numbers after the last recorded one that a run without an orderly end may have given out; see the sequence store. */
  get uncleanRange(): SeqRange | undefined {
    return this.#numbers.uncleanRange;
  }

  /** What is missing of the recording, or cannot be read, in words; each names its file or directory. */
  get damage(): readonly string[] {
    const { path, removals } = this.#guard;
    if (removals === 0) return this.index.damage;
    const removed = `journal directory "${path}" was removed and made again: the files that were in it are gone`;
    return [removed, ...this.index.damage];
  }

  /** True while the directory's file system is not there: files in it are not gone for good. */
  get isAway(): boolean {
    return this.#guard.isAway;
  }

  /** How recording does. */
  get state(): JournalState {
    return this.#writer.state;
  }

  /** Oldest frame of this epoch that is kept; undefined when there is none. */
  get oldestSeq(): number | undefined {
    return this.index.oldestSeqOf(epochWordOf(this.epoch)) ?? this.#writer.oldestUnwritten;
  }

  /** Whether the numbers would survive now. */
  get numbers(): SequenceState {
    return this.#numbers.state;
  }

  /** Digests of the newest frames of this epoch, oldest first; the last one goes on. */
  get digests(): WindowDigest[] {
    return this.#digests.list();
  }

  /** Epochs before this one of which there are frames, newest first. */
  former(): Promise<FormerRecording[]> {
    return this.#former.list({ current: this.epoch });
  }

  /** Newest frame that a power cut leaves. */
  get durableSeq(): number {
    return this.#writer.durableSeq;
  }

  /** How long the oldest frame has been in memory alone, milliseconds; 0 while every frame taken is synced. */
  get unsyncedMs(): number {
    return this.#writer.unsyncedMs;
  }

  /** Longest time that a frame should be in memory alone, milliseconds. */
  get syncIntervalMs(): number {
    return this.#writer.syncIntervalMs;
  }

  /** Frames that could not be kept. */
  get lost(): number {
    return this.#writer.lost;
  }

  /** What was written to files since the start. */
  get written(): Readonly<WriteFigures> {
    return this.#writer.written;
  }

  /** What is known of the files; undefined where all are kept. */
  get files(): KeeperStatus | undefined {
    return this.#keeper?.status;
  }

  /** The number of the next frame. */
  next(): number {
    return this.#numbers.next();
  }

  /** Begins at 1 in a new epoch, at once: somebody knows that numbers of this one were given out before. */
  newEpoch(why: string): void {
    this.#numbers.newEpoch(why);
  }

  /** Takes a frame; its bytes are copied. Never fails. */
  append(seq: number, message: Message): void {
    this.#writer.append(seq, message);
  }

  /** Resolves when the backlog has space for more; undefined while it has. */
  ready(): Promise<void> | undefined {
    return this.#writer.ready();
  }

  /** Resolves when every frame taken so far, or up to `through`, is safe from a power cut. */
  sync(through?: number): Promise<void> {
    return this.#writer.sync(through);
  }

  /** Writes everything, ends the open file, writes down the last number, and lets the directory go. */
  async close(): Promise<void> {
    await this.#keeper?.stop();
    await this.#writer.close();
    await this.#numbers.close();
    this.#guard.close();
  }
}
