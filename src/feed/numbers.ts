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

/** Numbers of a boat without recording but with a state directory: they continue after the last number on disk. */
export async function openStoredNumbers(
  stateDirectory: string,
  { changes, clock, log }: { changes: EpochChanges; clock: Clock; log: Logger },
): Promise<Numbers> {
  const file = new AtomicFile(stateDirectory, { name: HEAD_FILE });
  const store = await SequenceStore.open({ file, clock, log, onNewEpoch: (epoch) => changes.begin(epoch) });
  return {
    firstSeq: store.start.first,
    // It is unknown which of the missing numbers had a frame: they count as lost, not as skipped.
    skipped: undefined,
    get epoch() {
      return store.epoch;
    },
    get numbers() {
      return store.state;
    },
    next: () => store.next(),
    newEpoch: (reason) => store.newEpoch(reason),
    close: () => store.close(),
  };
}

/** Numbers of a boat without a state directory: each start begins a new epoch. */
export function volatileNumbers(broker: Broker, changes: EpochChanges): Numbers {
  let epoch = crypto.getRandomValues(new Uint8Array(EPOCH_BYTES));
  return {
    firstSeq: 1,
    skipped: undefined,
    numbers: undefined,
    get epoch() {
      return epoch;
    },
    next: () => broker.head + 1,
    newEpoch: () => {
      epoch = crypto.getRandomValues(new Uint8Array(EPOCH_BYTES));
      changes.begin(epoch);
    },
    close: () => Promise.resolve(),
  };
}
