import { AtomicFile, type Clock, type Logger } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { HEAD_FILE, type SeqRange, type SequenceState, SequenceStore } from "../journal/mod.ts";

/** Bytes of an epoch. */
const EPOCH_BYTES = 16;

/** Source of a boat's sequence numbers: the journal, a file in the state directory, or memory only. */
export interface Numbers {
  /** Number of the first frame. */
  readonly firstSeq: number;
  /** Id of the epoch, 16 bytes. */
  readonly epoch: Uint8Array<ArrayBuffer>;
  /** Numbers of this epoch that the last start skipped: never assigned to a frame. */
  readonly skipped: SeqRange | undefined;
  /** Whether the numbers are stored and would survive a restart; undefined without a state directory. */
  readonly numbers: SequenceState | undefined;
  /** Assigns the number of the next frame. */
  next(): number;
  /** Begins a new epoch at 1. */
  newEpoch(reason: string): void;
  /** Writes the last number to disk. */
  close(): Promise<void>;
}

/** Called when a new epoch begins, with the last number of the one that has ended. */
export type EpochListener = (epoch: string, formerHead: number) => void;

/** Reports new epochs: first resets the broker to 1, then calls every listener. */
export class EpochChanges {
  readonly #broker: Broker;
  readonly #listeners: EpochListener[] = [];

  constructor(broker: Broker) {
    this.#broker = broker;
  }

  /** Calls `listener` for each new epoch from now on. */
  follow(listener: EpochListener): void {
    this.#listeners.push(listener);
  }

  /** Reports a new epoch. To be called before its first number is assigned. */
  begin(epoch: Uint8Array): void {
    const { head } = this.#broker;
    this.#broker.startEpoch();
    for (const listener of this.#listeners) listener(epoch.toHex(), head);
  }
}

/** Numbers of a boat without recording but with a state directory: they continue after a restart. */
export class StoredNumbers implements Numbers {
  /** It is unknown which of the missing numbers had a frame: they count as lost, not as skipped. */
  readonly skipped = undefined;
  readonly #store: SequenceStore;

  private constructor(store: SequenceStore) {
    this.#store = store;
  }

  /** Continues after the last number on disk. */
  static async open(
    stateDirectory: string,
    { changes, clock, log }: { changes: EpochChanges; clock: Clock; log: Logger },
  ): Promise<StoredNumbers> {
    const file = new AtomicFile(stateDirectory, { name: HEAD_FILE });
    return new StoredNumbers(
      await SequenceStore.open({ file, clock, log, onNewEpoch: (epoch) => changes.begin(epoch) }),
    );
  }

  get firstSeq(): number {
    return this.#store.start.first;
  }

  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#store.epoch;
  }

  get numbers(): SequenceState {
    return this.#store.state;
  }

  next(): number {
    return this.#store.next();
  }

  newEpoch(reason: string): void {
    this.#store.newEpoch(reason);
  }

  async close(): Promise<void> {
    await this.#store.close();
  }
}

/** Numbers of a boat without a state directory: each start begins a new epoch. */
export class VolatileNumbers implements Numbers {
  readonly firstSeq = 1;
  readonly skipped = undefined;
  readonly numbers = undefined;
  readonly #broker: Broker;
  readonly #changes: EpochChanges;
  #epoch = crypto.getRandomValues(new Uint8Array(EPOCH_BYTES));

  constructor(broker: Broker, changes: EpochChanges) {
    this.#broker = broker;
    this.#changes = changes;
  }

  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#epoch;
  }

  next(): number {
    return this.#broker.head + 1;
  }

  newEpoch(_reason: string): void {
    this.#epoch = crypto.getRandomValues(new Uint8Array(EPOCH_BYTES));
    this.#changes.begin(this.#epoch);
  }

  async close(): Promise<void> {}
}
