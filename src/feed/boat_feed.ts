import type { Clock, Logger, Range } from "../base/mod.ts";
import { Broker, type Decode, Decoder } from "../broker/mod.ts";
import type { Message } from "../frame/mod.ts";
import {
  type BusCounts,
  epochWordOf,
  type Journal,
  type SeqRange,
  type SequenceState,
  type StoredFrames,
} from "../journal/mod.ts";
import type { FrameArchive, SessionLimits, Slot } from "../stream/mod.ts";
import { Feed } from "./feed.ts";
import { EpochChanges, type EpochListener, type Numbers, openStoredNumbers, volatileNumbers } from "./numbers.ts";
import { MessageTally } from "./message_tally.ts";
import { openRecording, type RecordingOptions } from "./recording.ts";

/** What a boat stores. */
export interface StoreOptions {
  /** Capacity of the ring, frames; a power of two, default 65536. */
  ringFrames?: number;
  /** Most (device, PGN) pairs in the last-value store; default 65536. */
  maxValues?: number;
  /** Sessions that exist from the start and are never removed. */
  slots?: readonly Slot[];
  /** Directory for sessions and sequence numbers; default none: neither survives a restart. */
  stateDirectory?: string;
  /** Records every frame; default: no recording. */
  journal?: RecordingOptions;
  /**
   * Replaces the decoder, for tests. Default: decodes by the PGN definitions.
   *
   * @internal
   */
  decode?: Decode;
}

/** Dependencies of a boat's feed. */
export interface BoatFeedContext {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** Returns the counters of the buses, which are stored in every journal block. */
  counts: () => readonly BusCounts[];
  sessionLimits: () => SessionLimits;
  /** What the cloud has stored; default: nothing is replicated. */
  stored?: StoredFrames | undefined;
  clock: Clock;
  log: Logger;
}

/** The feed of a boat: numbers messages, publishes and records them. */
export class BoatFeed {
  readonly feed: Feed;
  /** Undefined when recording is off. */
  readonly journal: Journal | undefined;
  readonly #broker: Broker;
  readonly #numbers: Numbers;
  readonly #changes: EpochChanges;
  readonly #tally: MessageTally;
  #run: { first: number; frames: number };

  private constructor(
    feed: Feed,
    parts: { journal: Journal | undefined; numbers: Numbers; changes: EpochChanges; tally: MessageTally },
  ) {
    this.feed = feed;
    this.#tally = parts.tally;
    this.journal = parts.journal;
    this.#broker = feed.broker;
    this.#numbers = parts.numbers;
    this.#changes = parts.changes;
    this.#run = { first: parts.numbers.firstSeq, frames: 0 };
    parts.changes.follow(() => this.#run = { first: 1, frames: 0 });
  }

  /**
   * Opens the feed. Sequence numbers, sessions and the journal continue where the last run ended.
   *
   * @throws {FileError} a directory is in use by another process, or cannot be written
   * @throws {RangeError} `ringFrames` is not a power of two
   */
  static async open(options: StoreOptions, context: BoatFeedContext): Promise<BoatFeed> {
    const { buses, sessionLimits: limits, stored, clock, log } = context;
    const tally = new MessageTally(context.counts);
    const counts = () => tally.counts();
    const { ringFrames, maxValues, slots, stateDirectory: directory } = options;
    const broker = new Broker({
      buses,
      decoder: new Decoder({ decode: options.decode, log }),
      ...(ringFrames !== undefined && { ringFrames }),
      ...(maxValues !== undefined && { maxValues }),
    });
    const changes = new EpochChanges(broker);
    const journal = options.journal &&
      await openRecording(options.journal, { broker, stored, counts, changes, clock, log });
    const numbers: Numbers = journal ??
      (directory === undefined
        ? volatileNumbers(broker, changes)
        : await openStoredNumbers(directory, { changes, clock, log }));
    broker.startEpoch(numbers.firstSeq);
    const archive = journal && archiveOf(journal);
    const sessions = { limits, slots, epoch: numbers.epoch.toHex(), directory, journal };
    const feed = await Feed.open({ broker, archive, sessions, clock, log });
    changes.follow((epoch) => feed.sessions.newEpoch(epoch));
    return new BoatFeed(feed, { journal, numbers, changes, tally });
  }

  /** Assigns a message its number, publishes and records it. The caller may reuse the message and its buffer afterwards. */
  publish(message: Message): void {
    this.#tally.begin(message);
    let seq = 0;
    try {
      seq = this.#numbers.next();
      this.#run.frames++;
      this.#broker.publish(message, seq);
      this.journal?.append(seq, message);
    } finally {
      this.#tally.end(message, { isNumbered: seq > 0 });
    }
  }

  /** Counters of the buses since the start, with what became of each frame. */
  counts(): readonly BusCounts[] {
    return this.journal?.busCounts() ?? this.#tally.counts();
  }

  /** Frames numbered since the start, or since this epoch began if that is later. `first`: number of the first one. */
  get numbered(): { readonly first: number; readonly frames: number } {
    return this.#run;
  }

  /** Resolves when the journal accepts more frames; undefined when it does already. */
  ready(): Promise<void> | undefined {
    return this.journal?.ready();
  }

  /** Id of the epoch, 16 bytes. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#numbers.epoch;
  }

  /** Numbers of this epoch that the last start skipped: never assigned to a frame. */
  get skipped(): Range | undefined {
    const { skipped } = this.#numbers;
    return skipped && { start: skipped.from, end: skipped.to + 1 };
  }

  /** Whether the numbers are stored and would survive a restart; undefined without a state directory. */
  get numbers(): SequenceState | undefined {
    return this.#numbers.numbers;
  }

  /** Begins a new epoch at 1, because a peer has seen higher numbers of the current one. */
  renew(reason: string): void {
    this.#numbers.newEpoch(reason);
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

/** The journal's frames of the current epoch. Other epochs have their own numbers. */
function archiveOf(journal: Journal): FrameArchive {
  const { index } = journal;
  return {
    get oldestSeq(): number | undefined {
      return journal.oldestSeq;
    },
    get isRecording(): boolean {
      // While the file system is away, unreadable frames may still exist.
      return journal.state.kind === "recording" || journal.isUnmounted;
    },
    get uncleanRange(): SeqRange | undefined {
      return journal.uncleanRange;
    },
    blocks: ({ fromSeq }) => index.blocks({ fromSeq, epochWord: epochWordOf(journal.epoch) }),
  };
}
