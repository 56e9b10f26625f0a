import { basename } from "node:path";
import { AtomicFile, type DiskSpace, diskSpace } from "../base/mod.ts";
import type { Message } from "../frame/mod.ts";
import { readClockSpans } from "./clock/clock_file.ts";
import { DirectoryGuard } from "./writer/directory_guard.ts";
import { EvidenceSigner } from "./evidence/signer.ts";
import { epochWordOf } from "./file/layout.ts";
import { DEFAULT_PREFIX } from "./file/name.ts";
import type { WriteFigures } from "./writer/file_sequence.ts";
import { FormerEpochs, type FormerRecording } from "./index/former_epochs.ts";
import { JournalIndex } from "./index/journal_index.ts";
import type { RetentionStatus } from "./retention/directory_retention.ts";
import { JournalRetention } from "./retention/journal_retention.ts";
import type { RetentionSettings } from "./retention/plan.ts";
import { type StoredFrames, UnstoredFiles } from "./retention/unstored_files.ts";
import {
  type JournalState,
  JournalWriter,
  type JournalWriterOptions,
  type RecordedCounts,
} from "./writer/journal_writer.ts";
import { recover } from "./wal/recovery.ts";
import type { SeqRange } from "./sequence/sequence_start.ts";
import { HEAD_FILE, type SequenceState, SequenceStore } from "./sequence/sequence_store.ts";
import type { WindowDigest, WindowDigests } from "./digest/window_digest.ts";
import type { BusCounts, RunStart } from "./types.ts";
import { digestsThrough } from "./digest/window_digest_read.ts";

/** Options of a journal. */
export interface JournalOptions extends
  Omit<
    JournalWriterOptions,
    "epoch" | "firstSeq" | "gap" | "newestFile" | "digests" | "checkDirectory" | "onWritten" | "onEnded"
  > {
  /** Directory of `head.json`, which stores the reserved sequence numbers. */
  stateDirectory: string;
  /** Retention limits; default: all files are kept. */
  retention?: RetentionSettings | undefined;
  /** Program that archives files. */
  archiveCommand?: string | undefined;
  /** Id of the instance (boat), passed to that program; default the prefix. */
  instanceId?: string | undefined;
  /** What the cloud has stored: retention keeps other files past their age; default: it does not go by that. */
  stored?: StoredFrames | undefined;
  /** Signs complete files; default: none is signed. `keyFile`: private key, PEM; default in the state directory. */
  evidence?: { keyFile?: string | undefined } | undefined;
  /** Reads the space of the file system, for tests. */
  diskSpace?: ((directory: string) => Promise<DiskSpace>) | undefined;
  /** Interval of retention and archiving, milliseconds; default 5 minutes. */
  checkIntervalMs?: number | undefined;
  /** Numbers reserved on disk at once; for tests. */
  reserve?: number;
  /** Called before the first number of a new epoch, which begins if no more numbers can be reserved on disk. */
  onNewEpoch?: (epoch: Uint8Array<ArrayBuffer>) => void;
}

interface Parts {
  index: JournalIndex;
  guard: DirectoryGuard;
  writer: JournalWriter;
  numbers: SequenceStore;
  digests: WindowDigests;
  former: FormerEpochs;
  retention: JournalRetention | undefined;
  evidence: EvidenceSigner | undefined;
}

/** Signs files, if configured. */
function evidenceOf(
  { directory, stateDirectory, evidence, log }: JournalOptions,
  { writer, guard, onSigned }: { writer: JournalWriter; guard: DirectoryGuard; onSigned: () => void },
): EvidenceSigner | undefined {
  return evidence && new EvidenceSigner({
    directory,
    stateDirectory,
    keyFile: evidence.keyFile,
    isOpen: (name) => name === writer.openName,
    isUnmounted: () => guard.checkUnmounted(),
    onSigned,
    log,
  });
}

