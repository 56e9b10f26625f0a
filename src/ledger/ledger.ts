import { Ranges } from "../base/mod.ts";
import type { BusCounts } from "../journal/mod.ts";
import type { Account, Cut, Run, Unreadable } from "./account.ts";
import { BusLedger, type LedgerOfBus, type UnknownReason } from "./bus_ledger.ts";

/** What the cloud has of an epoch, as sets of numbers. */
export interface InCloud {
  /** Confirmed by the cloud as synced. */
  acknowledged: Ranges;
  /** In the cloud's store; without a store, on its disk. */
  stored: Ranges;
}

/** What became of every frame and message of a time range. */
export interface Ledger {
  /** The times that the figures are of, microseconds since 1970; undefined: nothing is known. */
  fromUs: number | undefined;
  toUs: number | undefined;
  buses: LedgerOfBus[];
}

/** The end of what is read: the counters now. */
export interface Now extends Cut {
  epochWord: number;
  /** Newest number. */
  head: number;
  /** Names of the buses by index. */
  buses: readonly string[];
  /** False: messages are numbered and not recorded at all. */
  isRecording: boolean;
}

/** Options of a {@linkcode LedgerWalk}. */
export interface LedgerOptions {
  /** Beginning of the range, microseconds since 1970; undefined: everything that is known. */
  fromUs?: number | undefined;
  /** True if the first block is the first of the journal, and does not just precede the range. */
  isFromStart: boolean;
  /** What the cloud has of an epoch, given by its first four bytes; undefined: nothing is replicated. */
  inCloud?: ((epochWord: number) => InCloud) | undefined;
}

const ZERO: BusCounts = {
  received: 0,
  dropped: 0,
  incomplete: {},
  fates: { inMessages: 0, incomplete: {}, waiting: 0, numbered: 0, unrecorded: 0 },
};

/** Messages since the last counters, by the index of the bus. */
interface Counted {
  recorded: number[];
  acknowledged: number[];
  stored: number[];
}

const newCounted = (): Counted => ({ recorded: [], acknowledged: [], stored: [] });

/** Numbers without a message in the journal since the last counters. */
interface Hole {
  numbers: number;
  acknowledged: number;
  stored: number;
  /** Of them, numbers that blocks declare as lost by the disk; others may have been in blocks that are gone. */
  disk: number;
  /** Of them, numbers that were assigned and never reached the journal, by a fault of the server. */
  fault: number;
  /** Why the remaining messages are missing. */
  cause: "pruned" | "damaged" | "not_recorded";
}

const newHole = (): Hole => ({ numbers: 0, acknowledged: 0, stored: 0, disk: 0, fault: 0, cause: "pruned" });

/** What is known of a block's beginning. */
type BlockStart = Pick<Account, "epochWord" | "firstSeq" | "gap">;

/** Adds up the blocks of a journal, in the order of their numbers. Pure. */
export class LedgerWalk {
  readonly #options: LedgerOptions;
  readonly #buses = new Map<string, BusLedger>();
  /** Names of the buses by index, in the newest block and in the last one before it. */
  #names: readonly string[] = [];
  #namesBefore: readonly string[] = [];
  #last: Cut | undefined;
  /** Number that the next block begins with if nothing is missing. */
  #next: { epochWord: number; seq: number; run: string | undefined } | undefined;
  #counted = newCounted();
  #hole = newHole();
  #lacksCounters = false;
  #isFirst = true;
  #fromUs: number | undefined;
  #toUs: number | undefined;

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Time of the newest counters, microseconds since 1970. */
  get lastUs(): number | undefined {
    return this.#last?.timeUs;
  }

  /** Adds a block. @param options.isBeginOnly its messages are beyond the range */
  add(account: Account | Unreadable, { isBeginOnly = false }: { isBeginOnly?: boolean } = {}): void {
    if ("unreadable" in account) {
      if (account.unreadable === "damaged") this.#hole.cause = "damaged";
      return;
    }
    const { epochWord, firstSeq, messages, begin, end } = account;
    this.#names = account.buses;
    this.#findHole(account);
    if (begin) this.#cut(begin, account);
    else this.#noteUncounted(account);
    if (isBeginOnly) return;
    this.#count(account, { from: 0, to: end?.messages ?? messages });
    if (end) {
      this.#cut(end, account);
      this.#count(account, { from: end.messages, to: messages });
    }
    this.#next = { epochWord, seq: firstSeq + messages, run: begin?.run.id };
    this.#namesBefore = this.#names;
    this.#widen(account.firstUs);
  }

