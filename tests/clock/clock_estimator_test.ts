import assert from "node:assert/strict";
import type { ClockEstimate } from "../../src/clock/mod.ts";
import { ClockEstimator } from "../../src/clock/mod.ts";
import { Random } from "../support/random.ts";
import {
  type Boot,
  EARLIEST_US,
  HOUR,
  LATENCIES,
  MINUTE,
  receiver,
  run,
  trueUs,
  withOutliers,
  worstMs,
} from "./clock_fixture.ts";

const GOOD_MS = 50;
const FAIR_MS = 500;

function randomBoot(random: Random, waveSize = 0): Boot {
  const baseUs = (Date.UTC(2027, 0, 1) + random.int(5 * 365 * 24) * HOUR) * 1000;
  const wave = { ppm: waveSize * random.next(), periodMs: 24 * HOUR, phase: 7 * random.next() };
  return { baseUs, ppm: random.between(-200, 200), wave };
}

/** Compares an estimate with what its quality promises over the time observed, and before and after. */
function check(estimate: ClockEstimate, { boot, fromMs, toMs, what }: {
  boot: Boot;
  fromMs: number;
  toMs: number;
  what: string;
}): void {
  const isGood = estimate.quality === "good";
  const beyond = isGood ? Math.min(toMs - fromMs, 3 * HOUR) : 15 * MINUTE;
  const worst = worstMs(boot, estimate, { fromMs: fromMs - beyond, toMs: toMs + beyond });
  assert.ok(worst <= (isGood ? GOOD_MS : FAIR_MS), `${what}: ${estimate.quality}, error ${worst} ms`);
}

Deno.test("from 16 minutes of readings on ±50 ms holds as long before and after, up to three hours, at every drift", () => {
  for (const [name, latency] of Object.entries(LATENCIES)) {
    for (let seed = 1; seed <= 15; seed++) {
      const random = new Random(seed);
      const boot = randomBoot(random, 1);
      const fromMs = random.int(20 * MINUTE);
      const times = [2, 5, 10, 16, 20, 45, 120, 300].map((minutes) => fromMs + minutes * MINUTE);
      const gps = receiver({ fromMs, toMs: fromMs + 300 * MINUTE, latencyMs: withOutliers(latency) });
      let good = 0;
      const at = (estimate: ClockEstimate | undefined, toMs: number) => {
        const what = `${name} ${seed} after ${(toMs - fromMs) / MINUTE} min`;
        if (!estimate) return assert.fail(what);
        check(estimate, { boot, fromMs, toMs, what });
        if (estimate.quality === "good") good++;
        if (toMs - fromMs < 15 * MINUTE) assert.equal(estimate.quality, "fair", what);
        assert.deepEqual(estimate.rejected, [], what);
      };
      run(boot, { receivers: [gps], random, times, at });
      assert.ok(good >= 4, `${name} ${seed}: good at ${good} of the last 5 times`);
    }
  }
});

Deno.test("±50 ms holds at ±3 ppm over a day for the time observed, at ±1 ppm for three hours beyond", () => {
  for (
    const { ppm, beyondMs, leastGood } of [{ ppm: 1, beyondMs: 3 * HOUR, leastGood: 90 }, {
      ppm: 3,
      beyondMs: 0,
      leastGood: 50,
    }]
  ) {
    let good = 0;
    for (let seed = 0; seed < 15; seed++) {
      const random = new Random(seed);
      const wave = { ppm, periodMs: 24 * HOUR, phase: 2 * Math.PI * seed / 15 };
      const boot = { baseUs: EARLIEST_US + 1e13, ppm: random.between(-200, 200), wave };
      const gps = receiver({ fromMs: 3 * HOUR, toMs: 27 * HOUR, intervalMs: 3000, latencyMs: LATENCIES.narrow! });
      const at = (estimate: ClockEstimate | undefined, toMs: number) => {
        if (!estimate) return assert.fail();
        const range = { fromMs: 3 * HOUR - beyondMs, toMs: toMs + beyondMs };
        const worst = worstMs(boot, estimate, range);
        const limit = estimate.quality === "good" ? GOOD_MS : FAIR_MS;
        assert.ok(worst <= limit, `±${ppm} ppm ${seed} after ${toMs / HOUR} h: ${estimate.quality}, error ${worst} ms`);
        if (estimate.quality === "good") good++;
      };
      run(boot, { receivers: [gps], random, times: [6, 8, 10, 12, 15, 19, 23, 27].map((hours) => hours * HOUR), at });
    }
    assert.ok(good >= leastGood, `±${ppm} ppm: good at ${good} of 120 times`);
  }
});

Deno.test("a drift that changes by ±10 ppm over a day is fair", () => {
  const boot = { baseUs: EARLIEST_US, ppm: 20, wave: { ppm: 10, periodMs: 24 * HOUR, phase: 1 } };
  const gps = receiver({ fromMs: 0, toMs: 22 * HOUR, intervalMs: 5000 });
  const estimate = run(boot, { receivers: [gps], random: new Random(1) }) ?? assert.fail();
  const worst = worstMs(boot, estimate, { fromMs: 0, toMs: gps.toMs });
  assert.ok(estimate.quality === "fair" && worst > GOOD_MS && worst < FAIR_MS, `${estimate.quality}, ${worst} ms`);
});

