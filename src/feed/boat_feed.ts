import type { Clock, Logger, Range } from "../base/mod.ts";
import { Broker, type Decode, Decoder } from "../broker/mod.ts";
import type { Message } from "../frame/mod.ts";
import { type BusCounts, epochWordOf, type Journal, type SeqRange, type SequenceState } from "../journal/mod.ts";
import type { FrameArchive, SessionLimits, Slot } from "../stream/mod.ts";
import { Feed } from "./feed.ts";
import { EpochChanges, type EpochListener, type Numbers, StoredNumbers, VolatileNumbers } from "./numbers.ts";
import { openRecording, type RecordingOptions } from "./recording.ts";

/** What a boat keeps, and for how long. */
export interface StoreOptions {
  /** Frames kept in the ring, a power of two; default 65536. */
  ringFrames?: number;
  /** (Device, PGN) pairs kept as last values; default 65536. */
  maxValues?: number;
  /** Sessions that exist from the start and are never removed. */
  slots?: readonly Slot[];
  /** Directory of what must survive a restart: sessions and numbers; left out: they begin again. */
  stateDirectory?: string;
  /** Records every frame; left out: nothing is recorded. */
  journal?: RecordingOptions;
  /**
   * Decodes payloads, by the definitions when left out; for tests.
   *
   * @internal
   */
  decode?: Decode;
}

/** What a boat's feed needs from the server around it. */
export interface BoatFeedContext {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** Counters of the buses, which go into every block of the journal. */
  counts: () => readonly BusCounts[];
  sessionLimits: () => SessionLimits;
  clock: Clock;
  log: Logger;
}

/** The feed of a boat: numbers messages, publishes and records them. */
export class BoatFeed {
  readonly feed: Feed;
  /** Undefined where nothing is recorded. */
  readonly journal: Journal | undefined;
  readonly #broker: Broker;
  readonly #numbers: Numbers;
  readonly #changes: EpochChanges;

  private constructor(feed: Feed, parts: { journal: Journal | undefined; numbers: Numbers; changes: EpochChanges }) {
    this.feed = feed;
    this.journal = parts.journal;
    this.#broker = feed.broker;
    this.#numbers = parts.numbers;
    this.#changes = parts.changes;
  }

  /**
   * Opens it; numbers, sessions and the journal continue where the last run ended.
   *
   * @throws {FileError} a directory is used by another process, or cannot be written
   * @throws {RangeError} the ring's size is no power of two
   */
  static async open(options: StoreOptions, context: BoatFeedContext): Promise<BoatFeed> {
    const { buses, counts, sessionLimits: limits, clock, log } = context;
    const { ringFrames, maxValues, slots, stateDirectory: directory } = options;
    const broker = new Broker({
      buses,
      decoder: new Decoder({ decode: options.decode, log }),
      ...(ringFrames !== undefined && { ringFrames }),
      ...(maxValues !== undefined && { maxValues }),
    });
    const changes = new EpochChanges(broker);
    const journal = options.journal &&
      await openRecording(options.journal, { broker, counts, changes, clock, log });
    const numbers: Numbers = journal ??
      (directory === undefined
        ? new VolatileNumbers(broker, changes)
        : await StoredNumbers.open(directory, { changes, clock, log }));
    broker.startOver(numbers.firstSeq);
    const archive = journal && archiveOf(journal);
    const sessions = { limits, slots, epoch: numbers.epoch.toHex(), directory, journal };
    const feed = await Feed.open({ broker, archive, sessions, clock, log });
    changes.follow((epoch) => feed.sessions.newEpoch(epoch));
    return new BoatFeed(feed, { journal, numbers, changes });
  }

  /** Numbers a message, publishes it, and records it. The message object and its buffer stay the caller's. */
  publish(message: Message): void {
    const seq = this.#numbers.next();
    this.#broker.publish(message, seq);
    this.journal?.append(seq, message);
  }

  /** Resolves when the journal can take more; undefined while it can. */
  ready(): Promise<void> | undefined {
    return this.journal?.ready();
  }

  /** 16 bytes that name the epoch. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#numbers.epoch;
  }

  /** Numbers of this epoch that the last start skipped: none of them ever had a frame. */
  get skipped(): Range | undefined {
    const { skipped } = this.#numbers;
    return skipped && { start: skipped.from, end: skipped.to + 1 };
  }

  /** Whether the numbers would survive a restart now; undefined where they are not meant to. */
  get numbers(): SequenceState | undefined {
    return this.#numbers.numbers;
  }

  /** Begins a new epoch at 1, because somebody has seen higher numbers of this one. */
  renew(why: string): void {
    this.#numbers.newEpoch(why);
  }

  /** Calls `listener` for each new epoch from now on. */
  onNewEpoch(listener: EpochListener): void {
    this.#changes.follow(listener);
  }

  /** Ends the sessions' streams and writes everything to disk. */
  async close(): Promise<void> {
    await this.feed.sessions.stop();
    await this.#numbers.close();
  }
}

/** What a journal has of the current epoch; other epochs count on their own. */
function archiveOf(journal: Journal): FrameArchive {
  const { index } = journal;
  return {
    get oldestSeq(): number | undefined {
      return journal.oldestSeq;
    },
    get isTaking(): boolean {
      // What cannot be read while a file system is away may be there all the same.
      return journal.state.kind === "recording" || journal.isAway;
    },
    get uncleanRange(): SeqRange | undefined {
      return journal.uncleanRange;
    },
    blocks: ({ fromSeq }) => index.blocks({ fromSeq, epochWord: epochWordOf(journal.epoch) }),
  };
}
