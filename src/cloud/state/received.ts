import { type LostRange, type Range, Ranges, RangesFullError } from "../../replication/mod.ts";

/** Most ranges between holes that are kept of one boat: each costs 16 bytes here and some 40 in its file. */
export const MAX_HELD_RANGES = 16_384;
/** Most ranges that are kept of what a boat says it never used. */
export const MAX_VOID_RANGES = 16_384;
/** Most ranges that are kept of what a boat says it lost. */
export const MAX_LOST_RANGES = 4096;
/** Ranges of a boat's words that are left out before the rest is not looked at: each may stand for thousands of holes. */
const MAX_LEFT_OUT = 16_384;

/** What is known of one boat's numbers after a restart: only what is on disk is still there. */
export interface ReceivedRecord {
  /** Numbers of frames that are on disk. */
  durable: readonly Range[];
  /** Numbers that never had a frame, so the boat says. */
  void: readonly Range[];
  /** Frames that the boat cannot send any more, so it says. */
  lost: readonly LostRange[];
}

/** Limits of a {@linkcode Received}. */
export interface ReceivedLimits {
  /** Default {@linkcode MAX_HELD_RANGES}. */
  maxHeldRanges?: number;
  /** Default {@linkcode MAX_VOID_RANGES}. */
  maxVoidRanges?: number;
  /** Default {@linkcode MAX_LOST_RANGES}. */
  maxLostRanges?: number;
}

/**
 * What a block brings.
 *
 * - `new`: none of its frames is here
 * - `overlapping`: some are; `missing` are those that are not
 * - `duplicate`: all are, and it need not be stored
 * - `no-room`: it would make one range more than are kept; what fills the holes that are there makes room
 */
export type BlockDecision =
  | { kind: "new" }
  | { kind: "overlapping"; missing: Range[] }
  | { kind: "duplicate" }
  | { kind: "no-room" };

/**
 * Numbers whose frames are not here, for one reason.
 *
 * - `hole`: they are asked for
 * - `void`: the boat says that it never used them
 * - `lost`: the boat says that it cannot send them, and why
 */
export type AbsentNumbers = Range & ({ kind: "hole" } | { kind: "void" } | { kind: "lost"; reason: string });

/**
 * What the cloud holds of one boat's frames, in one run of numbers. Numbers begin at 1; ends of ranges are exclusive.
 *
 * A number is *held* when its frame was received, or when the boat says that there is none to be had (void or lost). What a
 * boat says never takes a frame away, and a frame that comes after all makes the word void. Received frames become
 * *durable* when they are safe on disk; only those are acknowledged.
 */
export class Received {
  readonly #received = new Ranges();
  readonly #durable = new Ranges();
  /** Declared, less what was held then; frames that came later are subtracted when asked. */
  readonly #void: Ranges = new Ranges();
  #lost: LostRange[] = [];
  /** Received, void or lost. */
  #held = new Ranges();
  /** Durable, void or lost. */
  readonly #safe = new Ranges();
  readonly #maxHeldRanges: number;
  readonly #maxVoidRanges: number;
  readonly #maxLostRanges: number;
  #liveThrough = 0;

