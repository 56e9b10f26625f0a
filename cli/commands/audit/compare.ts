import { Ranges } from "@vessel/gateway/base";
import { type InstanceState, parseState, STATE_FILE } from "@vessel/gateway/cloud";
import { epochWordOf } from "@vessel/gateway/journal";
import { epochText } from "../inspect/file.ts";
import { ExpectedFrames, type ExpectedReport } from "./expected.ts";
import { isSame, MergedFrames } from "./frames.ts";
import { Numbers } from "./numbers.ts";
import { findParts, type Part, type Parts } from "./parts.ts";

/** Epoch of files that name none. */
const NO_EPOCH = "00000000";

/** The two sides to compare, each a directory, or blocks that were found elsewhere. */
export interface AuditOptions {
  /** Journal directory of the boat. */
  boat: string | Parts;
  /** The boat's directory at the cloud. */
  cloud: string | Parts;
  /** Only this epoch: its first 8 to 32 hexadecimal digits. */
  epoch?: string | undefined;
  /** File of the frames that were sent on the bus. */
  truth?: string | undefined;
}

/** Result for one epoch. */
export interface EpochReport {
  /** 32 hexadecimal digits, or the first eight if no block names the whole epoch. */
  epoch: string;
  /** Frames that both hold, identical byte for byte. */
  same: number;
  /** Held by the boat, not by the cloud, without an explanation. */
  missing: Numbers;
  /** Missing frames that the cloud's state records as holes. */
  holes: number;
  /** Held by the cloud, not by the boat, without an explanation. */
  extra: Numbers;
  /** Content differs from the boat's, or two copies differ. */
  different: Numbers;
  /** Held by the cloud and lost by the boat: its journal declares a gap, or ends before. */
  recovered: Numbers;
  /** Held by the cloud, and older than the boat's journal. */
  pruned: Numbers;
  /** Not held by the cloud, with a reason in its state. */
  lost: Numbers;
  /** Durable according to the cloud's state, but not in its files. */
  claimed: Numbers;
}

/** Result of an audit. */
export interface AuditReport {
  epochs: EpochReport[];
  /** Messages about what could not be read. */
  damage: { boat: string[]; cloud: string[] };
  truth: ExpectedReport | undefined;
  /** Nothing is missing, extra or different, and the expected frames, if given, are all there. */
  isGood: boolean;
}

/** Compares a boat's journal with the cloud's copy, frame by frame. Changes nothing. */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const partsOf = (side: string | Parts) => typeof side === "string" ? findParts(side) : side;
  const [boat, cloud] = await Promise.all([partsOf(options.boat), partsOf(options.cloud)]);
  const state = typeof options.cloud === "string" ? await readState(options.cloud) : undefined;
  const expected = options.truth === undefined ? undefined : await ExpectedFrames.read(options.truth);
  const report: AuditReport = {
    epochs: [],
    damage: { boat: boat.damage, cloud: cloud.damage },
    truth: undefined,
    isGood: true,
  };
  const wanted = options.epoch === undefined ? undefined : wordOf(options.epoch);
  for (const word of wordsInOrder([...boat.parts, ...cloud.parts])) {
    if (wanted !== undefined && word !== wanted) continue;
    const ofWord = (part: Part) => part.epochWord === word;
    using ofBoat = new MergedFrames(boat.parts.filter(ofWord), boat);
    using ofCloud = new MergedFrames(cloud.parts.filter(ofWord), cloud);
    const isCurrent = state?.epochs.current !== undefined && wordOf(state.epochs.current) === word;
    const comparison = new Comparison({ boat: ofBoat, cloud: ofCloud, state: isCurrent ? state : undefined, expected });
    await comparison.run();
    report.epochs.push({ epoch: ofBoat.epoch ?? ofCloud.epoch ?? epochText(word) ?? NO_EPOCH, ...comparison.report() });
    report.damage.boat.push(...ofBoat.damage);
    report.damage.cloud.push(...ofCloud.damage);
  }
  report.truth = expected?.report();
  report.isGood = isGood(report);
  return report;
}

function isGood({ epochs, truth }: AuditReport): boolean {
  const isTrue = truth === undefined || truth.doubled + truth.disordered + truth.strange === 0;
  return isTrue && epochs.every(({ missing, extra, different }) => missing.count + extra.count + different.count === 0);
}

