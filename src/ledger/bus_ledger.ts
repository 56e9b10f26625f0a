import type { BusCounts } from "../journal/mod.ts";

/**
 * Why the traffic of an interval is unknown: the program was `stopped`, or had `crashed` (from its last sync on); the files were
 * `pruned`; the journal has `no_counters`, as those of older software; or it begins later, or ends before.
 */
export type UnknownReason = "stopped" | "crashed" | "pruned" | "no_counters" | "before_journal" | "after_journal";

/** A time of which it is not known what came. */
export interface Unknown {
  fromUs: number;
  toUs: number;
  reason: UnknownReason;
  /** Messages of this time that are recorded all the same: those after the last counters. */
  recorded: number;
  acknowledged: number;
  stored: number;
  /** Frames that the interface has counted meanwhile; absent if it counts none, or began again. */
  interfaceFrames?: number;
}

/** What became of the frames and messages of one bus. */
export interface LedgerOfBus {
  bus: string;
  frames: {
    /** Counted by the kernel or the gateway, those that it dropped included. */
    received: number;
    dropped: number;
    /** By reason, in frames. */
    incomplete: Record<string, number>;
    /** In messages that have a number. */
    inMessages: number;
    /** Those that wait for the rest of their message at the end of a time, less those that did at its beginning. */
    waiting: number;
  };
  messages: {
    numbered: number;
    recorded: number;
    /** Undefined: nothing is replicated. */
    acknowledged: number | undefined;
    stored: number | undefined;
    /** Not recorded, by reason. */
    missing: Record<string, number>;
  };
  unknown: Unknown[];
  /** By how much the equations do not hold; both are 0 in a ledger that closes. */
  off: { frames: number; messages: number };
}

/** What is added to the ledger of a bus. */
interface Span {
  before: BusCounts;
  after: BusCounts;
  recorded: number;
  acknowledged: number;
  stored: number;
  missing: Readonly<Record<string, number>>;
}

/** Adds up one bus. */
export class BusLedger {
  readonly #isReplicated: boolean;
  readonly #frames: LedgerOfBus["frames"] = { received: 0, dropped: 0, incomplete: {}, inMessages: 0, waiting: 0 };
  readonly #messages = { numbered: 0, recorded: 0, acknowledged: 0, stored: 0 };
  readonly #missing: Record<string, number> = {};
  readonly #unknown: Unknown[] = [];
  readonly #bus: string;

  constructor(bus: string, { isReplicated }: { isReplicated: boolean }) {
    this.#bus = bus;
    this.#isReplicated = isReplicated;
  }

  /** Adds the difference of the counters of two moments, and the messages between them. */
  addSpan({ before, after, recorded, acknowledged, stored, missing }: Span): void {
    const [frames, messages] = [this.#frames, this.#messages];
    const dropped = after.dropped - before.dropped;
    frames.received += after.received - before.received + dropped;
    frames.dropped += dropped;
    messages.recorded += recorded;
    messages.acknowledged += acknowledged;
    messages.stored += stored;
    addAll(this.#missing, missing);
    const [from, to] = [before.fates, after.fates];
    if (!from || !to) return;
    frames.inMessages += to.inMessages - from.inMessages;
    frames.waiting += to.waiting - from.waiting;
    messages.numbered += to.numbered - from.numbered;
    for (const [reason, count] of Object.entries(to.incomplete)) {
      addAll(frames.incomplete, { [reason]: count - (from.incomplete[reason] ?? 0) });
    }
  }

  /** Adds a time of which it is not known what came. */
  addUnknown(unknown: Unknown): void {
    this.#unknown.push(unknown);
  }

  /** The sums. */
  report(): LedgerOfBus {
    const [frames, missing] = [this.#frames, this.#missing];
    const { numbered, recorded, acknowledged, stored } = this.#messages;
    const { received, dropped, incomplete, inMessages, waiting } = frames;
    return {
      bus: this.#bus,
      frames,
      messages: {
        numbered,
        recorded,
        acknowledged: this.#isReplicated ? acknowledged : undefined,
        stored: this.#isReplicated ? stored : undefined,
        missing,
      },
      unknown: this.#unknown,
      off: {
        frames: received - dropped - sumOf(incomplete) - inMessages - waiting,
        messages: numbered - recorded - sumOf(missing),
      },
    };
  }
}

function addAll(sums: Record<string, number>, counts: Readonly<Record<string, number>>): void {
  for (const [reason, count] of Object.entries(counts)) {
    if (count !== 0) sums[reason] = (sums[reason] ?? 0) + count;
  }
}

/** The sum of all reasons. */
export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