/** Retention and archiving for the directory, if configured. */
function retentionOf(
  options: JournalOptions,
  { writer, index, guard, evidence }: Pick<Parts, "writer" | "index" | "guard" | "evidence">,
): JournalRetention | undefined {
  const { directory, retention, archiveCommand, instanceId, checkIntervalMs, prefix = DEFAULT_PREFIX, log, clock } =
    options;
  const { stored, diskSpace: readSpace = diskSpace } = options;
  if (retention === undefined) return undefined;
  return new JournalRetention({
    directory,
    settings: retention,
    command: archiveCommand,
    instanceId: instanceId ?? prefix,
    checkIntervalMs,
    isUnmounted: () => guard.checkUnmounted(),
    unstored: stored && new UnstoredFiles(directory, { index, stored }),
    diskSpace: readSpace,
    isOpen: (name) => name === writer.openName,
    isPending: (name) => evidence?.isPending(name) ?? false,
    isReadable: (name) => index.has(name),
    correctedMs: (name) => {
      const info = index.infoOf(`${directory}/${name}`);
      return info && info.firstTimeUs !== info.recordedUs ? info.firstTimeUs / 1000 : undefined;
    },
    onPause: (isPaused) => writer.pause(isPaused),
    onRemoved: (name) => {
      index.noteRemoved(`${directory}/${name}`);
      evidence?.noteRemoved(name);
    },
    log,
    clock,
  });
}

/**
 * The journal of a boat: assigns unique sequence numbers, writes frames to disk and reads them. It locks its directory,
 * and recovers from a crash when it is opened.
 */
export class Journal {
  /** Index of all frames, including those that are not in a file yet. */
  readonly index: JournalIndex;
  readonly #writer: JournalWriter;
  readonly #numbers: SequenceStore;
  readonly #parts: Parts;

  private constructor(parts: Parts) {
    this.index = parts.index;
    this.#writer = parts.writer;
    this.#numbers = parts.numbers;
    this.#parts = parts;
  }

  /**
   * Locks the directory, recovers torn files, and continues after the last number.
   *
   * @throws {FileError} the directory is used by another process, or cannot be written
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const { directory, stateDirectory, log, clock, reserve } = options;
    // Set below: the callbacks need them.
    const late: { index?: JournalIndex; writer?: JournalWriter } = {};
    const guard = await DirectoryGuard.open(directory, { log, onReturn: async () => await late.index?.rescan() });
    try {
      const recovered = await recover(options);
      const pending = recovered.pending.map(({ bytes }) => bytes);
      const spans = await readClockSpans(directory, { log });
      const index = late.index = await JournalIndex.open(directory, {
        clock: spans,
        log,
        unwritten: () => late.writer?.unwritten() ?? pending,
        isUnmounted: () => guard.checkUnmounted(),
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
        firstSeq: numbers.start.first,
        gap: skipped && { firstMissing: skipped.from, reason: isUnrecorded ? "disk" : "restart" },
        newestFile: recovered.newestFile,
        pending: recovered.pending,
        checkDirectory: () => guard.check(),
        onWritten: (block) => index.noteWritten(block),
        onEnded: (path) => {
          evidence?.noteEnded(basename(path));
          retention?.wake();
        },
      });
      const evidence = evidenceOf(options, { writer, guard, onSigned: () => retention?.wake() });
      const retention = retentionOf(options, { writer, index, guard, evidence });
      retention?.start();
      const former = new FormerEpochs(index, { prefix: options.prefix ?? DEFAULT_PREFIX });
      return new Journal({ index, guard, writer, numbers, digests, former, retention, evidence });
    } catch (error) {
      guard.close();
      throw error;
    }
  }

  /** First sequence number of this run. */
  get firstSeq(): number {
    return this.#numbers.start.first;
  }

  /** 16 bytes that identify the epoch. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#numbers.epoch;
  }

  /** Numbers of this epoch that the start skipped; they were never assigned. */
  get skipped(): SeqRange | undefined {
    return this.#numbers.skipped;
  }