  /** Adds the counters now. */
  now({ epochWord, head, run, buses, isRecording, ...cut }: Now): void {
    this.#names = buses;
    const end = { epochWord, firstSeq: head + 1, gap: undefined, begin: { ...cut, run } };
    this.#findHole(end);
    if (!isRecording) this.#hole.cause = "not_recorded";
    // The oldest files go first: if there is a block of this run, the numbers after it were never in a file.
    else if (this.#next?.run === run.id && this.#hole.cause !== "damaged") this.#hole.fault = this.#hole.numbers;
    this.#cut(end.begin, end);
  }

  /** The ledger. @param toUs end of what was read, if later counters are not known */
  finish(toUs?: number): Ledger {
    const recorded = this.#counted.recorded.some((count) => count > 0);
    const isBeyond = toUs !== undefined && toUs > (this.#last?.timeUs ?? -Infinity);
    if (recorded || (isBeyond && this.#last)) {
      this.#unknown({ toUs: Math.max(toUs ?? 0, this.#toUs ?? 0), reason: recorded ? "no_counters" : "after_journal" });
    }
    return { fromUs: this.#fromUs, toUs: this.#toUs, buses: [...this.#buses.values()].map((bus) => bus.report()) };
  }

  #bus(name: string): BusLedger {
    let bus = this.#buses.get(name);
    if (!bus) this.#buses.set(name, bus = new BusLedger(name, { isReplicated: this.#options.inCloud !== undefined }));
    return bus;
  }

  #widen(timeUs: number): void {
    this.#fromUs = Math.min(this.#fromUs ?? Infinity, timeUs);
    this.#toUs = Math.max(this.#toUs ?? -Infinity, timeUs);
  }

  /** Finds the numbers of its run that are missing before a block. */
  #findHole({ epochWord, firstSeq, gap, begin }: Pick<Account, "epochWord" | "firstSeq" | "gap" | "begin">): void {
    const next = this.#next;
    const continues = next?.epochWord === epochWord && (begin === undefined || next.run === begin.run.id);
    const expected = continues ? next.seq : begin?.run.firstSeq;
    const isKnown = continues || !this.#isFirst || this.#options.isFromStart;
    if (expected === undefined || !isKnown || firstSeq <= expected) return;
    const hole = this.#hole;
    hole.numbers += firstSeq - expected;
    const declared = firstSeq - Math.max(gap?.firstMissing ?? firstSeq, expected);
    if (gap?.reason === "source") hole.fault += declared;
    if (gap?.reason === "disk") hole.disk += declared;
    const cloud = this.#options.inCloud?.(epochWord);
    const range = new Ranges([{ start: expected, end: firstSeq }]);
    hole.acknowledged += cloud?.acknowledged.intersect(range).count ?? 0;
    hole.stored += cloud?.stored.intersect(range).count ?? 0;
  }

  /** Counts messages of a block, by their indexes in it. */
  #count({ epochWord, firstSeq, busOf }: Account, { from, to }: { from: number; to: number }): void {
    const { recorded, acknowledged, stored } = this.#counted;
    const cloud = this.#options.inCloud?.(epochWord);
    const all = new Ranges(to > from ? [{ start: firstSeq + from, end: firstSeq + to }] : []);
    const sets: [number[], Ranges | undefined][] = [
      [recorded, all],
      [acknowledged, cloud?.acknowledged.intersect(all)],
      [stored, cloud?.stored.intersect(all)],
    ];
    for (const [counts, ranges = []] of sets) {
      for (const { start, end } of ranges) {
        if (!busOf) counts[0] = (counts[0] ?? 0) + end - start;
        for (let i = start - firstSeq; busOf && i < end - firstSeq; i++) {
          const bus = busOf[i] ?? 0;
          counts[bus] = (counts[bus] ?? 0) + 1;
        }
      }
    }
  }