Deno.test("the drift of days ago is forgotten", () => {
  const boot = { baseUs: EARLIEST_US, ppm: 20 };
  const errorUs = (ms: number) => 5e-3 * Math.min(0, ms - 30 * HOUR);
  const gps = receiver({ fromMs: 0, toMs: 55 * HOUR, intervalMs: 5000, errorUs });
  const estimate = run(boot, { receivers: [gps], random: new Random(1) }) ?? assert.fail();
  const worst = worstMs(boot, estimate, { fromMs: 31 * HOUR, toMs: gps.toMs });
  assert.ok(estimate.quality === "good" && worst <= GOOD_MS, `${estimate.quality}, ${worst} ms`);
  assert.ok(estimate.readings > 39_000);
});

Deno.test("a wrong time at the start of a receiver is left as soon as it jumps: leap seconds, its own clock, 1980", () => {
  const errors = [18e6, -18e6, 2.5e6, -3e6, -40 * 365 * 86_400e6, 86_400e6];
  for (let seed = 1; seed <= 24; seed++) {
    const random = new Random(seed);
    const boot = randomBoot(random);
    const error = errors[seed % errors.length]!;
    const wrongMs = seed % 2 === 0 ? 12.5 * MINUTE : random.int(MINUTE);
    const fromMs = random.int(10 * MINUTE);
    const rightMs = fromMs + wrongMs;
    const gps = receiver({ fromMs, toMs: fromMs + 2 * HOUR, errorUs: (ms) => ms < rightMs ? error : 0 });
    const at = (estimate: ClockEstimate | undefined, toMs: number) => {
      const what = `${seed}, error ${error / 1e6} s, after ${(toMs - rightMs) / MINUTE} min`;
      if (!estimate) return assert.fail(what);
      if (toMs < rightMs) return assert.notEqual(estimate.quality, "good", what);
      check(estimate, { boot, fromMs: rightMs, toMs, what });
      if (toMs - rightMs > 30 * MINUTE) assert.equal(estimate.quality, "good", what);
    };
    const times = [1, 5, 20, 40, 80].map((minutes) => rightMs + minutes * MINUTE);
    if (wrongMs > 10 * MINUTE && error > -1e12) times.push(fromMs + 11 * MINUTE);
    run(boot, { receivers: [gps], random, times, at });
  }
});

Deno.test("a receiver that starts again with wrong leap seconds does not move the estimate", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = new Random(seed);
    const boot = randomBoot(random);
    const gps = (fromMs: number, toMs: number, errorUs = 0) => receiver({ fromMs, toMs, errorUs: () => errorUs });
    const again = 2 * HOUR + random.int(HOUR);
    const receivers = [
      gps(MINUTE, HOUR),
      gps(again, again + 12.5 * MINUTE, random.pick([18e6, -9e6])),
      gps(again + 12.5 * MINUTE, again + HOUR),
    ];
    const times = [61, 125, 183, 190, 195, 200].map((minutes) => minutes * MINUTE);
    const at = (estimate: ClockEstimate | undefined, toMs: number) => {
      assert.equal(estimate?.quality, "good");
      check(estimate!, { boot, fromMs: MINUTE, toMs: HOUR, what: `${seed} after ${toMs / MINUTE} min` });
    };
    run(boot, { receivers, random, times, at });
  }
});

Deno.test("after hours without GNSS the readings join the line of those before", () => {
  for (let seed = 1; seed <= 10; seed++) {
    const random = new Random(seed);
    const boot = randomBoot(random, 1);
    const lost = (1 + 8 * random.next()) * HOUR;
    const receivers = [
      receiver({ fromMs: MINUTE, toMs: HOUR }),
      receiver({ fromMs: HOUR + lost, toMs: 1.2 * HOUR + lost }),
    ];
    const last = run(boot, { receivers, random });
    assert.equal(last?.quality, "good");
    assert.ok(last.readings > 4000, `${last.readings} readings`);
    check(last, { boot, fromMs: MINUTE, toMs: receivers[1]!.toMs, what: `${seed}, lost for ${lost / HOUR} h` });
  }
});

Deno.test("few readings give a fair estimate, outliers and one reading none", () => {
  const boot = { baseUs: EARLIEST_US + 1e12, ppm: 100 };
  const estimator = new ClockEstimator({ earliestUs: EARLIEST_US });
  const add = (ms: number, latencyMs: number) =>
    estimator.add({ monoMs: ms + latencyMs, gnssUs: trueUs(boot, ms), source: "0:1", pgn: 126992 });
  assert.equal(estimator.estimate(), undefined);
  for (const [i, latencyMs] of [0, 3000, 9000, 20_000, 50_000].entries()) add(i * 60_000, latencyMs);
  assert.equal(estimator.estimate(), undefined);
  for (let i = 5; i < 12; i++) add(i * 60_000, 100);
  const estimate = estimator.estimate() ?? assert.fail();
  assert.deepEqual([estimate.quality, estimate.source, estimate.pgn], ["fair", "0:1", 126992]);
  check(estimate, { boot, fromMs: 300_000, toMs: 660_000, what: "12 readings" });
});

Deno.test("readings that are no numbers or go back in time change nothing", () => {
  const boot = { baseUs: EARLIEST_US + 1e12, ppm: -30 };
  const wanted = new ClockEstimator({ earliestUs: EARLIEST_US });
  const hostile = new ClockEstimator({ earliestUs: EARLIEST_US });
  for (let i = 0; i < 3000; i++) {
    const reading = { monoMs: i * 1000, gnssUs: trueUs(boot, i * 1000), source: "0:1", pgn: 126992 };
    wanted.add(reading);
    hostile.add(reading);
    hostile.add({ ...reading, gnssUs: NaN });
    hostile.add({ ...reading, monoMs: Infinity });
    hostile.add({ ...reading, monoMs: reading.monoMs - 400 });
  }
  assert.deepEqual(hostile.estimate(), wanted.estimate());
});
