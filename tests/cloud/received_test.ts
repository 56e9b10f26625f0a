import assert from "node:assert/strict";
import { type BlockDecision, MAX_VOID_RANGES, Received } from "../../src/cloud/mod.ts";
import { type Range, RangesFullError } from "../../src/replication/mod.ts";
import { Random } from "../support/random.ts";

const SPAN = 160;

/** What is known of each number, kept in the simplest way. */
class Model {
  /** `.` nothing, `r` received, `d` durable. */
  readonly frames: string[] = Array(SPAN).fill(".");
  /** Nothing, `void`, or the reason of a loss: the first word of the boat counts. */
  readonly words: (string | undefined)[] = Array(SPAN).fill(undefined);

  each({ start, end }: Range, act: (number: number) => void): void {
    for (let number = start; number < end; number++) act(number);
  }

  ranges(holds: (number: number) => boolean, end = SPAN): Range[] {
    const result: Range[] = [];
    for (let number = 1; number < end; number++) {
      if (!holds(number)) continue;
      const last = result.at(-1);
      if (last?.end === number) last.end++;
      else result.push({ start: number, end: number + 1 });
    }
    return result;
  }

  isReceived = (number: number): boolean => this.frames[number] !== ".";
  isDurable = (number: number): boolean => this.frames[number] === "d";
  isHeld = (number: number): boolean => this.isReceived(number) || this.words[number] !== undefined;
  isSafe = (number: number): boolean => this.isDurable(number) || this.words[number] !== undefined;
  isMissing = (number: number): boolean => !this.isHeld(number);

  through(holds: (number: number) => boolean): number {
    let through = 0;
    while (through + 1 < SPAN && holds(through + 1)) through++;
    return through;
  }

  same(received: Received, where: string): void {
    assert.equal(received.cursor, this.through(this.isHeld), where);
    assert.equal(received.ack, this.through(this.isSafe), where);
    assert.deepEqual(received.holes(SPAN), this.ranges(this.isMissing), where);
    assert.equal(received.count, this.frames.filter((frame) => frame !== ".").length, where);
    assert.equal(
      received.last,
      this.frames.findLastIndex((frame) => frame !== ".") > 0 ? this.lastReceived() : 0,
      where,
    );
    const isVoid = (number: number) => this.words[number] === "void" && !this.isReceived(number);
    assert.deepEqual(received.void, this.ranges(isVoid), where);
    const found = Array<string | undefined>(SPAN).fill(undefined);
    for (const { reason, ...range } of received.lost) this.each(range, (number) => found[number] = reason);
    const wanted = this.words.map((word, number) => word !== "void" && !this.isReceived(number) ? word : undefined);
    assert.deepEqual(found, wanted, where);
    assert.deepEqual(received.record().durable, this.ranges(this.isDurable), where);
    this.sameAbsent(received, where);
  }

  /** What is told of each number that is not here, walked from the first to the last. */
  sameAbsent(received: Received, where: string): void {
    const found = Array<string | undefined>(SPAN).fill(undefined);
    for (let next = 1; next < SPAN;) {
      const absent = received.absentFrom(next, SPAN - 1);
      if (!absent) break;
      assert.ok(absent.start >= next && absent.end > absent.start && absent.end <= SPAN, where);
      this.each(absent, (number) => found[number] = absent.kind === "lost" ? absent.reason : absent.kind);
      next = absent.end;
    }
    const wanted = this.words.map((word, n) => n < 1 || this.isReceived(n) ? undefined : word ?? "hole");
    assert.deepEqual(found, wanted, where);
  }

  lastReceived(): number {
    return this.frames.findLastIndex((frame) => frame !== ".");
  }

  /** The number of a frame that comes live: in most cases the next one. */
  nextOf(random: Random): number {
    const next = this.lastReceived() + 1;
    return random.chance(0.7) && next > 0 && next < SPAN ? next : random.between(1, SPAN - 1);
  }
}

function rangeIn(random: Random): Range {
  const start = random.between(1, SPAN - 1);
  return { start, end: Math.min(SPAN, start + random.between(1, random.chance(0.1) ? 60 : 12)) };
}

function decisionOf({ start, end }: Range, missing: Range[]): BlockDecision {
  if (missing.length === 0) return { kind: "duplicate" };
  const isAll = missing.length === 1 && missing[0]!.start === start && missing[0]!.end === end;
  return isAll ? { kind: "new" } : { kind: "overlapping", missing };
}

