import type { Clock, Logger } from "../base/mod.ts";
import type { Broker, DeviceRecord, Registry } from "../broker/mod.ts";
import type { Message } from "../frame/mod.ts";
import { type BlockDevice, type BusCounts, Journal, NO_PRODUCT, type RetentionSettings } from "../journal/mod.ts";

/** Where and how a boat records. */
export interface RecordingOptions {
  /** Directory of the journal's files. */
  directory: string;
  /** Directory of what must survive beside them: which numbers were given out. */
  stateDirectory: string;
  /** First part of the files' names, default `nmea2k`. */
  prefix?: string;
  /** Bytes of a block, a power of two; default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** A new file begins after so long, milliseconds; 0 (the default) never. */
  rotateDurationMs?: number;
  /** A new file begins when one is larger, bytes; 0 (the default) never. */
  rotateBytes?: number;
  /** Longest time that a frame is in memory alone, milliseconds; default 1000. */
  syncIntervalMs?: number;
  /** Most bytes that wait while nothing can be written; then frames are lost, and told. Default 32 MiB. */
  maxBacklogBytes?: number;
  /** Blocks that took at least so long to fill are packed small, in a thread of their own, milliseconds; default 30 s. */
  slowBlockMs?: number;
  /** Which files are kept; left out: all. */
  retention?: RetentionSettings;
  /** Program that archives files; see the retention's `archive`. */
  archiveCommand?: string;
  /** Instance id of the boat, which that program gets; default the prefix. */
  instanceId?: string;
  /**
   * How often files are looked after, milliseconds; for tests.
   *
   * @internal
   */
  lookEveryMs?: number;
  /**
   * Numbers reserved on disk at once; for tests.
   *
   * @internal
   */
  reserve?: number;
}

/** What a block says of a device. */
function blockDevice({ bus, src, name = 0n, product = NO_PRODUCT }: DeviceRecord): BlockDevice {
  return { bus, src, name, activeFrom: 0, ...product };
}

/** What comes after the journal, and is told by it. */
interface Late {
  registry?: Registry;
  counts?: () => readonly BusCounts[];
  newEpoch?: (epoch: string) => void;
}

/** The journal of a boat, on the way of every message. */
export class Recorder {
  /** What is recorded. */
  readonly journal: Journal;
  readonly #late: Late;

  private constructor(journal: Journal, late: Late) {
    this.journal = journal;
    this.#late = late;
  }

  /**
   * Opens the journal, which goes on where the last recording ended.
   *
   * @throws {FileError} the directory is used by another process, or cannot be written
   */
  static async open(options: RecordingOptions, surroundings: {
    buses: readonly string[];
    clock: Clock;
    log: Logger;
  }): Promise<Recorder> {
    const late: Late = {};
    const journal = await Journal.open({
      ...options,
      ...surroundings,
      devices: () => Array.from(late.registry ?? [], blockDevice).filter(({ name }) => name !== 0n),
      productOf: (bus, src) => late.registry?.get(bus, src)?.product,
      counts: () => late.counts?.() ?? [],
      onNewEpoch: (epoch) => late.newEpoch?.(epoch.toHex()),
    });
    return new Recorder(journal, late);
  }

  /** Each block says from now on what the buses have counted. */
  countWith(counts: () => readonly BusCounts[]): void {
    this.#late.counts = counts;
  }

  /** Where messages go from now on: each gets its number, is published, and recorded. In a new epoch all begin again. */
  into(broker: Broker, others: { newEpoch: (epoch: string, formerHead: number) => void }): (message: Message) => void {
    const { journal } = this;
    this.#late.registry = broker.registry;
    this.#late.newEpoch = (epoch) => {
      const { head } = broker;
      broker.startOver();
      others.newEpoch(epoch, head);
    };
    return (message) => {
      const seq = journal.next();
      broker.publish(message, seq);
      journal.append(seq, message);
    };
  }
}