  /** Numbers after the last recorded one that a run without an orderly shutdown may have assigned; see the sequence store. */
  get uncleanRange(): SeqRange | undefined {
    return this.#numbers.uncleanRange;
  }

  /** Problems with the recording as text: missing or unreadable parts, each with its file or directory. */
  get damage(): readonly string[] {
    const { path, removals } = this.#parts.guard;
    if (removals === 0) return this.index.damage;
    const removed = `journal directory "${path}" was removed and made again: the files that were in it are gone`;
    return [removed, ...this.index.damage];
  }

  /** True while the directory's file system is not mounted: its files are unavailable, not deleted. */
  get isUnmounted(): boolean {
    return this.#parts.guard.isUnmounted;
  }

  /** State of recording. */
  get state(): JournalState {
    return this.#writer.state;
  }

  /** Oldest stored frame of this epoch; undefined if there is none. */
  get oldestSeq(): number | undefined {
    return this.index.oldestSeqOf(epochWordOf(this.epoch)) ?? this.#writer.oldestUnwritten;
  }

  /** Whether the sequence numbers are durable now. */
  get numbers(): SequenceState {
    return this.#numbers.state;
  }

  /** Digests of the newest frames of this epoch, oldest first; the last one is still open. */
  get digests(): WindowDigest[] {
    return this.#parts.digests.list();
  }

  /** Earlier epochs with stored frames, newest first. */
  former(): Promise<FormerRecording[]> {
    return this.#parts.former.list({ current: this.epoch });
  }

  /** Newest durable frame. */
  get durableSeq(): number {
    return this.#writer.durableSeq;
  }

  /** Age of the oldest unsynced frame, milliseconds; 0 if all frames are synced. */
  get unsyncedMs(): number {
    return this.#writer.unsyncedMs;
  }

  /** Interval between syncs, milliseconds: the target for the longest time a frame is unsynced. */
  get syncIntervalMs(): number {
    return this.#writer.syncIntervalMs;
  }

  /** Frames lost since the start. */
  get lost(): number {
    return this.#writer.lost;
  }

  /** Frames of this epoch since the start. */
  get counts(): RecordedCounts {
    return this.#writer.counts;
  }

  /** This run, as its blocks say it; undefined without a boot id. */
  get run(): (RunStart & { bootId: Uint8Array<ArrayBuffer> }) | undefined {
    return this.#writer.run.run;
  }

  /** Counters of the buses since the start, with the frames not recorded; undefined without counters. */
  busCounts(): BusCounts[] | undefined {
    return this.#writer.run.now();
  }

  /** Write statistics since the start. */
  get written(): Readonly<WriteFigures> {
    return this.#writer.written;
  }

  /** Retention state; undefined if all files are kept. */
  get files(): RetentionStatus | undefined {
    return this.#parts.retention?.status;
  }

  /** Whether complete files are signed; undefined if none is to be. */
  get evidence(): Pick<EvidenceSigner, "health"> | undefined {
    return this.#parts.evidence;
  }

  /** The number of the next frame. */
  next(): number {
    return this.#numbers.next();
  }

  /** Starts a new epoch at 1 immediately: a peer knows numbers of this one that this journal does not. */
  newEpoch(why: string): void {
    this.#numbers.newEpoch(why);
  }

  /** Appends a frame; copies its bytes. Never fails. */
  append(seq: number, message: Message): void {
    this.#writer.append(seq, message);
  }

  /** Resolves when the backlog has capacity; undefined while it has. */
  ready(): Promise<void> | undefined {
    return this.#writer.ready();
  }

  /** Resolves when every frame appended so far, or up to `through`, is durable. */
  sync(through?: number): Promise<void> {
    return this.#writer.sync(through);
  }

  /** Writes everything, completes the open file, stores the last number, and releases the directory. */
  async close(): Promise<void> {
    await this.#parts.retention?.stop();
    await this.#writer.close();
    await this.#numbers.close();
    await this.#parts.evidence?.close();
    this.#parts.guard.close();
  }
}
