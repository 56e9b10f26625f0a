import assert from "node:assert/strict";
import { averageMps, fuelOf, type Period, type Slot, type Voyage, VoyageDetector } from "../../src/voyages/mod.ts";
import { IS_FULL, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { PassageMaker } from "./passage.ts";
import { anchorDays, marinaDays, type Passage, passageOf, RECEIVERS, START_MS } from "./passages.ts";
import { slotsOfSamples } from "./series_of.ts";

const MINUTE = 60;
const HOUR = 3600;
/** How far off an end may be. */
const TOLERANCE_MS = 60_000;
/** Receivers and days of stays. */
const SEEDS = IS_FULL ? RECEIVERS.keys().toArray() : [1, 3];
const DAYS = IS_FULL ? 7 : 1;

function periodsOf(slots: Iterable<Slot>): Period[] {
  const detector = new VoyageDetector();
  const periods: Period[] = [];
  for (const slot of slots) periods.push(...detector.push(slot));
  return [...periods, ...detector.end()];
}

function periodsOfBoat({ samples }: PassageMaker): Period[] {
  return periodsOf(slotsOfSamples(samples));
}

const statesOf = (periods: readonly Period[]) => periods.map(({ state }) => state);
const voyagesIn = (periods: readonly Period[]) => periods.filter((each): each is Voyage => each.state === "under_way");

/** A boat with a good receiver. */
function boatWith(way: (boat: PassageMaker) => void, { seed = 5, receiver = RECEIVERS[1]! } = {}): PassageMaker {
  const boat = new PassageMaker(new Random(seed), { startMs: START_MS, receiver });
  way(boat);
  return boat;
}

/** The numbers of the passages of a run: every kind and every receiver is among them. */
function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => (7 * i) % 50);
}

/** Compares what was found with the truth. Returns the periods. */
function checkPassage({ name, boat }: Passage): Period[] {
  const periods = periodsOfBoat(boat);
  const voyages = voyagesIn(periods);
  assert.equal(voyages.length, boat.voyages.length, name);
  for (const [i, found] of voyages.entries()) {
    const expected = boat.voyages[i]!;
    const offMs = [found.startMs - expected.startMs, found.endMs - expected.endMs];
    assert.ok(offMs.every((ms) => Math.abs(ms) <= TOLERANCE_MS), `${name}: voyage ${i} is off by ${offMs} ms`);
    assert.ok(Math.abs(found.distanceM / expected.distanceM - 1) < 0.03, `${name}: ${found.distanceM} m`);
    const running = found.engines.find(({ instance }) => instance === 0)?.runningS ?? 0;
    assert.ok(Math.abs(running - expected.runningS) <= 120, `${name}: ${running} s of ${expected.runningS} s`);
    assert.ok(Math.abs(fuelOf(found)! - running * 4 / HOUR) < 0.2, `${name}: ${fuelOf(found)} L`);
    assert.equal(found.isComplete, true, name);
    assert.equal(found.wind?.reference, "true", name);
  }
  return periods;
}

Deno.test("of 50 passages every voyage is found within a minute, with its figures, and no other", () => {
  const found = numbers(rounds(50, 12)).map((number) => ({ number, periods: checkPassage(passageOf(number)) }));
  assert.equal(new Set(found.map(({ number }) => number)).size, rounds(50, 12));
});

Deno.test("days at anchor with gusts, tide, a charging engine and lost positions are no voyage", () => {
  for (const seed of SEEDS) {
    const boat = anchorDays(seed, DAYS);
    assert.deepEqual(statesOf(periodsOfBoat(boat)), ["at_anchor"], `receiver ${seed}`);
  }
});

Deno.test("days in a marina are no voyage", () => {
  for (const seed of SEEDS) {
    const boat = marinaDays(seed, DAYS);
    assert.deepEqual(statesOf(periodsOfBoat(boat)), ["in_port"], `receiver ${seed}`);
  }
});

Deno.test("a stop of 20 minutes is part of a voyage, one of 30 minutes ends it", () => {
  const withStop = (seconds: number) =>
    boatWith((boat) => {
      boat.berth(HOUR).go(0.5 * HOUR, { knots: 6, engine: true }).stop(seconds);
      boat.go(0.5 * HOUR, { knots: 6, engine: true }).berth(HOUR);
    });
  assert.deepEqual(statesOf(periodsOfBoat(withStop(20 * MINUTE))), ["in_port", "under_way", "in_port"]);
  const parted = statesOf(periodsOfBoat(withStop(30 * MINUTE)));
  assert.deepEqual(parted, ["in_port", "under_way", "in_port", "under_way", "in_port"]);
});

