import { type Clock, type DurableFile, FileError, type Logger, readJsonFile } from "../../base/mod.ts";
import { Broker, Decoder, restoreTables, type RingPool } from "../../broker/mod.ts";
import type { Message } from "../../frame/mod.ts";
import { epochWordOf, type JournalIndex } from "../../journal/mod.ts";
import { Feed } from "../../feed/mod.ts";
import { FrameClock } from "../../past/mod.ts";
import type { FrameArchive, FrameSource, SessionLimits, Sessions } from "../../stream/mod.ts";
import { absentFrames, type ReplicaNumbers, skippedFrames } from "./numbers.ts";
import { warmUpFromJournal } from "./warm_up.ts";
import { encodeSnapshot, parseSnapshot, type ReplicaSnapshot, snapshotFile } from "./snapshot.ts";

/** Options of {@linkcode Replica.open}. */
export interface ReplicaOptions {
  id: string;
  /** The boat's directory, for snapshot and sessions. */
  directory: string;
  /** The boat's epoch, hex. */
  epoch: string;
  /** Names of the boat's buses by index. */
  buses: readonly string[];
  /** Last number that was received. */
  head: number;
  /** Index of the boat's blocks, including those that are not written yet. */
  index: JournalIndex;
  /** Left out: only the files say which numbers are missing. */
  numbers?: ReplicaNumbers;
  /** Capacity of the ring, frames, a power of two. */
  ringFrames: number;
  /** (Device, PGN) pairs kept as last values. */
  maxValues: number;
  /** A device is removed when the boat has sent for this time without it, milliseconds; 0: never. */
  deviceIdleTimeoutMs: number;
  sessionLimits: () => SessionLimits;
  /** Provides the ring's memory. */
  pool: RingPool;
  clock: Clock;
  log: Logger;
}

/** Opens the replica of a boat, with the options that are the same for all boats filled in. */
export type OpenReplica = (
  options: Pick<ReplicaOptions, "id" | "directory" | "epoch" | "buses" | "head" | "index" | "numbers">,
) => Promise<Replica>;

/** The current epoch, hex; shared by a replica and its archive. */
interface Current {
  epoch: string;
}

/** Frames kept in memory of a boat that nobody reads, a power of two. Whoever begins to read reads older ones from the files. */
const UNREAD_RING_FRAMES = 1024;
/** A boat that nobody has read for this time is not read: its ring gives its memory back. */
const UNREAD_AFTER_MS = 60_000;

interface Parts {
  feed: Feed;
  current: Current;
  time: FrameClock;
  file: DurableFile;
}

/**
 * A boat's broker in the cloud. It publishes the boat's live frames under their numbers, and clients read it like the boat
 * itself. Opening it restores devices and last values, also after a crash. Idle time of devices is measured by the boat's
 * frames: a silent boat keeps its devices.
 */
export class Replica {
  readonly feed: Feed;
  readonly broker: Broker;
  readonly source: FrameSource;
  readonly sessions: Sessions;
  readonly index: JournalIndex;
  readonly #options: ReplicaOptions;
  readonly #current: Current;
  readonly #time: FrameClock;
  readonly #file: DurableFile;
  readonly #stopListeners: (() => void)[] = [];
  #holders = 0;
  /** When somebody has read last, monotonic milliseconds. */
  #readMs = -Infinity;
  /** True if a frame has arrived since the last check: reading the clock costs more than publishing. */
  #isFed = false;
  #usedMs: number;
  #stopping: Promise<void> | undefined;

  private constructor(options: ReplicaOptions, { feed, current, time, file }: Parts) {
    this.feed = feed;
    this.broker = feed.broker;
    this.source = feed.source;
    this.sessions = feed.sessions;
    this.index = options.index;
    this.#options = options;
    this.#current = current;
    this.#time = time;
    this.#file = file;
    this.#usedMs = options.clock.monoMs();
    this.broker.ring.limit(Math.min(UNREAD_RING_FRAMES, options.ringFrames));
  }

  /**
   * Opens a replica and restores it from the snapshot and the newer frames of the journal.
   *
   * @throws {RangeError} `ringFrames` is not a power of two
   */
  static async open(options: ReplicaOptions): Promise<Replica> {
    const { id, directory, buses, head, index, ringFrames, maxValues, pool, clock, log } = options;
    const broker = new Broker({
      ...{ buses, ringFrames, maxValues, pool },
      firstSeq: head + 1,
      decoder: new Decoder({ log }),
    });
    const current: Current = { epoch: options.epoch };
    const file = snapshotFile(directory);
    const snapshot = await readSnapshot(file, options);
    const time = new FrameClock({ maxStepMs: options.deviceIdleTimeoutMs / 2, newestMs: snapshot?.timeMs });
    if (snapshot) restoreTables(broker, snapshot);
    const knownThrough = snapshot?.seq ?? 0;
    const frames = await warmUpFromJournal(broker, { index, epochWord: wordOf(current), knownThrough, head, time });
    log.info("replica started", { id, devices: broker.registry.size, values: broker.values.size, frames });
    const archive = archiveOf(index, { current, ...options });
    const sessions = { limits: options.sessionLimits, epoch: current.epoch, directory };
    const feed = await Feed.open({ broker, archive, sessions, clock, log });
    return new Replica(options, { feed, current, time, file });
  }

  /** Settings of its tables. */
  get tableSettings(): Pick<ReplicaOptions, "maxValues" | "deviceIdleTimeoutMs"> {
    return this.#options;
  }

  /** The current epoch, hex. */
  get epoch(): string {
    return this.#current.epoch;
  }

