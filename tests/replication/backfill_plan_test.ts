import assert from "node:assert/strict";
import {
  BackfillPlan,
  type BackfillPlanOptions,
  type BackfillStatus,
  BlockList,
  type BlockSpan,
  LOST_PRUNED,
  LOST_UNRECORDED,
  MAX_RANGES,
  type Range,
} from "../../src/replication/mod.ts";
import { BackfillModel } from "./backfill_plan_model.ts";
import { Random } from "../support/random.ts";

/** Blocks of 100 numbers each, from 1 on. */
const HUNDREDS = Array.from({ length: 20 }, (_, i) => ({ baseSeq: 1 + i * 100, frameCount: 100 }));

function planOf(holes: Range[], options: Partial<BackfillPlanOptions<BlockSpan>> = {}): BackfillPlan<BlockSpan> {
  return new BackfillPlan({ holes, index: new BlockList(HUNDREDS), ...options });
}

/** First numbers of the blocks that the plan sends before it waits, and how that ends. */
function sends(plan: BackfillPlan<BlockSpan>): { bases: number[]; then: string } {
  const bases: number[] = [];
  for (;;) {
    const step = plan.next();
    if (step.kind !== "send") return { bases, then: step.kind };
    bases.push(step.block.baseSeq);
  }
}

function status(parts: Partial<BackfillStatus>): BackfillStatus {
  return { continuousThrough: 0, remaining: [], filled: [], rejected: [], ...parts };
}

Deno.test("the newest hole comes first, and in it the oldest block", () => {
  const plan = planOf([{ start: 101, end: 301 }, { start: 601, end: 901 }, { start: 1500, end: 1550 }]);
  assert.deepEqual(sends(plan), { bases: [1401, 1501, 601, 701, 801, 101, 201], then: "waiting" });
});

Deno.test("a hole shrinks from the front as the cloud answers, and without holes the plan is finished", () => {
  const plan = planOf([{ start: 1001, end: 2001 }]);
  sends(plan);
  const answered = plan.answer(
    status({ filled: [{ start: 1001, end: 1501 }], remaining: [{ start: 1501, end: 2001 }] }),
  );
  assert.deepEqual(answered.map(({ baseSeq }) => baseSeq), [1001, 1101, 1201, 1301, 1401]);
  assert.deepEqual(plan.holes, [{ start: 1501, end: 2001 }]);
  assert.equal(plan.missingFrames, 500);
  assert.equal(plan.next().kind, "waiting");
  plan.answer(status({ filled: [{ start: 1501, end: 2001 }] }));
  assert.equal(plan.next().kind, "finished");
});

Deno.test("a plan without holes is finished at once", () => {
  assert.equal(planOf([]).next().kind, "finished");
});

Deno.test("a peer, which tells only what remains, shrinks holes as well", () => {
  const plan = planOf([{ start: 1, end: 201 }]);
  sends(plan);
  assert.deepEqual(plan.answer(status({ remaining: [{ start: 101, end: 201 }] })), [HUNDREDS[0]]);
  assert.deepEqual(plan.holes, [{ start: 101, end: 201 }]);
});

Deno.test("what a full list of remaining holes leaves out is still missing", () => {
  const plan = planOf([{ start: 1, end: 2001 }]);
  const remaining = Array.from({ length: MAX_RANGES }, (_, i) => ({ start: 1e6 + 2 * i, end: 1e6 + 2 * i + 1 }));
  plan.answer(status({ remaining }));
  assert.equal(plan.missingFrames, 2000);
});

Deno.test("a block that spans two holes is sent once", () => {
  const plan = planOf([{ start: 110, end: 120 }, { start: 150, end: 160 }]);
  assert.deepEqual(sends(plan), { bases: [101], then: "waiting" });
});

Deno.test("a block that was not answered is sent again on a new connection only", () => {
  const holes = [{ start: 101, end: 201 }];
  const plan = planOf(holes);
  assert.deepEqual(sends(plan).bases, [101]);
  assert.deepEqual(sends(plan).bases, []);
  assert.deepEqual(sends(planOf(plan.holes)).bases, [101]);
});

Deno.test("a rejected block stays a hole and ends nothing else", () => {
  const plan = planOf([{ start: 101, end: 301 }]);
  sends(plan);
  plan.answer(status({
    filled: [{ start: 201, end: 301 }],
    remaining: [{ start: 101, end: 201 }],
    rejected: [{ baseSeq: 101, reason: "no room" }],
  }));
  assert.deepEqual(plan.holes, [{ start: 101, end: 201 }]);
  assert.deepEqual(plan.lost, []);
  assert.equal(plan.next().kind, "finished");
});

Deno.test("frames that were deleted or never recorded are lost, each with its reason", () => {
  const index = new BlockList([{ baseSeq: 101, frameCount: 100 }, { baseSeq: 301, frameCount: 100 }]);
  const plan = planOf([{ start: 51, end: 401 }], { index });
  assert.deepEqual(sends(plan), { bases: [101, 301], then: "waiting" });
  assert.deepEqual(plan.lost, [
    { start: 51, end: 101, reason: LOST_PRUNED },
    { start: 201, end: 301, reason: LOST_UNRECORDED },
  ]);
  assert.equal(plan.missingFrames, 200);
});

