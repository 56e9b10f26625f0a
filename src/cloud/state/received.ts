import { EPOCH_BYTES, type LostRange, type Range, Ranges, RangesFullError } from "../../replication/mod.ts";

/** Maximum held ranges of one boat: each takes 16 bytes in memory and some 40 in its file. */
export const MAX_HELD_RANGES = 16_384;
/** Maximum void ranges of one boat. */
export const MAX_VOID_RANGES = 16_384;
/** Maximum lost ranges of one boat. */
export const MAX_LOST_RANGES = 4096;
/** Ignored ranges of a declaration after which the rest is not read: each may take time for thousands of holes. */
const MAX_IGNORED = 16_384;

/** Count of the numbers in ranges that do not overlap. */
export function countNumbers(ranges: Iterable<Range>): number {
  let count = 0;
  for (const { start, end } of ranges) count += end - start;
  return count;
}

/** The saved numbers of one boat. */
export interface ReceivedRecord {
  /** Numbers of frames on disk. */
  durable: readonly Range[];
  /** Numbers that the boat has declared as never assigned. */
  void: readonly Range[];
  /** Frames that the boat has declared as lost. */
  lost: readonly LostRange[];
}

const DEFAULT_LIMITS = {
  maxHeldRanges: MAX_HELD_RANGES,
  maxVoidRanges: MAX_VOID_RANGES,
  maxLostRanges: MAX_LOST_RANGES,
};

/** Limits of a {@linkcode Received}; those left out have their defaults. */
export type ReceivedLimits = Partial<typeof DEFAULT_LIMITS>;

/**
 * How a block relates to the received frames.
 *
 * - `new`: none of its frames was received
 * - `overlapping`: some were; `missing` are the others
 * - `duplicate`: all were, so that it need not be stored
 * - `no-room`: it would exceed the maximum of held ranges; blocks that fill holes still fit
 */
export type BlockDecision =
  | { kind: "new" }
  | { kind: "overlapping"; missing: Range[] }
  | { kind: "duplicate" }
  | { kind: "no-room" };

/**
 * Numbers whose frames were not received, for one reason.
 *
 * - `hole`: the cloud requests them
 * - `void`: the boat has declared that it never assigned them
 * - `lost`: the boat has declared that it cannot send them
 */
export type AbsentNumbers = Range & ({ kind: "hole" } | { kind: "void" } | { kind: "lost"; reason: string });

/**
 * The frames of one boat in one epoch, by number. Numbers begin at 1; ends of ranges are exclusive.
 *
 * A number is *held* if its frame was received, or if the boat has declared it as void or lost. A received frame overrides a
 * declaration. Received frames become *durable* when they are synced to disk; only those are acknowledged.
 */
export class Received {
  readonly #received = new Ranges();
  readonly #durable = new Ranges();
  /** Declared void and not held at that time; frames received later are subtracted when read. */
  readonly #void: Ranges = new Ranges();
  #lost: LostRange[] = [];
  /** Received, void or lost. */
  #held = new Ranges();
  /** Durable, void or lost. */
  readonly #safe = new Ranges();
  readonly #limits: Required<ReceivedLimits>;
  #liveThrough = 0;

