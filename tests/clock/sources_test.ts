import assert from "node:assert/strict";
import type { ClockEstimate, RejectedSource } from "../../src/clock/mod.ts";
import { ClockEstimator } from "../../src/clock/mod.ts";
import { Random } from "../support/random.ts";
import {
  type Boot,
  DAY_US,
  EARLIEST_US,
  HOUR,
  LATENCIES,
  MINUTE,
  type Receiver,
  receiver,
  ROLLOVER_US,
  run,
  trueUs,
  worstMs,
} from "./clock_fixture.ts";

const SECOND_US = 1_000_000;
const YEAR_US = 365 * DAY_US;

/** A boot with three hours of readings, and what is estimated at its end. */
function estimateOf(
  seed: number,
  inits: readonly Partial<Receiver>[],
): { boot: Boot; estimate: ClockEstimate; worst: number } {
  const random = new Random(seed);
  const boot = { baseUs: EARLIEST_US + random.int(1000) * DAY_US, ppm: random.between(-200, 200) };
  const receivers = inits.map((init) =>
    receiver({ fromMs: random.int(5 * MINUTE), toMs: 3 * HOUR, intervalMs: 2000, ...init })
  );
  const estimate = run(boot, { receivers, random }) ?? assert.fail("no estimate");
  return { boot, estimate, worst: worstMs(boot, estimate, { fromMs: 0, toMs: 6 * HOUR }) };
}

/** A source that is ahead by `errorUs`. */
function lying(source: string, errorUs: number, init: Partial<Receiver> = {}): Partial<Receiver> {
  return { source, errorUs: () => errorUs, ...init };
}

function assertRejected(found: readonly RejectedSource[], wanted: readonly RejectedSource[], what: string): void {
  const bySource = (list: readonly RejectedSource[]) => list.map(({ source, reason }) => `${source} ${reason}`).sort();
  assert.deepEqual(bySource(found), bySource(wanted), what);
  for (const { source, byUs } of wanted) {
    const other = found.find((each) => each.source === source);
    assert.ok(Math.abs((other?.byUs ?? NaN) - byUs) < 100_000, `${what}: ${source} is off by ${other?.byUs}`);
  }
}

Deno.test("two sources that disagree are disputed, and a third decides", () => {
  for (const [i, errorUs] of [2 * SECOND_US, -2 * SECOND_US, 3 * YEAR_US, 18 * SECOND_US].entries()) {
    const two = estimateOf(i, [lying("0:b", errorUs, { fromMs: 6 * MINUTE }), lying("0:a", 0)]);
    assert.deepEqual([two.estimate.quality, two.estimate.source], ["disputed", "0:a"], `error ${errorUs}`);
    assert.equal(two.estimate.rejected.length, 1);
    const three = estimateOf(i, [lying("0:a", 0), lying("0:b", errorUs), lying("1:c", 0)]);
    assert.equal(three.estimate.quality, "good", `error ${errorUs}`);
    assert.ok(three.worst <= 50, `error ${errorUs}: ${three.worst} ms`);
    assertRejected(three.estimate.rejected, [{ source: "0:b", reason: "disagrees", byUs: errorUs }], `${errorUs}`);
  }
});

Deno.test("two PGNs of one source are one voice", () => {
  const { estimate } = estimateOf(5, [
    lying("0:a", 0),
    lying("0:b", 5 * SECOND_US),
    lying("0:b", 5 * SECOND_US, { pgn: 129029 }),
  ]);
  assert.equal(estimate.quality, "disputed");
});

Deno.test("a time before the software or GPS, or 1024 weeks later, is implausible and never disputes", () => {
  for (const [i, errorUs] of [-60 * YEAR_US, -8 * YEAR_US, 30 * YEAR_US].entries()) {
    const { estimate, worst } = estimateOf(i, [lying("0:a", 0), lying("0:b", errorUs), lying("0:c", errorUs)]);
    assert.equal(estimate.quality, "good");
    assert.ok(worst <= 50, `${worst} ms`);
    const wanted = ["0:b", "0:c"].map((source) => ({ source, reason: "implausible" as const, byUs: errorUs }));
    assertRejected(estimate.rejected, wanted, `error ${errorUs / YEAR_US} years`);
  }
  const alone = receiver({ errorUs: () => -60 * YEAR_US });
  assert.equal(run({ baseUs: EARLIEST_US, ppm: 0 }, { receivers: [alone], random: new Random(1) }), undefined);
});

