import { type Clock, type DurableFile, FileError, type Logger, readJsonFile } from "../../base/mod.ts";
import { Broker, Decoder, type RingPool } from "../../broker/mod.ts";
import type { Message } from "../../frame/mod.ts";
import { epochWordOf, type JournalIndex } from "../../journal/mod.ts";
import { Feed } from "../../feed/mod.ts";
import type { FrameArchive, FrameSource, SessionLimits, Sessions } from "../../stream/mod.ts";
import { absentFrames, type ReplicaNumbers, skippedFrames } from "./numbers.ts";
import { warmUpFromJournal } from "./warm_up.ts";
import { keptSnapshot, parseSnapshot, type ReplicaSnapshot, snapshotFile } from "./snapshot.ts";
import { BoatClock } from "./time.ts";

/** How a replica is opened. */
export interface ReplicaOptions {
  /** The boat. */
  id: string;
  /** The boat's directory; snapshot and sessions are in it. */
  directory: string;
  /** The boat's run of numbers, hex. */
  epoch: string;
  /** Names of the boat's buses by index. */
  buses: readonly string[];
  /** Last number that is held live. */
  head: number;
  /** All files of the boat, and what is not on disk yet. */
  index: JournalIndex;
  /** What is known of the boat's numbers; left out: nothing but what the files say. */
  numbers?: ReplicaNumbers;
  /** Frames in the ring, a power of two. */
  ringFrames: number;
  /** (Device, PGN) pairs kept as last values. */
  maxValues: number;
  /** A device goes when the boat has talked so long without it, milliseconds; 0: never. */
  deviceIdleTimeoutMs: number;
  sessionLimits: () => SessionLimits;
  /** Where the ring's memory comes from. */
  pool: RingPool;
  clock: Clock;
  log: Logger;
}

/** Makes the replica of a boat; what is the same for all is known. */
export type OpenReplica = (
  options: Pick<ReplicaOptions, "id" | "directory" | "epoch" | "buses" | "head" | "index" | "numbers">,
) => Promise<Replica>;

/** The run of numbers that goes on now. */
interface Run {
  epoch: string;
}

interface Parts {
  feed: Feed;
  run: Run;
  time: BoatClock;
  file: DurableFile;
}

/**
 * A boat's broker in the cloud: fed with its live frames, which keep the boat's numbers, and read as the boat itself is.
 * What was known of devices and values is there again when it is opened, whatever ended it before. Devices are idle by
 * the boat's own frames: while a boat is silent, it keeps them.
 */
export class Replica {
  /** What clients read. */
  readonly feed: Feed;
  readonly broker: Broker;
  readonly source: FrameSource;
  readonly sessions: Sessions;
  readonly index: JournalIndex;
  readonly #options: ReplicaOptions;
  readonly #run: Run;
  readonly #time: BoatClock;
  readonly #file: DurableFile;
  readonly #stopListeners: (() => void)[] = [];
  #holders = 0;
  /** Whether a frame has come since it was looked at last: asking for the time costs more than publishing. */
  #isFed = false;
  #usedMs: number;
  #stopping: Promise<void> | undefined;

  private constructor(options: ReplicaOptions, { feed, run, time, file }: Parts) {
    this.feed = feed;
    this.broker = feed.broker;
    this.source = feed.source;
    this.sessions = feed.sessions;
    this.index = options.index;
    this.#options = options;
    this.#run = run;
    this.#time = time;
    this.#file = file;
    this.#usedMs = options.clock.monoMs();
  }

  /**
   * Makes it, with what the snapshot and the journal since then know.
   *
   * @throws {RangeError} `ringFrames` is no power of two
   */
  static async open(options: ReplicaOptions): Promise<Replica> {
    const { id, directory, buses, head, index, ringFrames, maxValues, pool, clock, log } = options;
    const broker = new Broker({
      ...{ buses, ringFrames, maxValues, pool },
      firstSeq: head + 1,
      decoder: new Decoder({ log }),
    });
    const run: Run = { epoch: options.epoch };
    const file = snapshotFile(directory);
    const snapshot = await readSnapshot(file, options);
    const time = new BoatClock({ maxStepMs: options.deviceIdleTimeoutMs / 2, newestMs: snapshot?.timeMs });
    for (const device of snapshot?.devices ?? []) broker.registry.restore(device);
    for (const { seq, message } of snapshot?.values ?? []) broker.values.set(seq, message);
    const knownThrough = snapshot?.seq ?? 0;
    const recalled = await warmUpFromJournal(broker, { index, epochWord: wordOf(run), knownThrough, head, time });
    log.info("replica started", { id, devices: broker.registry.size, values: broker.values.size, recalled });
    const archive = archiveOf(index, { run, ...options });
    const sessions = { limits: options.sessionLimits, epoch: run.epoch, directory };
    const feed = await Feed.open({ broker, archive, sessions, clock, log });
    return new Replica(options, { feed, run, time, file });
  }