Deno.test("a boat without any block finishes and has lost all", () => {
  const plan = planOf([{ start: 1, end: 11 }], { index: new BlockList([], { recordedThrough: 10 }) });
  assert.equal(plan.next().kind, "finished");
  assert.deepEqual(plan.lost, [{ start: 1, end: 11, reason: LOST_UNRECORDED }]);
});

Deno.test("what the journal does not know yet is waited for, not lost, and older holes go on meanwhile", () => {
  const index = new BlockList<BlockSpan>(HUNDREDS);
  const plan = planOf([{ start: 101, end: 151 }, { start: 1991, end: 2051 }], { index });
  assert.deepEqual(sends(plan), { bases: [1901, 101], then: "waiting" });
  plan.answer(status({ remaining: [{ start: 2001, end: 2051 }] }));
  assert.deepEqual(sends(plan), { bases: [], then: "waiting" });
  index.add({ baseSeq: 2001, frameCount: 60 });
  assert.deepEqual(sends(plan), { bases: [2001], then: "waiting" });
  assert.deepEqual(plan.lost, []);
});

Deno.test("a block that cannot be read is lost, and the plan goes on", () => {
  const plan = planOf([{ start: 101, end: 301 }]);
  assert.equal(plan.next().kind, "send");
  plan.lose({ start: 101, end: 201 }, "damaged");
  assert.deepEqual(sends(plan), { bases: [201], then: "waiting" });
  plan.answer(status({ remaining: [{ start: 101, end: 201 }] }));
  assert.equal(plan.next().kind, "finished");
  assert.deepEqual(plan.lost, [{ start: 101, end: 201, reason: "damaged" }]);
});

Deno.test("no more blocks than allowed wait for the cloud", () => {
  const plan = planOf([{ start: 1, end: 2001 }], { maxUnansweredBlocks: 3 });
  assert.deepEqual(sends(plan).bases, [1, 101, 201]);
  plan.answer(status({ filled: [{ start: 1, end: 101 }], remaining: [{ start: 101, end: 2001 }] }));
  assert.deepEqual(sends(plan).bases, [301]);
});

Deno.test("a longer block takes the place of one with the same beginning, and blocks come in order", () => {
  const list = new BlockList([{ baseSeq: 1, frameCount: 10 }, { baseSeq: 5, frameCount: 3 }]);
  assert.deepEqual(list.find({ start: 6, end: 7 }), { baseSeq: 1, frameCount: 10 });
  list.add({ baseSeq: 1, frameCount: 30 });
  assert.deepEqual(list.find({ start: 6, end: 7 }), { baseSeq: 1, frameCount: 30 });
  assert.equal(list.recordedThrough, 30);
  assert.throws(() => list.add({ baseSeq: 0, frameCount: 5 }), /block 0 added after block 1/);
});

Deno.test("against a naive model: all that the boat has arrives, the rest is lost, and nothing is sent for ever", () => {
  for (let seed = 0; seed < 300; seed++) {
    const random = new Random(seed);
    const model = new BackfillModel(random);
    for (let connection = 0; !model.isHealed; connection++) {
      assert(connection < 40, `seed ${seed} heals`);
      model.connect();
      const lastsFor = random.chance(0.5) ? Infinity : random.int(30);
      for (let step = 0; step < lastsFor && model.step(); step++) {
        assert(step < 2000, `seed ${seed} comes to an end`);
      }
      model.disconnect();
    }
    model.checkHealed();
  }
});

Deno.test("of a hundred thousand holes, each block that fills many is sent once", () => {
  const holes = Array.from({ length: MAX_RANGES }, (_, i) => ({ start: 1 + i * 10, end: 4 + i * 10 }));
  const index = new BlockList(Array.from({ length: 1000 }, (_, i) => ({ baseSeq: 1 + i * 1000, frameCount: 1000 })));
  const plan = planOf(holes, { index, maxUnansweredBlocks: 10_000 });
  const { bases, then } = sends(plan);
  assert.equal(bases.length, 1000);
  assert.equal(new Set(bases).size, 1000);
  assert.equal(then, "waiting");
});

Deno.test("what is not found where not all is known is put off: neither lost, nor waited for", () => {
  const list = new BlockList(HUNDREDS.slice(0, 3));
  const find = (range: Range) => list.find(range);
  const plan = planOf([{ start: 151, end: 401 }], {
    index: { oldestSeq: 1, recordedThrough: 400, isComplete: false, find },
  });
  assert.deepEqual(sends(plan), { bases: [101, 201], then: "waiting" });
  // The block at 101 turns out to end with 150, and the next one to tell of a part of the gap.
  plan.lose({ start: 151, end: 181 }, "damaged");
  plan.lose({ start: 181, end: 201 }, LOST_UNRECORDED);
  plan.answer(status({ filled: [{ start: 201, end: 301 }], remaining: plan.holes }));
  assert.equal(plan.next().kind, "finished");
  assert.deepEqual([plan.lost, [...plan.deferred]], [[], [{ start: 151, end: 201 }, { start: 301, end: 401 }]]);
});