  /** @param record the saved numbers; default none. Declarations beyond a limit are ignored */
  constructor(record: ReceivedRecord = { durable: [], void: [], lost: [] }, limits: ReceivedLimits = {}) {
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    for (const { start, end } of record.durable) {
      for (const set of [this.#received, this.#durable, this.#held, this.#safe]) set.add(Math.max(1, start), end);
    }
    this.declare({ ...record, end: Infinity });
  }

  /** Everything up to and including this number is held; 0 while 1 is missing. */
  get cursor(): number {
    return this.#held.contiguousThrough();
  }

  /** The number to acknowledge: everything up to and including it is durable, void or lost. */
  get ack(): number {
    return this.#safe.contiguousThrough();
  }

  /** Highest number received live since construction; 0: none. */
  get liveThrough(): number {
    return this.#liveThrough;
  }

  /** Highest received number; 0: none. */
  get last(): number {
    return this.#received.last ?? 0;
  }

  /** Count of received frames. */
  get count(): number {
    return this.#received.count;
  }

  /** Count of received frames that are synced to disk. */
  get durableCount(): number {
    return this.#durable.count;
  }

  /** Ranges declared as lost, without frames received later. */
  get lost(): LostRange[] {
    return this.#lost.flatMap(({ start, end, reason }) =>
      this.#received.holes(end, start).map((range) => ({ ...range, reason }))
    );
  }

  /** Ranges declared as void, without frames received later. */
  get void(): Range[] {
    return [...this.#void.subtract(this.#received)];
  }

  /** True if the frame with this number was received. */
  has(seq: number): boolean {
    return this.#received.has(seq);
  }

  /** True if all frames of the range were received. */
  hasAll({ start, end }: Range): boolean {
    return this.#received.covers(start, end);
  }

  /** Highest received number up to and including `seq`; 0: none. */
  lastThrough(seq: number): number {
    if (this.#received.has(seq)) return seq;
    const hole = this.#received.holes(seq + 1).at(-1);
    return hole === undefined ? 0 : Math.max(0, hole.start - 1);
  }

  /** Highest received number outside `seqs`; 0: none. */
  lastWithout(seqs: Ranges): number {
    return this.#received.subtract(seqs).last ?? 0;
  }

  /** Ranges to request: all numbers from 1 to `end`, exclusive, that are not held. */
  holes(end: number): Range[] {
    return this.#held.holes(end);
  }

  /** The first numbers without a frame from `fromSeq` to `throughSeq`, inclusive; undefined: all were received. */
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
   * Adds a live frame.
   *
   * @returns false if it was received before and must not be stored again
   * @throws {RangesFullError} too many held ranges; nothing was changed
   * @throws {RangeError} the number is 0, or 2^53 - 1 and above; nothing was changed
   */
  addLive(seq: number): boolean {
    const isNew = this.#add({ start: seq, end: seq + 1 }) > 0;
    if (seq > this.#liveThrough) this.#liveThrough = seq;
    return isNew;
  }

  /** Compares a block with the received frames. Changes nothing. */
  evaluate(seqs: Range): BlockDecision {
    const missing = this.#received.holes(seqs.end, seqs.start);
    const [first] = missing;
    if (first === undefined) return { kind: "duplicate" };
    if (!this.#hasRoomFor(seqs)) return { kind: "no-room" };
    return first.start === seqs.start && first.end === seqs.end ? { kind: "new" } : { kind: "overlapping", missing };
  }

  /**
   * Adds the frames of a block.
   *
   * @returns the numbers that were missing
   * @throws {RangesFullError} as {@linkcode Received.addLive}
   */
  addBlock(seqs: Range): Range[] {
    const missing = this.#received.holes(seqs.end, seqs.start);
    this.#add(seqs);
    return missing;
  }

  /** Marks the received frames of a range as synced to disk. */
  markDurable({ start, end }: Range): void {
    for (const range of this.#receivedOf({ start, end })) {
      this.#durable.add(range.start, range.end);
      this.#safe.add(range.start, range.end);
    }
  }

  /** Marks the frames of a range that are not durable as missing, because they could not be stored. */
  forget({ start, end }: Range): void {
    for (const range of this.#durable.holes(end, start)) this.#received.remove(range.start, range.end);
    this.#held = this.#received.union(this.#safe);
  }

  /**
   * Marks frames that have disappeared from the disk as missing, unless they are declared as void or lost.
   *
   * @returns how many were received
   */
  vanish({ start, end }: Range): number {
    const gone = this.#received.remove(start, end);
    this.#durable.remove(start, end);
    this.#safe.remove(start, end);
    for (const declared of [...this.#void, ...this.#lost]) {
      const [from, to] = [Math.max(start, declared.start), Math.min(end, declared.end)];
      if (from < to) this.#safe.add(from, to);
    }
    this.#held = this.#received.union(this.#safe);
    return gone;
  }

  /**
   * Adds ranges that the boat declares as void or lost. Earlier declarations stay.
   *
   * @param options.end declared numbers must be below it: the boat's head plus 1
   * @returns how many ranges were ignored because of a limit and stay holes; counting stops at {@linkcode MAX_IGNORED}
   */
  declare(
    { void: skipped, lost, end }: { void: readonly Range[]; lost: readonly LostRange[]; end: number },
  ): number {
    let ignored = 0;
    for (const range of this.#notHeld(skipped, end)) {
      if (ignored >= MAX_IGNORED) break;
      const hasRoom = this.#void.size < this.#limits.maxVoidRanges && this.#hasRoomFor(range);
      if (!hasRoom) ignored++;
      else {
        this.#void.add(range.start, range.end);
        this.#hold(range);
      }
    }
    const byEnd = new Map(this.#lost.map((range) => [range.end, range]));
    for (const { reason, ...declared } of lost) {
      if (ignored >= MAX_IGNORED) break;
      for (const range of this.#notHeld([declared], end)) {
        if (!this.#hasRoomFor(range) || !this.#addLost({ ...range, reason }, byEnd)) ignored++;
        else this.#hold(range);
      }
    }
    this.#lost.sort((a, b) => a.start - b.start);
    return ignored;
  }

  /** The numbers to be saved. */
  record(): ReceivedRecord {
    return { durable: [...this.#durable], void: this.void, lost: this.lost };
  }

  /** Returns how many numbers are new. */
  #add({ start, end }: Range): number {
    if (start < 1) throw new RangeError(`no frame has number ${start}`);
    if (!this.#hasRoomFor({ start, end })) {
      throw new RangesFullError(`more than ${this.#limits.maxHeldRanges} ranges`);
    }
    const added = this.#received.add(start, end);
    this.#held.add(start, end);
    return added;
  }

  /** True if the range touches a held one, or the maximum is not reached. */
  #hasRoomFor({ start, end }: Range): boolean {
    if (this.#held.size < this.#limits.maxHeldRanges) return true;
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

  /** Adds a range, or extends one that ends where it starts and has the same reason. */
  #addLost(range: LostRange, byEnd: Map<number, LostRange>): boolean {
    const before = byEnd.get(range.start);
    const isLonger = before !== undefined && before.reason === range.reason;
    if (!isLonger && this.#lost.length >= this.#limits.maxLostRanges) return false;
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

/** The epochs of one boat, each as hex of 16 bytes. Within an epoch no two frames have the same number. */
export interface EpochHistory {
  /** Undefined before the first handshake. */
  current: string | undefined;
  /** Former epochs that the boat has named, newest first. */
  previous: readonly string[];
}

/**
 * How the epoch of a handshake relates to the stored ones.
 *
 * - `same`: the boat continues
 * - `new`: it counts from 1 again, or for the first time
 * - `clone`: another epoch has followed this one already. Two machines have this boat's identity, or an old image was
 *   restored; accepting it would mix their frames
 */
export type EpochVerdict = { kind: "same" } | { kind: "new"; reason: string } | { kind: "clone"; reason: string };

/** Maximum former epochs whose names are kept. */
export const MAX_PREVIOUS_EPOCHS = 64;

/** Suffix of the epochs that the cloud names for boats that name none: `peer`. Journal files contain it. */
const PEER_MARK = new TextEncoder().encode("peer");
const PEER_ENDING = PEER_MARK.toHex();

/** True if the cloud has named this epoch. @param id hex */
export function isPeerEpoch(id: string): boolean {
  return id.endsWith(PEER_ENDING);
}

/**
 * Evaluates the epoch of a handshake.
 *
 * @param boat.epoch 16 bytes; undefined: a peer's boat
 * @param boat.headSeq last number that the boat has assigned
 * @param boat.last highest number received in the current epoch
 */
export function evaluateEpoch(
  { current, previous }: EpochHistory,
  { epoch, headSeq, last, former = [] }: {
    epoch: Uint8Array | undefined;
    headSeq: number;
    last: number;
    former?: readonly string[];
  },
): EpochVerdict {
  if (current === undefined) return { kind: "new", reason: "the boat is here for the first time" };
  const id = epoch?.toHex();
  if (id === undefined) {
    if (!isPeerEpoch(current)) return { kind: "new", reason: "the boat no longer names its epoch" };
    if (headSeq >= last) return { kind: "same" };
    return { kind: "new", reason: `the boat is at ${headSeq}, and was at ${last} before` };
  }
  if (id === current) return { kind: "same" };
  // A node that was late may have stored a former epoch after the one that followed it.
  if (previous.includes(id) && !former.includes(current)) {
    return { kind: "clone", reason: `epoch ${id} was followed by ${current}: two machines may be this boat` };
  }
  return { kind: "new", reason: `the boat counts in epoch ${id}, and in ${current} before` };
}

/**
 * The history after a new epoch has begun.
 *
 * @param options.epoch 16 bytes; undefined: the boat names none
 * @param options.randomBytes used to name the epoch of such a boat
 */
export function beginEpoch(
  { current, previous }: EpochHistory,
  { epoch, randomBytes }: { epoch: Uint8Array | undefined; randomBytes: (count: number) => Uint8Array },
): EpochHistory {
  // No boat can come back with an epoch that the cloud has named.
  const former = current === undefined || isPeerEpoch(current) ? previous : [current, ...previous];
  const id = (epoch ?? new Uint8Array([...randomBytes(EPOCH_BYTES - PEER_MARK.length), ...PEER_MARK])).toHex();
  return { current: id, previous: former.filter((each) => each !== id).slice(0, MAX_PREVIOUS_EPOCHS) };
}
