import { AtomicFile, type Clock, type Logger } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import { HEAD_FILE, type SeqRange, type SequenceState, SequenceStore } from "../journal/mod.ts";
import type { LinkNumbers, Range } from "../replication/mod.ts";

/** Bytes of an epoch. */
const EPOCH_BYTES = 16;

/** Where sequence numbers come from. */
interface NumberSource {
  /** 16 bytes that name the run of numbers. */
  readonly epoch: Uint8Array<ArrayBuffer>;
  /** Numbers that the start has skipped, and that never had a frame. */
  readonly skipped: SeqRange | undefined;
  /** Begins at 1 in a new epoch. */
  newEpoch(why: string): void;
}

/** Who has to know of a new epoch. */
interface Follower {
  /** @param formerHead the last number of the run that has ended */
  newEpoch(epoch: string, formerHead: number): void;
}

/** The run of sequence numbers that a boat counts in, and who has to know when another one begins. */
export class NumberRun implements LinkNumbers, Follower {
  readonly #source: NumberSource;
  readonly #followers: Follower[];

  constructor(source: NumberSource, ...followers: Follower[]) {
    this.#source = source;
    this.#followers = followers;
  }

  /** 16 bytes that name it. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#source.epoch;
  }

  /** Numbers of it that the start has skipped, and that never had a frame. */
  get skipped(): Range | undefined {
    const { skipped } = this.#source;
    return skipped && { start: skipped.from, end: skipped.to + 1 };
  }

  /** Begins another one at 1. */
  renew(why: string): void {
    this.#source.newEpoch(why);
  }

  /** Tells `follower` of each new one from now on. */
  follow(follower: Follower): void {
    this.#followers.push(follower);
  }

  /** Another one has begun. */
  newEpoch(epoch: string, formerHead: number): void {
    for (const follower of this.#followers) follower.newEpoch(epoch, formerHead);
  }
}

/** Sequence numbers of a boat that records nothing, but has a place for what must survive: they never repeat. */
export class StoredNumbers implements NumberSource {
  /** Whether any of them had a frame nobody knows: what is missing is lost, not skipped. */
  readonly skipped = undefined;
  readonly #store: SequenceStore;
  readonly #told: { newEpoch(epoch: string): void };

  private constructor(store: SequenceStore, told: { newEpoch(epoch: string): void }) {
    this.#store = store;
    this.#told = told;
  }

  /** Goes on behind the last number. */
  static async open(stateDirectory: string, { clock, log }: { clock: Clock; log: Logger }): Promise<StoredNumbers> {
    const told = { newEpoch: (_: string) => {} };
    const file = new AtomicFile(stateDirectory, { name: HEAD_FILE });
    const onNewEpoch = (epoch: Uint8Array) => told.newEpoch(epoch.toHex());
    return new StoredNumbers(await SequenceStore.open({ file, clock, log, onNewEpoch }), told);
  }

  /** The number that the first frame gets. */
  get firstSeq(): number {
    return this.#store.start.first;
  }

  /** 16 bytes that name the run of numbers. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#store.epoch;
  }

  /** Whether the numbers would survive now. */
  get numbers(): SequenceState {
    return this.#store.state;
  }

  /** Begins at 1 in a new epoch. */
  newEpoch(why: string): void {
    this.#store.newEpoch(why);
  }

  /** Numbers what a broker publishes from now on; in a new epoch it begins again, and others are told. */
  into(broker: Broker, others: Follower): () => number {
    this.#told.newEpoch = (epoch) => {
      const { head } = broker;
      broker.startOver();
      others.newEpoch(epoch, head);
    };
    return () => this.#store.next();
  }

  /** Writes down the last number. */
  async close(): Promise<void> {
    await this.#store.close();
  }
}

/** Sequence numbers of a boat that keeps nothing: each start is a run of its own. */
export class VolatileNumbers implements NumberSource {
  readonly firstSeq = 1;
  readonly skipped = undefined;
  #epoch = crypto.getRandomValues(new Uint8Array(EPOCH_BYTES));
  #newEpoch: () => void = () => {};

  /** 16 bytes that name the run of numbers. */
  get epoch(): Uint8Array<ArrayBuffer> {
    return this.#epoch;
  }

  /** Begins at 1 in a new epoch. */
  newEpoch(_why: string): void {
    this.#epoch = crypto.getRandomValues(new Uint8Array(EPOCH_BYTES));
    this.#newEpoch();
  }

  /** Numbers what a broker publishes from now on; in a new epoch it begins again, and others are told. */
  into(broker: Broker, others: Follower): () => number {
    this.#newEpoch = () => {
      const { head } = broker;
      broker.startOver();
      others.newEpoch(this.#epoch.toHex(), head);
    };
    return () => broker.head + 1;
  }
}
