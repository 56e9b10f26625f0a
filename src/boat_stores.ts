import { AtomicFile, type Clock, type Logger } from "./base/mod.ts";
import { Broker, type Decode, Decoder } from "./broker/mod.ts";
import type { Message } from "./frame/mod.ts";
import { compileFor } from "./http/mod.ts";
import { epochWordOf, HEAD_FILE, type Journal, type SequenceState, SequenceStore } from "./journal/mod.ts";
import { Recorder, type RecordingOptions } from "./recorder.ts";
import { type FrameArchive, FrameSource, SESSION_FILE, type SessionLimits, Sessions, type Slot } from "./stream/mod.ts";

/** A file of sessions larger than this is none of ours. */
const MAX_SESSION_FILE_BYTES = 2 ** 30;

/** Sequence numbers of a boat that records nothing, but has a place for what must survive: they never repeat. */
class Numbers {
  readonly #store: SequenceStore;
  readonly #told: { newEpoch: (epoch: string) => void };

  private constructor(store: SequenceStore, told: { newEpoch: (epoch: string) => void }) {
    this.#store = store;
    this.#told = told;
  }

  /** Goes on behind the last number. */
  static async open(stateDirectory: string, { clock, log }: { clock: Clock; log: Logger }): Promise<Numbers> {
    const told = { newEpoch: (_: string) => {} };
    const file = new AtomicFile(stateDirectory, { name: HEAD_FILE });
    const onNewEpoch = (epoch: Uint8Array) => told.newEpoch(epoch.toHex());
    return new Numbers(await SequenceStore.open({ file, clock, log, onNewEpoch }), told);
  }

  /** The number that the first frame gets. */
  get firstSeq(): number {
    return this.#store.start.first;
  }

  /** 16 bytes that name the run of numbers. */
  get epoch(): Uint8Array {
    return this.#store.epoch;
  }

  /** Whether the numbers would survive now. */
  get numbers(): SequenceState {
    return this.#store.state;
  }

  /** Numbers what a broker publishes from now on; in a new epoch broker and sessions begin again. */
  into(broker: Broker, sessions: Sessions): () => number {
    this.#told.newEpoch = (epoch) => {
      broker.startOver();
      sessions.newEpoch(epoch);
    };
    return () => this.#store.next();
  }

  /** Writes down the last number. */
  async close(): Promise<void> {
    await this.#store.close();
  }
}

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
  readonly sessions: Sessions;
  /** Undefined where nothing is recorded. */
  readonly journal: Journal | undefined;
  /** Whether the numbers would survive now; undefined where they are not meant to. */
  readonly numbers: () => SequenceState | undefined;
  /** Takes a message: it gets its number, is published, and recorded. */
  readonly take: (message: Message) => void;
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
  const isNumbered = !recorder && stateDirectory !== undefined;
  const numbers = isNumbered ? await Numbers.open(stateDirectory, { clock, log }) : undefined;
  const { firstSeq = 1, epoch } = recorder?.journal ?? numbers ?? {};
  const broker = new Broker({
    buses,
    firstSeq,
    decoder: new Decoder({ decode: options.decode, log }),
    ...(ringFrames !== undefined && { ringFrames }),
    ...(maxValues !== undefined && { maxValues }),
  });
  const journal = recorder?.journal;
  const sessions = await Sessions.open({
    source: new FrameSource(broker, { archive: journal && archiveOf(journal) }),
    compile: (filter) => compileFor(filter, broker),
    clock,
    log,
    limits,
    slots,
    epoch: epoch?.toHex(),
    file: stateDirectory === undefined ? undefined : sessionFile(stateDirectory),
    journal,
  });
  const next = numbers?.into(broker, sessions);
  return {
    broker,
    sessions,
    journal,
    numbers: () => (journal ?? numbers)?.numbers,
    take: recorder?.into(broker, sessions) ?? ((message) => void broker.publish(message, next?.())),
    close: async () => {
      await sessions.stop();
      await journal?.close();
      await numbers?.close();
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
    blocks: ({ fromSeq }) => index.blocks({ fromSeq, epochWord: epochWordOf(journal.epoch) }),
  };
}

function sessionFile(stateDirectory: string): AtomicFile {
  return new AtomicFile(stateDirectory, { name: SESSION_FILE, maxBytes: MAX_SESSION_FILE_BYTES });
}