/** Merges the two sides of one epoch in the order of sequence numbers. */
class Comparison {
  readonly #boat: MergedFrames;
  readonly #cloud: MergedFrames;
  readonly #state: InstanceState | undefined;
  readonly #expected: ExpectedFrames | undefined;
  readonly #lost: Ranges;
  readonly #known: Ranges;
  readonly #held = new Ranges();
  readonly #report = {
    ...{ same: 0, missing: new Numbers(), holes: 0, extra: new Numbers(), different: new Numbers() },
    ...{ recovered: new Numbers(), pruned: new Numbers(), lost: new Numbers(), claimed: new Numbers() },
  };
  #boatFirst = NaN;
  /** First sequence number held. */
  #heldFrom = 0;
  #heldThrough = -1;

  constructor({ boat, cloud, state, expected }: {
    boat: MergedFrames;
    cloud: MergedFrames;
    state: InstanceState | undefined;
    expected: ExpectedFrames | undefined;
  }) {
    this.#boat = boat;
    this.#cloud = cloud;
    this.#state = state;
    this.#expected = expected;
    this.#lost = new Ranges(state?.received.lost);
    this.#known = new Ranges(state?.received.durable);
  }

  async run(): Promise<void> {
    const [boat, cloud] = [this.#boat, this.#cloud];
    for (;;) {
      if (boat.needsBlocks) await boat.load();
      if (cloud.needsBlocks) await cloud.load();
      const seq = Math.min(boat.seq, cloud.seq);
      if (seq === Infinity) break;
      if (boat.seq === seq && Number.isNaN(this.#boatFirst)) this.#boatFirst = seq;
      if (cloud.seq === seq) this.#hold(seq);
      this.#compare(seq);
      if (boat.seq === seq) boat.step();
      if (cloud.seq === seq) cloud.step();
    }
    this.#endHeld();
  }

  /** Result after {@linkcode Comparison.run}. */
  report(): Omit<EpochReport, "epoch"> {
    this.#report.lost.addRanges(this.#lost.subtract(this.#held));
    this.#report.claimed.addRanges(this.#known.subtract(this.#held));
    return this.#report;
  }

  #compare(seq: number): void {
    const [boat, cloud] = [this.#boat, this.#cloud];
    const [ours, theirs] = [boat.seq === seq ? boat.frame : undefined, cloud.seq === seq ? cloud.frame : undefined];
    if (ours && theirs) {
      if (cloud.isContradicted || boat.isContradicted || !isSame(ours, theirs)) this.#report.different.add(seq);
      else this.#report.same++;
    } else if (ours) {
      if (this.#lost.has(seq)) return;
      this.#report.missing.add(seq);
      if (this.#state && !this.#known.has(seq)) this.#report.holes++;
    } else if (cloud.isContradicted) this.#report.different.add(seq);
    else this.#explain(seq);
  }

  /** Counts a frame that only the cloud holds. */
  #explain(seq: number): void {
    const hasEnded = this.#boat.seq === Infinity && !Number.isNaN(this.#boatFirst);
    // Newest first: the block that declares the gap was opened last.
    const isGap = hasEnded || this.#boat.gaps.findLast(({ start, end }) => start <= seq && seq < end) !== undefined;
    if (isGap) this.#report.recovered.add(seq);
    else if (Number.isNaN(this.#boatFirst) && this.#boat.seq !== Infinity) this.#report.pruned.add(seq);
    else this.#report.extra.add(seq);
  }

  #hold(seq: number): void {
    if (this.#expected && this.#cloud.frame) this.#expected.add(this.#cloud.frame);
    if (seq !== this.#heldThrough + 1) this.#endHeld(seq);
    this.#heldThrough = seq;
  }

  #endHeld(next = 0): void {
    if (this.#heldThrough >= 0) this.#held.add(this.#heldFrom, this.#heldThrough + 1);
    this.#heldFrom = next;
  }
}

/** The epochs, oldest first. */
function wordsInOrder(parts: readonly Part[]): number[] {
  const firstUs = new Map<number, number>();
  for (const { epochWord, timeUs } of parts) {
    firstUs.set(epochWord, Math.min(timeUs, firstUs.get(epochWord) ?? Infinity));
  }
  return [...firstUs].sort((a, b) => a[1] - b[1]).map(([word]) => word);
}

async function readState(directory: string): Promise<InstanceState | undefined> {
  try {
    const text = await Deno.readTextFile(`${directory}/${STATE_FILE}`);
    const { id }: { id?: unknown } = JSON.parse(text);
    return parseState(text, String(id));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** First four bytes of an epoch, as in file headers. */
function wordOf(epoch: string): number {
  return epochWordOf(Uint8Array.fromHex(epoch.slice(0, 8)));
}