  /** Begins with nothing, or with what is known from before. What is above a limit of the boat's words is left out. */
  constructor(record: ReceivedRecord = { durable: [], void: [], lost: [] }, limits: ReceivedLimits = {}) {
    this.#maxHeldRanges = limits.maxHeldRanges ?? MAX_HELD_RANGES;
    this.#maxVoidRanges = limits.maxVoidRanges ?? MAX_VOID_RANGES;
    this.#maxLostRanges = limits.maxLostRanges ?? MAX_LOST_RANGES;
    for (const { start, end } of record.durable) {
      for (const set of [this.#received, this.#durable, this.#held, this.#safe]) set.add(Math.max(1, start), end);
    }
    this.declare({ ...record, end: Infinity });
  }

  /** Everything up to and with this number is held; 0 while 1 is missing. */
  get cursor(): number {
    return this.#held.contiguousThrough();
  }

  /** What may be acknowledged: everything up to and with this number is safe on disk, void or lost. */
  get ack(): number {
    return this.#safe.contiguousThrough();
  }

  /** Highest number whose frame came live since this was made; 0: none. */
  get liveThrough(): number {
    return this.#liveThrough;
  }

  /** Highest number whose frame was received; 0: none. */
  get last(): number {
    return this.#received.last ?? 0;
  }

  /** Count of the frames that were received. */
  get count(): number {
    return this.#received.count;
  }

  /** What the boat cannot send any more, and why, less what came after all. */
  get lost(): LostRange[] {
    return this.#lost.flatMap(({ start, end, reason }) =>
      this.#received.holes(end, start).map((range) => ({ ...range, reason }))
    );
  }

  /** What the boat never used, less what came after all. */
  get void(): Range[] {
    return [...this.#void.subtract(this.#received)];
  }

  /** Whether the frame of this number was received. */
  has(seq: number): boolean {
    return this.#received.has(seq);
  }

  /** Whether the frames of all these numbers were received. */
  hasAll({ start, end }: Range): boolean {
    return this.#received.covers(start, end);
  }

  /** Highest number whose frame was received, of those up to and with `seq`; 0: none. */
  lastThrough(seq: number): number {
    if (this.#received.has(seq)) return seq;
    const hole = this.#received.holes(seq + 1).at(-1);
    return hole === undefined ? 0 : Math.max(0, hole.start - 1);
  }

  /** Highest number whose frame was received and that is not among these; 0: none. */
  lastWithout(seqs: Ranges): number {
    return this.#received.subtract(seqs).last ?? 0;
  }

  /** What is to be asked for: all that is not held from 1 up to but without `end`. */
  holes(end: number): Range[] {
    return this.#held.holes(end);
  }

  /** The first numbers without a frame, from one number to another, both included; undefined: all are here. */
  absentFrom(fromSeq: number, throughSeq: number): AbsentNumbers | undefined {
    const hole = this.#received.firstHole(throughSeq + 1, fromSeq);
    if (!hole) return undefined;
    const { start } = hole;
    if (this.#void.has(start)) {
      return { kind: "void", start, end: Math.min(hole.end, this.#void.contiguousThrough(start) + 1) };
    }
    const end = this.#void.firstHole(hole.end, start)?.end ?? hole.end;
    const lost = this.#lost.find((range) => range.end > start);
    if (!lost || lost.start >= end) return { kind: "hole", start, end };
    if (lost.start > start) return { kind: "hole", start, end: lost.start };
    return { kind: "lost", start, end: Math.min(end, lost.end), reason: lost.reason };
  }

  /**
   * A live frame came.
   *
   * @returns false when it was here before: it is not to be stored again
   * @throws {RangesFullError} it would make one range more than are kept; nothing was changed
   * @throws {RangeError} 0, or 2^53 - 1 and above: no frame has such a number; nothing was changed
   */
  addLive(seq: number): boolean {
    const isNew = this.#add({ start: seq, end: seq + 1 }) > 0;
    if (seq > this.#liveThrough) this.#liveThrough = seq;
    return isNew;
  }

  /** What a block with these numbers brings. Nothing is changed. */
  decide(seqs: Range): BlockDecision {
    const missing = this.#received.holes(seqs.end, seqs.start);
    const [first] = missing;
    if (first === undefined) return { kind: "duplicate" };
    if (!this.#hasRoomFor(seqs)) return { kind: "no-room" };
    return first.start === seqs.start && first.end === seqs.end ? { kind: "new" } : { kind: "overlapping", missing };
  }

  /**
   * A block is being stored.
   *
   * @returns the numbers that it brings
   * @throws {RangesFullError} as {@linkcode Received.addLive}
   */
  addBlock(seqs: Range): Range[] {
    const missing = this.#received.holes(seqs.end, seqs.start);
    this.#add(seqs);
    return missing;
  }

  /** What was received of these numbers is on disk, and survives a power cut. */
  markDurable({ start, end }: Range): void {
    for (const range of this.#receivedOf({ start, end })) {
      this.#durable.add(range.start, range.end);
      this.#safe.add(range.start, range.end);
    }
  }

  /** What was received of these numbers could not be stored: it is missing again, but for what is durable. */
  forget({ start, end }: Range): void {
    for (const range of this.#durable.holes(end, start)) this.#received.remove(range.start, range.end);
    this.#held = this.#received.union(this.#safe);
  }

  /**
   * Frames of these numbers are on no disk any more: they are missing again, unless the boat has said that there are none.
   *
   * @returns how many were here
   */
  vanish({ start, end }: Range): number {
    const gone = this.#received.remove(start, end);
    this.#durable.remove(start, end);
    this.#safe.remove(start, end);
    for (const word of [...this.#void, ...this.#lost]) {
      const [from, to] = [Math.max(start, word.start), Math.min(end, word.end)];
      if (from < to) this.#safe.add(from, to);
    }
    this.#held = this.#received.union(this.#safe);
    return gone;
  }

  /**
   * The boat says what it never used, and what it had and cannot send any more. What was said before stays.
   *
   * @param options.end the boat's words count for numbers below this one only: its head plus 1
   * @returns how many ranges were left out because there are too many; they stay holes. Above some thousands it is not
   * looked how many more there are
   */
  declare(
    { void: never, lost, end }: { void: readonly Range[]; lost: readonly LostRange[]; end: number },
  ): number {
    let leftOut = 0;
    for (const range of this.#notHeld(never, end)) {
      if (leftOut >= MAX_LEFT_OUT) break;
      const hasRoom = this.#void.size < this.#maxVoidRanges && this.#hasRoomFor(range);
      if (!hasRoom) leftOut++;
      else {
        this.#void.add(range.start, range.end);
        this.#hold(range);
      }
    }
    const byEnd = new Map(this.#lost.map((range) => [range.end, range]));
    for (const { reason, ...said } of lost) {
      if (leftOut >= MAX_LEFT_OUT) break;
      for (const range of this.#notHeld([said], end)) {
        if (!this.#hasRoomFor(range) || !this.#addLost({ ...range, reason }, byEnd)) leftOut++;
        else this.#hold(range);
      }
    }
    this.#lost.sort((a, b) => a.start - b.start);
    return leftOut;
  }

  /** What is to be written down. */
  record(): ReceivedRecord {
    return { durable: [...this.#durable], void: this.void, lost: this.lost };
  }

  /** Gives how many numbers are new. */
  #add({ start, end }: Range): number {
    if (start < 1) throw new RangeError(`no frame has number ${start}`);
    if (!this.#hasRoomFor({ start, end })) {
      throw new RangesFullError(`no room for more than ${this.#maxHeldRanges} ranges`);
    }
    const added = this.#received.add(start, end);
    this.#held.add(start, end);
    return added;
  }

  /** Whether the range touches one that is held, or one more may be kept. */
  #hasRoomFor({ start, end }: Range): boolean {
    if (this.#held.size < this.#maxHeldRanges) return true;
    const [gap] = this.#held.holes(end + 1, start - 1);
    return gap === undefined || gap.start >= start || gap.end <= end;
  }

  #receivedOf({ start, end }: Range): Range[] {
    const missing = new Ranges(this.#received.holes(end, start));
    return missing.holes(end, start);
  }

  /** The parts of ranges, from 1 and below `end`, that are not held. */
  *#notHeld(ranges: readonly Range[], end: number): Generator<Range> {
    for (const range of ranges) yield* this.#held.holes(Math.min(range.end, end), Math.max(1, range.start));
  }

  /** Notes a range; one that goes on where another ends, for the same reason, makes that one longer. */
  #addLost(range: LostRange, byEnd: Map<number, LostRange>): boolean {
    const before = byEnd.get(range.start);
    const isLonger = before !== undefined && before.reason === range.reason;
    if (!isLonger && this.#lost.length >= this.#maxLostRanges) return false;
    if (isLonger) {
      byEnd.delete(before.end);
      before.end = range.end;
    } else this.#lost.push(range);
    byEnd.set(range.end, isLonger ? before : range);
    return true;
  }

  #hold({ start, end }: Range): void {
    this.#held.add(start, end);
    this.#safe.add(start, end);
  }
}