/** One thing that happens between boat and cloud, to both. Returns what is there after it: a restart begins another. */
function happen(
  received: Received,
  { model, random, where }: { model: Model; random: Random; where: string },
): Received {
  const range = rangeIn(random);
  switch (random.int(10)) {
    case 0:
    case 1: {
      const seq = model.nextOf(random);
      assert.equal(received.addLive(seq), !model.isReceived(seq), where);
      if (!model.isReceived(seq)) model.frames[seq] = "r";
      break;
    }
    case 2:
    case 3: {
      const missing = model.ranges((n) => n >= range.start && !model.isReceived(n), range.end);
      assert.deepEqual(received.evaluate(range), decisionOf(range, missing), where);
      assert.deepEqual(received.addBlock(range), missing, where);
      model.each(range, (number) => model.frames[number] = model.isDurable(number) ? "d" : "r");
      break;
    }
    case 4:
    case 5:
      received.markDurable(range);
      model.each(range, (number) => model.frames[number] = model.isReceived(number) ? "d" : ".");
      break;
    case 6:
      received.forget(range);
      model.each(range, (number) => model.frames[number] = model.isDurable(number) ? "d" : ".");
      break;
    case 7:
      assert.equal(
        received.vanish(range),
        model.ranges(model.isReceived).reduce(
          (sum, { start, end }) => sum + Math.max(0, Math.min(end, range.end) - Math.max(start, range.start)),
          0,
        ),
        where,
      );
      model.each(range, (number) => model.frames[number] = ".");
      break;
    case 8: {
      const [end, reason] = [random.between(1, SPAN), random.pick(["pruned", "disk"])];
      const isVoid = random.chance(0.5);
      const said = isVoid ? { void: [range], lost: [] } : { void: [], lost: [{ ...range, reason }] };
      assert.equal(received.declare({ ...said, end }), 0, where);
      model.each(range, (n) => {
        if (n < end && model.isMissing(n)) model.words[n] = isVoid ? "void" : reason;
      });
      break;
    }
    default: {
      if (random.chance(0.7)) break;
      // A crash: words that a frame has contradicted are not written down, so nothing of them is left.
      const words = model.words.map((word, number) => model.isReceived(number) ? undefined : word);
      words.forEach((word, number) => model.words[number] = word);
      model.frames.forEach((frame, number) => model.frames[number] = frame === "d" ? "d" : ".");
      return new Received(JSON.parse(JSON.stringify(received.record())));
    }
  }
  return received;
}

Deno.test("what is held, missing and safe is what a list of all numbers says, whatever happens", () => {
  for (let seed = 1; seed <= 250; seed++) {
    const random = new Random(seed);
    const model = new Model();
    let received = new Received();
    for (let step = 0; step < 80; step++) {
      const where = `seed ${seed} step ${step}`;
      received = happen(received, { model, random, where });
      model.same(received, where);
    }
  }
});

Deno.test("the cursor is 0 while number 1 is missing, and passes what is void and lost", () => {
  const received = new Received();
  received.addBlock({ start: 5, end: 10 });
  assert.equal(received.cursor, 0);
  received.declare({ void: [{ start: 1, end: 3 }], lost: [{ start: 3, end: 5, reason: "pruned" }], end: 20 });
  assert.equal(received.cursor, 9);
  assert.equal(received.ack, 4);
  assert.deepEqual(received.holes(20), [{ start: 10, end: 20 }]);
  assert.deepEqual(received.holes(10), []);
});

Deno.test("only what is on disk is acknowledged", () => {
  const received = new Received();
  for (let seq = 1; seq <= 100; seq++) received.addLive(seq);
  assert.deepEqual([received.cursor, received.ack, received.liveThrough], [100, 0, 100]);
  received.markDurable({ start: 51, end: 200 });
  assert.equal(received.ack, 0);
  received.markDurable({ start: 1, end: 51 });
  assert.equal(received.ack, 100);
});

Deno.test("frames that could not be stored are holes again; those on disk stay", () => {
  const received = new Received();
  received.addBlock({ start: 1, end: 101 });
  received.markDurable({ start: 1, end: 41 });
  received.forget({ start: 21, end: 81 });
  assert.deepEqual(received.holes(101), [{ start: 41, end: 81 }]);
  assert.equal(received.cursor, 40);
});

