import assert from "node:assert/strict";
import type { CanFrame } from "../../src/frame/mod.ts";
import { collector, fast } from "../support/fragments.ts";
import { Random } from "../support/random.ts";
import { IS_FULL } from "../support/needs.ts";

/** Between two fragments of a message. */
const STEP_MS = 3;
/** The shortest is 25 messages a second with one counter; the longest, 20 a second with all eight. */
const PERIODS_MS = [40, 50, 400];
const COUNTS = [2, 3, 4, 5];
/** Longer than any fragment waits. */
const LONG_MS = 5000;

/** Orders in which `count` fragments may come: as sent, two swapped, the first one last, the last one first, reversed. */
function orders(count: number): number[][] {
  const sent = Array.from({ length: count }, (_, i) => i);
  const swapped = sent.slice(1).map((i) => sent.with(i, i - 1).with(i - 1, i));
  const turned = [[...sent.slice(1), 0], [count - 1, ...sent.slice(0, -1)], sent.toReversed()];
  return [sent, ...swapped, ...turned];
}

/** One message on its way: which of its fragments come, bit by bit, and in what order. */
interface Sending {
  atMs: number;
  order: number[];
  /** Bit n is set when fragment n comes. */
  here: number;
  sequence?: number;
}

/** A bus whose messages tell who they are by all of their bytes. */
class Line {
  readonly out: string[] = [];
  readonly whole: string[] = [];
  /** Messages of which something came, but not everything. */
  partial = 0;
  readonly #collector = collector();
  #number = 0;

  send({ atMs, order, here, sequence = 0 }: Sending): void {
    this.#number = this.#number % 200 + 1;
    const payload = new Uint8Array(6 + 7 * (order.length - 1)).fill(this.#number);
    const frames = fast(payload, { sequence });
    order.forEach((index, i) => {
      if ((here >> index) & 1) this.#push({ ...frames[index]!, monoMs: atMs + i * STEP_MS });
    });
    if (here === 2 ** order.length - 1) this.whole.push(nameOf(this.#number).repeat(payload.length));
    else if (here !== 0) this.partial++;
  }

  /** Nothing mixed came out, everything whole did, and each message that was harmed is counted once. */
  check(nowMs: number): void {
    const { assembler, out } = this.#collector;
    assembler.expire(nowMs + LONG_MS);
    assert.deepEqual(out.map(({ data }) => data), this.whole);
    const { replaced, timeout, ...others } = assembler.drops;
    assert.equal(replaced + timeout, this.partial);
    assert.ok(Object.values(others).every((count) => count === 0));
    assert.equal(assembler.pending, 0);
  }

  /** Whether a message came out that was not sent so. */
  get mixed(): boolean {
    return this.#collector.out.some(({ data }) => !this.whole.includes(data));
  }

  #push(frame: CanFrame): void {
    this.#collector.assembler.push(frame);
  }
}

function nameOf(number: number): string {
  return number.toString(16).padStart(2, "0");
}

function all(count: number): number {
  return 2 ** count - 1;
}

Deno.test("whatever two messages with one counter lose, nothing mixed comes out and each loss is counted once", () => {
  let cases = 0;
  for (const periodMs of PERIODS_MS) {
    for (const [one, two] of COUNTS.flatMap((a) => COUNTS.map((b) => [a, b] as const))) {
      // Most cases by far, and every count is among the others.
      if (!IS_FULL && one + two > 8) continue;
      const [first, second] = [orders(one), orders(two)];
      for (let i = 0; i < Math.max(first.length, second.length); i++) {
        const [order, next] = [first[i % first.length]!, second[i % second.length]!];
        for (let here = 0; here <= all(one); here++) {
          for (let there = 0; there <= all(two); there++) {
            const line = new Line();
            line.send({ atMs: 0, order: [0, 1], here: 3 });
            line.send({ atMs: periodMs, order: [0, 1], here: 3 });
            line.send({ atMs: 2 * periodMs, order, here });
            line.send({ atMs: 3 * periodMs, order: next, here: there });
            line.send({ atMs: 4 * periodMs, order: next, here: all(two) });
            line.check(4 * periodMs);
            cases++;
          }
        }
      }
    }
  }
  assert.ok(cases > 30_000, `${cases} cases`);
});

Deno.test("long streams with losses, swaps and jitter: nothing mixed comes out, each loss is counted once", () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = new Random(seed);
    const everyMs = random.pick([40, 50, 100, 250, 1000]);
    const counters = random.pick([1, 1, 2, 8]);
    const jitterMs = everyMs > 40 ? everyMs / 20 : 0;
    const line = new Line();
    const count = 300;
    for (let i = 0; i < count; i++) {
      const fragments = random.pick(COUNTS);
      const order = random.chance(0.7) ? orders(fragments)[0]! : random.pick(orders(fragments));
      const isWarm = i >= 4 * counters;
      const here = isWarm && random.chance(0.4) ? random.int(all(fragments) + 1) : all(fragments);
      line.send({ atMs: i * everyMs + random.next() * jitterMs, order, here, sequence: i % counters });
    }
    line.check(count * everyMs);
  }
});

Deno.test("while its period is unknown, a lost end and a lost beginning that fit each other pass for a slow sender", () => {
  for (const count of COUNTS) {
    const [order] = orders(count);
    for (let here = 0; here <= all(count); here++) {
      for (let there = 0; there <= all(count); there++) {
        const line = new Line();
        line.send({ atMs: 0, order: order!, here });
        line.send({ atMs: 50, order: order!, here: there });
        const isHead = here !== 0 && here !== all(count) && (here & (here + 1)) === 0;
        assert.equal(line.mixed, isHead && there === all(count) - here, `${count} fragments: ${here}, ${there}`);
      }
    }
  }
});

Deno.test("a first fragment that comes 20 ms after the rest completes it, one that comes later begins anew", () => {
  for (const [afterMs, whole] of [[20, 1], [21, 0]] as const) {
    const [head, ...rest] = fast(new Random(1).bytes(20));
    const { assembler, out } = collector();
    rest.forEach((frame, i) => assembler.push({ ...frame, monoMs: i }));
    assembler.push({ ...head!, monoMs: 1 + afterMs });
    assert.equal(out.length, whole);
    assert.equal(assembler.drops.replaced, 1 - whole);
    assert.equal(assembler.pending, 1 - whole);
  }
});

Deno.test("a slow sender's messages are put together again and again, also when their counter is constant", () => {
  const { assembler, out } = collector();
  for (let i = 0; i < 50; i++) {
    fast(new Random(i).bytes(20)).forEach((frame, part) => assembler.push({ ...frame, monoMs: i * 1000 + part * 350 }));
  }
  assert.equal(out.length, 50);
  assert.equal(assembler.drops.replaced + assembler.drops.timeout, 0);
});

Deno.test("two messages that once came in a hurry do not cut a slow sender off for good", () => {
  const { assembler, out } = collector();
  const starts = [0, 100, ...Array.from({ length: 200 }, (_, i) => 1000 + i * 1000)];
  for (const atMs of starts) {
    const stepMs = atMs < 1000 ? 1 : 300;
    fast(new Random(1).bytes(20)).forEach((frame, i) => assembler.push({ ...frame, monoMs: atMs + i * stepMs }));
  }
  assert.ok(out.length > 100, `${out.length} messages`);
});