Deno.test("a receiver with week rollover is corrected if there is no other, and reported", () => {
  for (const [i, weeks] of [1, 2].entries()) {
    const byUs = -weeks * ROLLOVER_US;
    const alone = estimateOf(i, [lying("0:old", byUs)]);
    assert.equal(alone.estimate.quality, "good");
    assert.ok(alone.worst <= 50, `${alone.worst} ms`);
    assertRejected(alone.estimate.rejected, [{ source: "0:old", reason: "rollover", byUs }], "alone");

    const beside = estimateOf(i, [lying("0:old", byUs), lying("0:new", 0)]);
    assert.deepEqual([beside.estimate.quality, beside.estimate.source], ["good", "0:new"]);
    assertRejected(beside.estimate.rejected, [{ source: "0:old", reason: "rollover", byUs }], "beside another");

    // As told it is plausible, corrected it is not: the others are not outvoted by receivers that need correction.
    const outvoted = estimateOf(i, [lying("0:x", byUs + YEAR_US), lying("0:y", byUs + YEAR_US), lying("0:new", 0)]);
    assert.deepEqual([outvoted.estimate.quality, outvoted.estimate.source], ["good", "0:new"]);
  }
});

Deno.test("a time before the software is not corrected while the receiver may still be without a fix", () => {
  const start = receiver({ toMs: 15 * MINUTE, errorUs: () => -ROLLOVER_US });
  const boot = { baseUs: EARLIEST_US + DAY_US, ppm: 0 };
  assert.equal(run(boot, { receivers: [start], random: new Random(1) }), undefined);
});

Deno.test("sources that agree, but not within the usual latency, are fair", () => {
  const { estimate } = estimateOf(6, [lying("0:a", 0), lying("0:b", -0.6 * SECOND_US)]);
  assert.deepEqual([estimate.quality, estimate.source, estimate.rejected], ["fair", "0:a", []]);
});

Deno.test("of sources that agree the one with less latency is taken", () => {
  const slow = { latencyMs: (random: Random) => 150 + LATENCIES.exponential!(random) };
  const { estimate, worst } = estimateOf(7, [
    lying("0:slow", 0, slow),
    lying("0:fast", 0),
    lying("0:fast", 0, { ...slow, pgn: 129029 }),
  ]);
  assert.deepEqual([estimate.source, estimate.pgn, estimate.quality], ["0:fast", 126992, "good"]);
  assert.ok(worst <= 50);
  const position = estimateOf(8, [lying("0:slow", 0, slow), lying("0:fast", 0, { pgn: 129029 })]);
  assert.deepEqual([position.estimate.source, position.estimate.pgn], ["0:fast", 129029]);
  assert.ok(position.worst <= 50);
});

Deno.test("without PGN 126992 the estimate is fair, and PGN 129033 counts only where it is alone", () => {
  const slow = { latencyMs: (random: Random) => 250 + LATENCIES.even!(random) };
  const position = estimateOf(9, [lying("0:a", 0, { ...slow, pgn: 129029 })]);
  assert.equal(position.estimate.quality, "fair");
  assert.ok(position.worst <= 500 && position.worst >= 250);
  const beside = estimateOf(10, [
    lying("0:a", 0),
    lying("0:b", 5 * SECOND_US, { pgn: 129033 }),
    lying("0:c", 5 * SECOND_US, { pgn: 129033 }),
  ]);
  assert.deepEqual([beside.estimate.quality, beside.estimate.source], ["good", "0:a"]);
  assert.equal(beside.estimate.rejected.length, 2);
  const alone = estimateOf(11, [lying("0:a", 0, { pgn: 129033 })]);
  assert.deepEqual([alone.estimate.quality, alone.estimate.pgn], ["fair", 129033]);
});