Deno.test("a new anchorage 400 m away is a voyage; another berth, and an anchor that drags slowly, are none", () => {
  const hop = boatWith((boat) => boat.berth(HOUR).go(200, { knots: 4, engine: true }).berth(HOUR));
  assert.deepEqual(statesOf(periodsOfBoat(hop)), ["in_port", "under_way", "in_port"]);
  const berth = boatWith((boat) => boat.berth(HOUR).go(110, { knots: 3, engine: true }).berth(HOUR));
  assert.deepEqual(voyagesIn(periodsOfBoat(berth)), []);
  const drags = boatWith((boat) => boat.anchor(2 * HOUR, { radiusM: 40 }).go(2 * HOUR, { knots: 0.1 }).berth(HOUR));
  assert.deepEqual(statesOf(periodsOfBoat(drags)), ["at_anchor"]);
});

Deno.test("an engine that drives a boat in small circles makes a voyage, a gale at anchor does not", () => {
  const circles = (boat: PassageMaker, engine: boolean) => {
    boat.berth(HOUR);
    for (let i = 0; i < 120; i++) boat.go(30, { knots: 2.5, engine, headingRad: boat.headingRad + 0.8, rampS: 5 });
    boat.berth(HOUR);
  };
  const [voyage, ...others] = voyagesIn(periodsOfBoat(boatWith((boat) => circles(boat, true))));
  assert.equal(others.length, 0);
  assert.ok(voyage!.endMs - voyage!.startMs > 30 * MINUTE * 1000);
  assert.deepEqual(voyagesIn(periodsOfBoat(boatWith((boat) => circles(boat, false)))), []);
});

Deno.test("a voyage goes on over frames that are missing while the boat moved on, and is not complete", () => {
  const boat = boatWith((boat) => {
    boat.berth(HOUR).go(HOUR, { knots: 6, engine: true });
    boat.switchedOff(() => boat.go(2 * HOUR, { knots: 6, engine: true }));
    boat.go(HOUR, { knots: 6, engine: true }).berth(HOUR);
  });
  const periods = periodsOfBoat(boat);
  assert.deepEqual(statesOf(periods), ["in_port", "under_way", "in_port"]);
  const [voyage] = voyagesIn(periods);
  assert.equal(voyage?.isComplete, false);
  assert.ok(Math.abs(voyage.distanceM - 4 * 6 * 1852) < 600);
});

Deno.test("without frames for days, after which the boat is elsewhere, a voyage ends and another begins", () => {
  const boat = boatWith((boat) => {
    boat.berth(HOUR).go(HOUR, { knots: 6 });
    boat.switchedOff(() => boat.go(HOUR, { knots: 6 }).berth(48 * HOUR));
    boat.go(HOUR, { knots: 6 }).berth(HOUR);
  });
  const periods = periodsOfBoat(boat);
  assert.deepEqual(statesOf(periods), ["in_port", "under_way", "unknown", "under_way", "in_port"]);
  assert.deepEqual(voyagesIn(periods).map(({ isComplete }) => isComplete), [false, false]);
});

Deno.test("a boat that was carried while it was off has stayed twice, and no voyage is invented", () => {
  const boat = boatWith((boat) => {
    boat.berth(HOUR).switchedOff(() => boat.go(8 * HOUR, { knots: 5 }).berth(48 * HOUR)).berth(HOUR);
  });
  assert.deepEqual(statesOf(periodsOfBoat(boat)), ["in_port", "unknown", "in_port"]);
});

Deno.test("a voyage that has not ended, or whose start was not recorded, is not complete", () => {
  const begun = boatWith((boat) => boat.berth(HOUR).go(HOUR, { knots: 6 }));
  const periods = periodsOfBoat(begun);
  assert.deepEqual(statesOf(periods), ["in_port", "under_way"]);
  assert.equal(voyagesIn(periods)[0]?.isComplete, false);
  const ended = voyagesIn(periodsOfBoat(boatWith((boat) => boat.go(HOUR, { knots: 6 }).berth(HOUR))));
  assert.deepEqual(ended.map(({ isComplete }) => isComplete), [false]);
});

Deno.test("from less than half an hour at one place nothing is concluded", () => {
  assert.deepEqual(statesOf(periodsOfBoat(boatWith((boat) => boat.berth(10 * MINUTE)))), ["unknown"]);
  assert.deepEqual(periodsOf([]), []);
});

