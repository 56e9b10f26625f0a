import type { Clock, Logger } from "../base/mod.ts";
import { Broker, type Decode, Decoder } from "../broker/mod.ts";
import type { Message } from "../frame/mod.ts";
import { NumberRun, StoredNumbers, VolatileNumbers } from "./numbers.ts";
import { compileFor, type FrameArchive, FrameSource, type SessionLimits, Sessions, type Slot } from "../stream/mod.ts";
import { type BusCounts, epochWordOf, type Journal, type SeqRange, type SequenceState } from "../journal/mod.ts";
import { Recorder, type RecordingOptions } from "../feed/mod.ts";

/** What a boat keeps, and for how long. */
export interface StoreOptions {
  /** Frames kept in the ring, a power of two; default 65536. */
  ringFrames?: number;
  /** (Device, PGN) pairs kept as last values; default 65536. */
  maxValues?: number;
  /** Sessions that are there from the start, and never go. */
  slots?: readonly Slot[];
  /** Directory of what must survive a restart: sessions and numbers; left out: they begin anew. */
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

/** What the stores must know of their surroundings. */
export interface StoreSurroundings {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  sessionLimits: () => SessionLimits;
  clock: Clock;
  log: Logger;
}

/** Where a boat's messages go: numbers, broker, journal, sessions. */
export interface Stores {
  readonly broker: Broker;
  /** All frames that can still be read. */
  readonly source: FrameSource;
  /** In which run they are numbered. */
  readonly run: NumberRun;
  readonly sessions: Sessions;
  /** Undefined where nothing is recorded. */
  readonly journal: Journal | undefined;
  /** Whether the numbers would survive now; undefined where they are not meant to. */
  readonly numbers: () => SequenceState | undefined;
  /** Takes a message: it gets its number, is published, and recorded. */
  readonly take: (message: Message) => void;
  /** Resolves when the journal can take more; undefined while it can. */
  readonly ready: () => Promise<void> | undefined;
  /** Counters of the buses, for what is recorded from now on. */
  readonly countWith: (counts: () => readonly BusCounts[]) => void;
  /** Ends the sessions' streams, and writes everything down. */
  readonly close: () => Promise<void>;
}

/**
 * Opens what a boat keeps, which goes on where the last run ended.
 *
 * @throws {FileError} a directory is used by another process, or cannot be written
 * @throws {RangeError} the ring's size is no power of two
 */
export async function openStores(options: StoreOptions, surroundings: StoreSurroundings): Promise<Stores> {
  const { buses, clock, log, sessionLimits: limits } = surroundings;
  const { ringFrames, maxValues, slots, stateDirectory } = options;
  const recorder = options.journal && await Recorder.open(options.journal, { buses, clock, log });
  const journal = recorder?.journal;
  const stored = !recorder && stateDirectory !== undefined
    ? await StoredNumbers.open(stateDirectory, { clock, log })
    : undefined;
  const given = stored ?? new VolatileNumbers();
  const numbers = journal ?? given;
  const broker = new Broker({
    buses,
    firstSeq: numbers.firstSeq,
    decoder: new Decoder({ decode: options.decode, log }),
    ...(ringFrames !== undefined && { ringFrames }),
    ...(maxValues !== undefined && { maxValues }),
  });
  const source = new FrameSource(broker, { archive: journal && archiveOf(journal) });
  const sessions = await Sessions.open({
    source,
    compile: (filter) => compileFor(filter, broker),
    clock,
    log,
    limits,
    slots,
    epoch: numbers.epoch.toHex(),
    directory: stateDirectory,
    journal,
  });
  const run = new NumberRun(numbers, sessions);
  const next = given.into(broker, run);
  const take = recorder?.into(broker, run) ?? ((message) => void broker.publish(message, next()));
  return {
    broker,
    source,
    run,
    sessions,
    journal,
    numbers: () => (journal ?? stored)?.numbers,
    take,
    ready: () => journal?.ready(),
    countWith: (counts) => recorder?.countWith(counts),
    close: async () => {
      await sessions.stop();
      await journal?.close();
      await stored?.close();
    },
  };
}

/** What a journal has of the run of numbers that goes on: those of other runs count on their own. */
function archiveOf(journal: Journal): FrameArchive {
  const { index } = journal;
  return {
    get oldestSeq(): number | undefined {
      return journal.oldestSeq;
    },
    get isTaking(): boolean {
      // What a file system that is away does not give, it may have all the same.
      return journal.state.kind === "recording" || journal.isAway;
    },
    get uncleanRange(): SeqRange | undefined {
      return journal.uncleanRange;
    },
    blocks: ({ fromSeq }) => index.blocks({ fromSeq, epochWord: epochWordOf(journal.epoch) }),
  };
}