Deno.test("a receiver that was believed for hours is not disputed by one that just started", () => {
  for (const toMs of [3 * HOUR, 2.5 * HOUR]) {
    const { estimate, worst } = estimateOf(12, [
      lying("0:a", 0, { toMs }),
      lying("0:b", 18 * SECOND_US, { fromMs: 3 * HOUR - 12 * MINUTE }),
    ]);
    assert.deepEqual([estimate.quality, estimate.source], ["good", "0:a"]);
    assert.ok(worst <= 50);
  }
});

Deno.test("a source that changes its text is counted once when its old text is gone", () => {
  const { estimate } = estimateOf(13, [
    lying("0:35", 4 * SECOND_US, { fromMs: 0, toMs: HOUR }),
    lying("0:name", 4 * SECOND_US, { fromMs: HOUR }),
    lying("0:b", 0, { fromMs: 0 }),
  ]);
  assert.equal(estimate.quality, "disputed");
});

Deno.test("random sources, of which most are right, give the true time", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = new Random(seed);
    const right = random.between(2, 4);
    const errors = [2 * SECOND_US, -7 * SECOND_US, 5 * YEAR_US, -10 * YEAR_US, -ROLLOVER_US, 3600 * SECOND_US];
    const wrong = random.shuffle(errors).slice(0, random.int(4));
    const names = Object.values(LATENCIES);
    const { estimate, worst } = estimateOf(
      seed,
      random.shuffle(
        [...new Array<number>(right).fill(0), ...wrong].map((errorUs, i) =>
          lying(`0:${i}`, errorUs, { latencyMs: random.pick(names), pgn: random.chance(0.7) ? 126992 : 129029 })
        ),
      ),
    );
    assert.notEqual(estimate.quality, "disputed", `${seed}`);
    const limit = estimate.quality === "good" ? 50 : 500;
    assert.ok(worst <= limit, `${seed}: ${estimate.quality}, ${worst} ms`);
    assert.equal(estimate.rejected.length, wrong.length, `${seed}`);
  }
});

Deno.test("a storm of sources and jumps is bounded and does not displace a settled source", () => {
  const random = new Random(1);
  const boot = { baseUs: EARLIEST_US + 1e12, ppm: 50 };
  const estimator = new ClockEstimator({ earliestUs: EARLIEST_US });
  for (let second = 0; second < 2000; second++) {
    const ms = second * 1000;
    estimator.add({ monoMs: ms, gnssUs: trueUs(boot, ms), source: "0:a", pgn: 126992 });
    if (second < 1500) continue;
    for (let i = 0; i < 80; i++) {
      const gnssUs = EARLIEST_US + random.int(2 ** 31) * 100_000;
      const source = random.chance(0.5) ? `0:${random.int(1e6)}` : "0:same";
      estimator.add({ monoMs: ms, gnssUs, source, pgn: 126992 });
    }
  }
  const estimate = estimator.estimate() ?? assert.fail();
  assert.deepEqual([estimate.quality, estimate.source, estimate.readings], ["good", "0:a", 2000]);
  assert.ok(worstMs(boot, estimate, { fromMs: 0, toMs: HOUR }) <= 50);
});

Deno.test("32 sources are remembered, those received last", () => {
  const estimator = new ClockEstimator({ earliestUs: EARLIEST_US });
  for (let source = 0; source < 100; source++) {
    for (let second = 0; second <= 40; second += 5) {
      const monoMs = 1000 * (source * 50 + second);
      const gnssUs = EARLIEST_US + source * DAY_US + monoMs * 1000;
      estimator.add({ monoMs, gnssUs, source: `0:${source}`, pgn: 126992 });
    }
  }
  const { source, rejected } = estimator.estimate() ?? assert.fail();
  const known = [source, ...rejected.map((each) => each.source)];
  const wanted = Array.from({ length: 32 }, (_, i) => `0:${i + 68}`);
  assert.deepEqual(known.sort(), wanted);
});