  /** A block of older software has no counters: what came since the last ones is unknown. */
  #noteUncounted({ firstUs }: Account): void {
    this.#lacksCounters = true;
    this.#isFirst = false;
    this.#widen(firstUs);
  }

  #cut(cut: Cut, at: BlockStart): void {
    const last = this.#last;
    if (last?.run.id === cut.run.id) this.#span(last.counts, cut.counts);
    else this.#beginRun(cut, at);
    this.#last = cut;
    this.#isFirst = false;
    this.#lacksCounters = false;
    this.#counted = newCounted();
    this.#hole = newHole();
    this.#widen(cut.timeUs);
  }

  #beginRun({ run, counts, timeUs }: Cut, at: BlockStart): void {
    const { fromUs = Infinity, isFromStart } = this.#options;
    // The range begins within the run: what came before its first counters is not asked for.
    if (this.#last === undefined && !isFromStart && run.startUs < fromUs) {
      if (!this.#isFirst) this.#unknown({ toUs: timeUs, reason: "no_counters" });
      return;
    }
    if (!this.#isFirst) this.#unknown({ toUs: run.startUs, reason: this.#reasonBefore(run, at), counts });
    else if (fromUs < run.startUs) this.#unknown({ fromUs, toUs: run.startUs, reason: "before_journal", counts });
    this.#widen(run.startUs);
    // More messages than numbers: the run began in a former epoch, and its files from then are gone.
    const numbered = counts.reduce((sum, { fates }) => sum + (fates?.numbered ?? 0), 0);
    if (numbered > at.firstSeq - run.firstSeq) {
      return this.#unknown({ fromUs: run.startUs, toUs: timeUs, reason: "pruned" });
    }
    this.#span(counts.map(() => ZERO), counts);
  }

  /** Why it is not known what came before a run. */
  #reasonBefore(run: Run, { epochWord, firstSeq, gap }: BlockStart): UnknownReason {
    const next = this.#next;
    if (this.#lacksCounters) return "no_counters";
    if (next?.epochWord !== epochWord) return this.#counted.recorded.some((count) => count > 0) ? "crashed" : "stopped";
    if (run.firstSeq <= next.seq) return "stopped";
    // The last messages before a stop were not recorded.
    if (gap?.reason === "disk" && gap.firstMissing < run.firstSeq) {
      return gap.firstMissing === next.seq ? "stopped" : "pruned";
    }
    // Else only a start after a crash skips numbers; the first block after it names them.
    const isFirstOfRun = firstSeq === run.firstSeq || gap?.reason === "disk";
    const isSkipped = gap?.reason !== "restart" || gap.firstMissing === next.seq;
    return isFirstOfRun && isSkipped ? "crashed" : "pruned";
  }

  #unknown(
    { fromUs = this.#last?.timeUs ?? this.#fromUs ?? 0, toUs, reason, counts }: {
      fromUs?: number;
      toUs: number;
      reason: UnknownReason;
      counts?: readonly BusCounts[];
    },
  ): void {
    this.#widen(fromUs);
    this.#widen(toUs);
    const { recorded, acknowledged, stored } = this.#counted;
    for (const name of new Set([...this.#namesBefore, ...this.#names])) {
      const index = this.#namesBefore.indexOf(name);
      const before = this.#last?.counts[index]?.fates?.interface;
      const after = counts?.[this.#names.indexOf(name)]?.fates?.interface;
      const isSame = before && after && before.id === after.id && after.atStart >= before.received;
      this.#bus(name).addUnknown({
        ...{ fromUs, toUs, reason },
        recorded: recorded[index] ?? 0,
        acknowledged: acknowledged[index] ?? 0,
        stored: stored[index] ?? 0,
        ...(isSame && { interfaceFrames: after.atStart - before.received }),
      });
    }
    this.#counted = newCounted();
  }

  /** Adds what came between two moments of a run. */
  #span(from: readonly BusCounts[], to: readonly BusCounts[]): void {
    const hole = this.#hole;
    const changes = to.map((after, index) => {
      const before = from[index] ?? ZERO;
      const { numbered = 0, unrecorded = 0 } = after.fates ?? {};
      const disk = unrecorded - (before.fates?.unrecorded ?? 0);
      const recorded = this.#counted.recorded[index] ?? 0;
      return { before, after, recorded, disk, rest: numbered - (before.fates?.numbered ?? 0) - recorded - disk };
    });
    const sum = (key: "disk" | "rest") => changes.reduce((total, change) => total + change[key], 0);
    // What the journal declares as lost and has not counted stays unexplained.
    // Those of a former epoch that the journal has counted are in no hole of this one.
    const rest = Math.max(0, hole.numbers - Math.max(sum("disk"), hole.disk));
    const isAlone = changes.length === 1;
    // Which bus the missing numbers belong to is known only if all are explained.
    const isExplained = isAlone || sum("rest") === rest;
    for (const [index, change] of changes.entries()) {
      const missing = isAlone ? rest : isExplained ? change.rest : 0;
      const fault = isAlone ? Math.min(rest, hole.fault) : hole.fault >= rest ? missing : 0;
      const share = (held: number) =>
        isAlone ? held : held > 0 && held === hole.numbers && isExplained ? missing + change.disk : 0;
      this.#bus(this.#names[index] ?? "").addSpan({
        ...change,
        acknowledged: (this.#counted.acknowledged[index] ?? 0) + share(hole.acknowledged),
        stored: (this.#counted.stored[index] ?? 0) + share(hole.stored),
        missing: { disk: change.disk, fault, [hole.cause]: missing - fault },
      });
    }
  }
}
