import assert from "node:assert/strict";
import { BackfillPlan, type BackfillStep, BlockList, type BlockSpan, type Range } from "../../src/replication/mod.ts";
import type { Random } from "../support/random.ts";

/** Numbers that the model knows: 1 up to this one. */
const SPAN = 240;

type Numbers = Set<number>;

/** A boat and a cloud that know each number by itself, and the plan between them, checked at every step. */
export class BackfillModel {
  readonly #random: Random;
  readonly #blocks: BlockSpan[];
  readonly #onBoat: Numbers;
  /** What the cloud asks for. */
  readonly #asked: Numbers;
  readonly #onCloud: Numbers = new Set();
  readonly #lost: Numbers = new Set();
  #plan: BackfillPlan<BlockSpan> | undefined;
  #index = new BlockList<BlockSpan>();
  /** Numbers that were sent on this connection. */
  #sent: Numbers = new Set();
  #underWay: BlockSpan[] = [];
  /** Told to the boat as held. */
  #told: Numbers = new Set();

  constructor(random: Random) {
    this.#random = random;
    this.#blocks = randomBlocks(random);
    this.#onBoat = new Set(this.#blocks.flatMap(numbersOf));
    this.#asked = new Set(numbers().filter(() => random.chance(0.5)));
    for (let i = random.int(6); i > 0; i--) {
      const from = random.between(1, SPAN);
      for (let seq = from; seq <= Math.min(SPAN, from + random.int(60)); seq++) this.#asked.add(seq);
    }
  }