  /** The run of numbers, hex. */
  get epoch(): string {
    return this.#run.epoch;
  }

  /** Publishes a live frame, with the number that the boat gave it. One that is not above the head is passed over. */
  take(seq: number, message: Message): void {
    if (this.#stopping || seq <= this.broker.head) return;
    this.#isFed = true;
    if (seq > this.broker.head + 1) this.#passHole(seq);
    const { bus, pgn, id, timeUs, data, offset, length } = message;
    this.broker.publish({ bus, pgn, id, timeUs, monoMs: this.#time.heard(timeUs / 1000), data, offset, length }, seq);
  }

  /** Learns of a device from a message without a number, which the boat repeats. */
  introduce(message: Message): void {
    if (!this.#stopping) this.broker.registry.introduce({ ...message, monoMs: this.#time.ms });
  }

  /** Somebody uses it: it is not idle until what this returns was called. */
  hold(): () => void {
    this.#holders++;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holders--;
      this.#usedMs = this.#options.clock.monoMs();
    };
  }

  /**
   * For how long it has been neither fed nor held, and no session streamed, milliseconds, as it looks between one call of
   * this or of {@linkcode Replica.runHousekeeping} and the next.
   *
   * @param nowMs monotonic, of the clock
   */
  idleMs(nowMs: number): number {
    if (this.#isFed || this.#holders > 0 || this.sessions.streaming > 0) this.#usedMs = nowMs;
    this.#isFed = false;
    return Math.max(0, nowMs - this.#usedMs);
  }

  /**
   * The boat's numbers begin again: what was known of it is forgotten, streams and sessions are told.
   *
   * @throws {RangeError} its buses are others: that takes another replica
   */
  newEpoch(epoch: string, buses: readonly string[] = this.broker.buses): void {
    if (buses.join() !== this.broker.buses.join()) {
      throw new RangeError(
        `Cannot go on with buses ${buses.join(", ")}: the replica has ${this.broker.buses.join(", ")}`,
      );
    }
    this.#run.epoch = epoch;
    this.broker.startEpoch();
    this.broker.registry.clear();
    this.sessions.newEpoch(epoch);
  }

  /** Removes devices that the boat has talked without for too long, and sessions whose client is gone. Once a second. */
  runHousekeeping(): void {
    this.idleMs(this.#options.clock.monoMs());
    this.broker.registry.expire(this.#time.ms, this.#options.deviceIdleTimeoutMs);
    this.sessions.runHousekeeping();
    // Whether holes are awaited may change by the time alone.
    this.source.changed();
  }

  /** Writes down what is known of devices and values. Never fails: what goes wrong is logged. */
  async writeSnapshot(): Promise<void> {
    const { id, log } = this.#options;
    const { ms: nowMs, newestMs: timeMs } = this.#time;
    try {
      const kept = keptSnapshot(this.broker, { epoch: this.epoch, timeMs, nowMs });
      await this.#file.write(JSON.stringify(kept) + "\n");
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      log.error("snapshot is not written down", { id, error: error.message });
    }
  }

  /** Calls `listener` when it stops, while its frames are still there. */
  onStop(listener: () => void): void {
    this.#stopListeners.push(listener);
  }

  /** Ends streams, writes everything down, and gives its memory back. Safe to call twice. */
  stop(): Promise<void> {
    return this.#stopping ??= this.#stop();
  }

  /** What is missing may come by backfill: readers who are not there yet read from the journal up to the end of the hole. */
  #passHole(endSeq: number): void {
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

/** What was known of the boat; undefined where it is of no use. */
async function readSnapshot(
  file: DurableFile,
  { id, epoch, buses, head, log }: ReplicaOptions,
): Promise<ReplicaSnapshot | undefined> {
  const what = `last values of "${id}"`;
  const snapshot = await readJsonFile(file, { what, parse: (text) => parseSnapshot(text, buses), log });
  if (!snapshot || snapshot.epoch === epoch && snapshot.seq <= head) return snapshot;
  const reason = snapshot.epoch === epoch ? `it is of frame ${snapshot.seq}, newer than all` : "it is of another epoch";
  log.info("snapshot is of no use", { id, reason });
  return undefined;
}

/** What the journal has of the run of numbers that goes on. */
function archiveOf(
  index: JournalIndex,
  { run, numbers }: { run: Run } & Pick<ReplicaOptions, "numbers">,
): FrameArchive {
  return {
    ...(numbers && { absentFrom: (fromSeq, throughSeq) => absentFrames(numbers, { fromSeq, throughSeq }) }),
    get oldestSeq(): number {
      // While nothing is on disk, all that ever came is about to be.
      return Math.min(index.oldestSeqOf(wordOf(run)) ?? 1, numbers?.firstNotInFiles() ?? Infinity);
    },
    blocks: ({ fromSeq }) => index.blocks({ fromSeq, epochWord: wordOf(run) }),
  };
}

function wordOf({ epoch }: Run): number {
  return epochWordOf(Uint8Array.fromHex(epoch));
}
