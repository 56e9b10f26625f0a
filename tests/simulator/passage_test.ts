import assert from "node:assert/strict";
import { bearingRad, distanceM, move, wrapHalfTurn } from "../../src/simulator/navigation.ts";
import { createPassage, type PassageState, stepPassage } from "../../src/simulator/passage.ts";
import { ARRIVAL_RADIUS_M, progressOn, ROUTE } from "../../src/simulator/route.ts";

const STEP_MS = 50;

function sail(state: PassageState, { seconds, watch }: { seconds: number; watch?: (state: PassageState) => void }) {
  for (let ms = 0; ms < seconds * 1000; ms += STEP_MS) {
    state = stepPassage(state, STEP_MS);
    watch?.(state);
  }
  return state;
}

Deno.test("passage: the same seed sails the same way, another one does not", () => {
  const end = (seed: number) => JSON.stringify(sail(createPassage(seed), { seconds: 30 }));
  assert.equal(end(5), end(5));
  assert.notEqual(end(5), end(6));
});

Deno.test("passage: a step leaves the state it started from alone", () => {
  const state = createPassage(3);
  const before = JSON.stringify(state);
  stepPassage(state, STEP_MS);
  assert.equal(JSON.stringify(state), before);
});

Deno.test("passage: the position changes by course and speed over ground", () => {
  const start = sail(createPassage(1), { seconds: 10 });
  let north = 0;
  let east = 0;
  const end = sail(start, {
    seconds: 60,
    watch: ({ motion }) => {
      north += motion.speedOverGroundMps * Math.cos(motion.courseOverGroundRad) * STEP_MS / 1000;
      east += motion.speedOverGroundMps * Math.sin(motion.courseOverGroundRad) * STEP_MS / 1000;
    },
  });
  const expected = Math.hypot(north, east);
  const sailed = distanceM(start.motion.position, end.motion.position);
  assert.ok(expected > 150, `sailed ${expected} m in a minute`);
  assert.ok(Math.abs(sailed - expected) < 0.5, `${sailed} m instead of ${expected} m`);
  const bearing = bearingRad(start.motion.position, end.motion.position);
  assert.ok(Math.abs(wrapHalfTurn(bearing - Math.atan2(east, north))) < 0.001);
});

Deno.test("passage: ground speed is speed through the water plus current", () => {
  sail(createPassage(2), {
    seconds: 20,
    watch: ({ motion, weather }) => {
      // The current of this very step was the weather's a step ago: it changes by less than a millimetre a second.
      const through = motion.headingRad + motion.leewayRad;
      const north = motion.speedThroughWaterMps * Math.cos(through) +
        weather.currentSpeedMps * Math.cos(weather.currentSetRad);
      const east = motion.speedThroughWaterMps * Math.sin(through) +
        weather.currentSpeedMps * Math.sin(weather.currentSetRad);
      assert.ok(Math.abs(Math.hypot(north, east) - motion.speedOverGroundMps) < 0.001);
    },
  });
});

Deno.test("passage: an autopilot holds the route for two hours", () => {
  let worstM = 0;
  const end = sail(createPassage(4), {
    seconds: 7200,
    watch: ({ motion, waypoint }) => {
      const { crossTrackM, distanceM } = progressOn(waypoint, motion.position);
      worstM = Math.max(worstM, Math.abs(crossTrackM));
      assert.ok(distanceM < 12_000);
    },
  });
  assert.ok(end.waypoint >= 3, `${end.waypoint} waypoints reached`);
  assert.ok(worstM <= 2 * ARRIVAL_RADIUS_M, `${worstM} m off the track`);
});

Deno.test("passage: engines burn fuel, count hours and get warm", () => {
  const start = createPassage(1);
  const end = sail(start, { seconds: 1800 });
  for (const side of [0, 1] as const) {
    const [before, after] = [start.engines[side], end.engines[side]];
    assert.ok(Math.abs(after.hoursS - before.hoursS - 1800) < 1e-6);
    assert.ok(after.coolantK > 350 && after.coolantK < 360);
    const burnt = side === 0
      ? start.tanks.fuelPortL - end.tanks.fuelPortL
      : start.tanks.fuelStarboardL - end.tanks.fuelStarboardL;
    assert.ok(burnt > 1 && burnt < 6, `${burnt} L in half an hour`);
    assert.ok(Math.abs(burnt - after.tripFuelL) < 1e-6);
  }
  assert.ok(end.tanks.freshWaterL < start.tanks.freshWaterL);
  assert.ok(end.tanks.greyWaterL > start.tanks.greyWaterL);
});

Deno.test("passage: the house battery drains, is charged and rests", () => {
  const phases = new Set<string>();
  let lowest = 1;
  let highest = 0;
  sail(createPassage(1), {
    seconds: 8 * 3600,
    watch: ({ electrics }) => {
      phases.add(electrics.charge.type);
      lowest = Math.min(lowest, electrics.stateOfCharge);
      highest = Math.max(highest, electrics.stateOfCharge);
    },
  });
  assert.deepEqual([...phases].sort(), ["absorption", "bulk", "float", "off"]);
  assert.ok(lowest > 0.78 && highest > 0.98 && highest <= 1, `${lowest} to ${highest}`);
});

Deno.test("passage: other vessels sail their own courses and stay in the bight", () => {
  const start = createPassage(1);
  const end = sail(start, { seconds: 3600 });
  end.traffic.forEach((target, i) => {
    const moved = distanceM(start.traffic[i]!.position, target.position);
    assert.equal(moved > 100, target.vessel.speedMps > 0, target.vessel.name);
    assert.ok(distanceM(target.position, ROUTE[0].position) < 50_000, target.vessel.name);
  });
});

Deno.test("navigation: moving and measuring agree", () => {
  const from = { latitude: 54.5, longitude: 10.3 };
  const to = move(from, { courseRad: 1.1, distanceM: 1000 });
  assert.ok(Math.abs(distanceM(from, to) - 1000) < 0.2);
  assert.ok(Math.abs(bearingRad(from, to) - 1.1) < 0.001);
});