  /** Publishes a live frame under the boat's number; ignores one that is not above the head. */
  publish(seq: number, message: Message): void {
    if (this.#stopping || seq <= this.broker.head) return;
    this.#isFed = true;
    if (seq > this.broker.head + 1) this.#skipTo(seq);
    const { bus, pgn, id, timeUs, data, offset, length } = message;
    this.broker.publish({ bus, pgn, id, timeUs, monoMs: this.#time.advance(timeUs / 1000), data, offset, length }, seq);
  }

  /** Updates the device table from a message without a number, which the boat repeats. */
  introduce(message: Message): void {
    if (!this.#stopping) this.broker.registry.introduce({ ...message, monoMs: this.#time.ms });
  }

  /** Keeps the replica from being idle until the returned function is called. */
  hold(): () => void {
    this.#holders++;
    this.#readMs = this.#options.clock.monoMs();
    this.broker.ring.limit(this.#options.ringFrames);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holders--;
      this.#usedMs = this.#options.clock.monoMs();
    };
  }

  /**
   * Time without live frames, holders and streaming sessions, milliseconds, as accurate as the interval between calls of
   * this method or {@linkcode Replica.runHousekeeping}.
   *
   * @param nowMs monotonic
   */
  idleMs(nowMs: number): number {
    if (this.#isFed || this.#holders > 0 || this.sessions.streaming > 0) this.#usedMs = nowMs;
    this.#isFed = false;
    return Math.max(0, nowMs - this.#usedMs);
  }

  /** True while somebody reads it, and for a minute afterwards; as accurate as {@linkcode Replica.idleMs}. */
  get isRead(): boolean {
    return this.#options.clock.monoMs() - this.#readMs < UNREAD_AFTER_MS;
  }

  /**
   * Begins a new epoch: clears the device table, and informs streams and sessions.
   *
   * @throws {RangeError} the buses differ, which requires a new replica
   */
  newEpoch(epoch: string, buses: readonly string[] = this.broker.buses): void {
    if (buses.join() !== this.broker.buses.join()) {
      throw new RangeError(
        `Cannot continue with buses ${buses.join(", ")}: the replica has ${this.broker.buses.join(", ")}`,
      );
    }
    this.#current.epoch = epoch;
    this.broker.startEpoch();
    this.broker.registry.clear();
    this.sessions.newEpoch(epoch);
  }

  /** Removes idle devices and expired sessions. Must be called once a second. */
  runHousekeeping(): void {
    const nowMs = this.#options.clock.monoMs();
    this.idleMs(nowMs);
    if (this.#holders > 0 || this.sessions.streaming > 0) this.#readMs = nowMs;
    const { ringFrames } = this.#options;
    this.broker.ring.limit(this.isRead ? ringFrames : Math.min(UNREAD_RING_FRAMES, ringFrames));
    this.broker.registry.expire(this.#time.ms, this.#options.deviceIdleTimeoutMs);
    this.sessions.runHousekeeping();
    // Whether readers wait for holes may change with time alone.
    this.source.changed();
  }

  /** Saves devices and last values. Never throws: failures are logged. */
  async writeSnapshot(): Promise<void> {
    const { id, log } = this.#options;
    const { ms: nowMs, newestMs: timeMs } = this.#time;
    try {
      const snapshot = encodeSnapshot(this.broker, { epoch: this.epoch, timeMs, nowMs });
      await this.#file.write(JSON.stringify(snapshot) + "\n");
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      log.error("snapshot not written", { id, error: error.message });
    }
  }

  /** Calls `listener` when the replica stops, while its frames can still be read. */
  onStop(listener: () => void): void {
    this.#stopListeners.push(listener);
  }

  /** Ends streams, saves everything, and releases memory. Safe to call twice. */
  stop(): Promise<void> {
    return this.#stopping ??= this.#stop();
  }

  /** Skips missing numbers. A backfill may send them later: readers that have not reached them read the journal. */
  #skipTo(endSeq: number): void {
    const from_seq = this.broker.head + 1;
    this.broker.startEpoch(endSeq);
    for (const each of skippedFrames({ start: from_seq, end: endSeq }, this.#options.numbers?.received())) {
      this.broker.skip(each);
    }
  }

  async #stop(): Promise<void> {
    for (const listener of this.#stopListeners) listener();
    await this.sessions.stop();
    await this.writeSnapshot();
    this.broker.ring.release();
  }
}

/** The snapshot; undefined if there is none for the current epoch. */
async function readSnapshot(
  file: DurableFile,
  { id, epoch, buses, head, log }: ReplicaOptions,
): Promise<ReplicaSnapshot | undefined> {
  const what = `last values of "${id}"`;
  const snapshot = await readJsonFile(file, { what, parse: (text) => parseSnapshot(text, buses), log });
  if (!snapshot || snapshot.epoch === epoch && snapshot.seq <= head) return snapshot;
  const reason = snapshot.epoch === epoch
    ? `its frame ${snapshot.seq} is newer than all received ones`
    : "it is of another epoch";
  log.info("snapshot ignored", { id, reason });
  return undefined;
}

/** The journal's frames of the current epoch. */
function archiveOf(
  index: JournalIndex,
  { current, numbers }: { current: Current } & Pick<ReplicaOptions, "numbers">,
): FrameArchive {
  return {
    ...(numbers && { absentFrom: (fromSeq, throughSeq) => absentFrames(numbers, { fromSeq, throughSeq }) }),
    get oldestSeq(): number {
      // While no file exists, every received frame is about to be written.
      return Math.min(index.oldestSeqOf(wordOf(current)) ?? 1, numbers?.firstNotInFiles() ?? Infinity);
    },
    blocks: ({ fromSeq }) => index.blocks({ fromSeq, epochWord: wordOf(current) }),
  };
}

function wordOf({ epoch }: Current): number {
  return epochWordOf(Uint8Array.fromHex(epoch));
}