Deno.test("a boat's word takes no frame away, and is forgotten when the frame comes after all", () => {
  const received = new Received();
  received.addBlock({ start: 1, end: 11 });
  received.declare({ void: [{ start: 5, end: 15 }], lost: [{ start: 1, end: 21, reason: "disk" }], end: 100 });
  assert.deepEqual(received.void, [{ start: 11, end: 15 }]);
  assert.deepEqual(received.lost, [{ start: 15, end: 21, reason: "disk" }]);
  assert.ok(received.has(7));
  assert.deepEqual(received.evaluate({ start: 13, end: 18 }), { kind: "new" });
  received.addBlock({ start: 13, end: 18 });
  assert.deepEqual(received.void, [{ start: 11, end: 13 }]);
  assert.deepEqual(received.lost, [{ start: 18, end: 21, reason: "disk" }]);
  assert.equal(received.cursor, 20);
});

Deno.test("a boat's word about numbers that it has not given out yet is not heard", () => {
  const received = new Received();
  received.declare({ void: [{ start: 0, end: 2 ** 53 - 1 }], lost: [], end: 11 });
  assert.equal(received.cursor, 10);
  assert.deepEqual(received.holes(15), [{ start: 11, end: 15 }]);
});

Deno.test("a loss that grows for the same reason stays one entry, and repeated words add nothing", () => {
  const received = new Received();
  for (let end = 10; end <= 100; end += 10) {
    received.declare({ void: [], lost: [{ start: 1, end, reason: "pruned" }], end: 1000 });
  }
  assert.deepEqual(received.lost, [{ start: 1, end: 100, reason: "pruned" }]);
});

Deno.test("number 0 is no frame's, nor are those above what numbers can be", () => {
  const received = new Received();
  for (const seq of [0, -1, 0.5, NaN, 2 ** 53 - 1, 2 ** 53]) assert.throws(() => received.addLive(seq), RangeError);
  assert.throws(() => received.addBlock({ start: 0, end: 5 }), RangeError);
  assert.deepEqual([received.count, received.liveThrough, received.holes(3)], [0, 0, [{ start: 1, end: 3 }]]);
});

Deno.test("where there are too many ranges, what would make another is refused and what fills holes is taken", () => {
  const received = new Received(undefined, { maxHeldRanges: 2 });
  received.addLive(1);
  received.addLive(10);
  assert.throws(() => received.addLive(20), RangesFullError);
  assert.deepEqual(received.evaluate({ start: 20, end: 30 }), { kind: "no-room" });
  assert.throws(() => received.addBlock({ start: 20, end: 30 }), RangesFullError);
  assert.equal(received.declare({ void: [{ start: 20, end: 30 }], lost: [], end: 100 }), 1);
  assert.deepEqual(received.holes(30), [{ start: 2, end: 10 }, { start: 11, end: 30 }]);
  assert.deepEqual(received.evaluate({ start: 11, end: 12 }), { kind: "new" });
  received.addBlock({ start: 2, end: 10 });
  assert.equal(received.addLive(20), true);
});

Deno.test("words of a boat above their limits are left out, and counted", () => {
  const received = new Received(undefined, { maxVoidRanges: 1, maxLostRanges: 1 });
  const voids = [{ start: 1, end: 2 }, { start: 5, end: 6 }];
  const lost = [{ start: 10, end: 11, reason: "a" }, { start: 20, end: 21, reason: "b" }];
  assert.equal(received.declare({ void: voids, lost, end: 100 }), 2);
  assert.deepEqual(received.holes(30).map(({ start }) => start), [2, 11]);
});

Deno.test("words without room for them are not looked at for ever, however often a boat repeats them", () => {
  const received = new Received();
  const scattered = Array.from({ length: MAX_VOID_RANGES }, (_, i) => ({ start: 2 + 4 * i, end: 3 + 4 * i }));
  const end = 8 * MAX_VOID_RANGES;
  assert.equal(received.declare({ void: scattered, lost: [], end }), 0);
  // All of a message's ranges over all of the holes: thousands of millions.
  const all = Array.from({ length: 100_000 }, () => ({ start: 1, end, reason: "why" }));
  for (const words of [{ void: all, lost: [] }, { void: [], lost: all }]) {
    assert.ok(received.declare({ ...words, end }) < 3 * MAX_VOID_RANGES);
  }
});