  /** Whether all that was asked for has come or is lost. */
  get isHealed(): boolean {
    return [...this.#asked].every((seq) => this.#onCloud.has(seq) || this.#lost.has(seq));
  }

  /** A handshake: a new plan for what is missing. The index knows a part at first. */
  connect(): void {
    this.#sent = new Set();
    this.#underWay = [];
    this.#told = new Set([...this.#onCloud, ...this.#lost]);
    this.#index = new BlockList(this.#random.chance(0.5) ? this.#blocks : this.#blocks.slice(0, 3));
    if (this.#random.chance(0.5)) this.#knowAll();
    const maxUnansweredBlocks = this.#random.between(1, 8);
    this.#plan = new BackfillPlan({ holes: this.#missing(), index: this.#index, maxUnansweredBlocks });
  }

  /** The connection is cut: blocks under way are gone, or have come without a word. */
  disconnect(): void {
    for (const block of this.#underWay) if (this.#random.chance(0.5)) this.#store(block);
  }

  /** Sends a block or answers some. False: the plan is finished. */
  step(): boolean {
    const plan = this.#plan;
    assert(plan);
    const step = this.#random.chance(0.6) || this.#underWay.length === 0 ? this.#send(plan) : this.#answer(plan);
    if (step.kind !== "finished") return true;
    assert.equal(this.#underWay.length, 0);
    return false;
  }

  checkHealed(): void {
    for (const seq of this.#asked) {
      assert.equal(this.#onCloud.has(seq), this.#onBoat.has(seq), `number ${seq}`);
      assert.equal(this.#lost.has(seq), !this.#onBoat.has(seq), `number ${seq}`);
    }
  }

  #send(plan: BackfillPlan<BlockSpan>): BackfillStep<BlockSpan> {
    const expected = this.#expectedBase();
    const step = plan.next();
    for (const range of plan.lost) {
      for (let seq = range.start; seq < range.end; seq++) this.#lose(seq);
    }
    if (step.kind === "waiting" && this.#underWay.length === 0) this.#knowAll();
    if (step.kind !== "send") return step;
    assert.equal(step.block.baseSeq, expected);
    const fresh = numbersOf(step.block).filter((seq) => this.#isWanted(seq));
    assert(fresh.length > 0, "nothing is sent twice");
    for (const seq of numbersOf(step.block)) this.#sent.add(seq);
    this.#underWay.push(step.block);
    return step;
  }

  /** Where the next block begins: the newest run of wanted numbers, and the oldest block with one of them. */
  #expectedBase(): number | undefined {
    const isNext = (seq: number) => this.#isWanted(seq) && seq <= this.#index.recordedThrough;
    const runs = runsOf(numbers().filter(isNext));
    for (const { start, end } of runs.toReversed()) {
      const holds = ({ baseSeq, frameCount }: BlockSpan) => baseSeq < end && baseSeq + frameCount > start;
      const bases = this.#blocks.filter(holds).map(({ baseSeq }) => baseSeq);
      if (bases.length > 0) return Math.min(...bases);
    }
    return undefined;
  }

  #answer(plan: BackfillPlan<BlockSpan>): BackfillStep<BlockSpan> {
    const taken = this.#underWay.splice(0, this.#random.between(1, this.#underWay.length));
    const rejected = taken.filter(() => this.#random.chance(0.1));
    for (const block of taken) if (!rejected.includes(block)) this.#store(block);
    const filled = [...this.#asked].filter((seq) => this.#onCloud.has(seq) && !this.#told.has(seq));
    for (const seq of filled) this.#told.add(seq);
    const answered = plan.answer({
      continuousThrough: 0,
      filled: this.#random.chance(0.5) ? runsOf(filled) : [],
      remaining: this.#missing(),
      rejected: rejected.map(({ baseSeq }) => ({ baseSeq, reason: "no room" })),
    });
    assert.deepEqual(new Set(answered), new Set(taken));
    assert.equal(plan.missingFrames, [...this.#asked].filter((seq) => this.#isMissing(seq)).length);
    return { kind: "waiting" };
  }

  #store(block: BlockSpan): void {
    for (const seq of numbersOf(block)) this.#onCloud.add(seq);
  }

  #lose(seq: number): void {
    assert(!this.#onBoat.has(seq), `number ${seq} is on the boat`);
    this.#lost.add(seq);
  }

  /** The rest of the journal is there. */
  #knowAll(): void {
    const last = this.#index.recordedThrough;
    for (const block of this.#blocks) if (block.baseSeq + block.frameCount - 1 > last) this.#index.add(block);
    this.#index.recordThrough(SPAN);
  }

  #isMissing(seq: number): boolean {
    return this.#asked.has(seq) && !this.#onCloud.has(seq) && !this.#lost.has(seq);
  }

  #isWanted(seq: number): boolean {
    return this.#isMissing(seq) && !this.#sent.has(seq);
  }

  #missing(): Range[] {
    return runsOf([...this.#asked].filter((seq) => this.#isMissing(seq)));
  }
}

/** Blocks in order, with gaps between some and overlaps of others. */
function randomBlocks(random: Random): BlockSpan[] {
  const blocks: BlockSpan[] = [];
  let next = random.between(1, 30);
  while (next < SPAN) {
    const frameCount = Math.min(random.between(1, 25), SPAN + 1 - next);
    blocks.push({ baseSeq: next, frameCount });
    next += frameCount;
    if (random.chance(0.2)) next += random.int(12);
    if (random.chance(0.1)) next = Math.max(1 + (blocks.at(-1)?.baseSeq ?? 0), next - random.int(8));
  }
  return blocks;
}

function numbers(): number[] {
  return Array.from({ length: SPAN }, (_, i) => i + 1);
}

function numbersOf({ baseSeq, frameCount }: BlockSpan): number[] {
  return Array.from({ length: frameCount }, (_, i) => baseSeq + i);
}

function runsOf(seqs: Iterable<number>): Range[] {
  const runs: Range[] = [];
  for (const seq of [...seqs].sort((a, b) => a - b)) {
    const last = runs.at(-1);
    if (last?.end === seq) last.end++;
    else runs.push({ start: seq, end: seq + 1 });
  }
  return runs;
}