Deno.test("without positions there is no period, without speed over ground and engines there is", () => {
  const { boat } = passageOf(0);
  const slots = slotsOfSamples(boat.samples);
  assert.deepEqual(periodsOf(slots.map((slot) => ({ ...slot, fix: undefined }))), []);
  const bare = slots.map(({ startMs, fix }): Slot => ({
    ...{ startMs, fix, sog: undefined, headingRad: undefined, engines: [] },
    ...{ trueWind: undefined, apparentWind: undefined },
  }));
  const [voyage, ...others] = voyagesIn(periodsOf(bare));
  const [expected] = boat.voyages;
  assert.equal(others.length, 0);
  assert.ok(Math.abs(voyage!.startMs - expected!.startMs) < 2 * TOLERANCE_MS);
  assert.ok(Math.abs(voyage!.endMs - expected!.endMs) < 2 * TOLERANCE_MS);
  assert.deepEqual([voyage!.maxMps, voyage!.wind, voyage!.engines], [undefined, undefined, []]);
});

Deno.test("speeds are those of the way: average, and maximum without jumps of the receiver", () => {
  const boat = boatWith((boat) => boat.berth(HOUR).go(HOUR, { knots: 10 }).go(HOUR, { knots: 4 }).berth(HOUR));
  const spike = boat.samples.find(({ sogMps = 0, timeMs }) => sogMps > 4 && timeMs > START_MS + 1.5 * HOUR * 1000)!;
  spike.sogMps = 60;
  const [voyage] = voyagesIn(periodsOfBoat(boat));
  assert.ok(Math.abs(averageMps(voyage!) - 7 * 0.514) < 0.1, `${averageMps(voyage!)}`);
  assert.ok(voyage!.maxMps! > 10 * 0.514 && voyage!.maxMps! < 10 * 0.514 + 1, `${voyage!.maxMps}`);
});

Deno.test("errors of a bad receiver do not add up to distance while the boat lies in locks", () => {
  const { boat } = passageOf(33);
  const [voyage] = voyagesIn(periodsOfBoat(boat));
  const ratio = voyage!.distanceM / boat.voyages[0]!.distanceM;
  assert.ok(Math.abs(ratio - 1) < 0.01, `${ratio}`);
});

Deno.test("apparent wind counts where the true wind is not known", () => {
  const boat = boatWith((boat) => boat.berth(HOUR).go(HOUR, { knots: 6 }).berth(HOUR));
  for (const sample of boat.samples) delete sample.trueWindMps;
  assert.equal(voyagesIn(periodsOfBoat(boat))[0]?.wind?.reference, "apparent");
});

Deno.test("slots that come twice, or late, change nothing, and neither does where the calls are divided", () => {
  const random = new Random(11);
  for (const number of [1, 6, 7, 24]) {
    const slots = slotsOfSamples(passageOf(number).boat.samples);
    const expected = periodsOf(slots);
    const noisy = slots.flatMap((slot, i) => {
      const earlier = slots.slice(Math.max(0, i - 50), i).toReversed();
      return random.chance(0.05) ? [slot, slot, ...earlier] : [slot];
    });
    assert.deepEqual(periodsOf(noisy), expected);
    const detector = new VoyageDetector();
    const found: Period[] = [];
    for (let at = 0; at < slots.length;) {
      const end = at + random.between(1, 400);
      found.push(...slots.slice(at, end).flatMap((slot) => detector.push(slot)));
      at = end;
    }
    assert.deepEqual([...found, ...detector.end()], expected);
  }
});

Deno.test("periods follow one another without overlap, whatever the slots are", () => {
  const random = new Random(12);
  for (let round = 0; round < rounds(100, 8); round++) {
    const slots = slotsOfSamples(passageOf(random.int(50)).boat.samples.slice(0, 20_000));
    const strange = slots.filter(() => random.chance(0.9)).map((slot) => {
      if (random.chance(0.1)) return { ...slot, fix: undefined };
      if (!slot.fix || random.chance(0.95)) return slot;
      const fix = { ...slot.fix, latitude: 180 * random.next() - 90, longitude: 360 * random.next() - 180 };
      return { ...slot, fix };
    });
    let before = -Infinity;
    for (const { startMs, endMs } of periodsOf(strange)) {
      assert.ok(startMs >= before && endMs >= startMs, `${startMs} ${endMs} after ${before}`);
      before = endMs;
    }
  }
});
