import {
  createEngine,
  createThrottle,
  type Electrics,
  type Engine,
  engineSpeedAt,
  RATED_RPM,
  stepElectrics,
  stepEngine,
  stepTanks,
  type Switches,
  switchesAt,
  type Tanks,
  type Throttle,
} from "./machinery.ts";
import { type Motion, type Pilot, stepMotion, stepPilot } from "./motion.ts";
import { move } from "./navigation.ts";
import { mulberry32, type Random, swellAt } from "./random.ts";
import { legTo, progressOn } from "./route.ts";
import { createTraffic, stepTarget, type Target } from "./traffic.ts";
import { type Climate, createClimate, leewayIn, type Weather, weatherAt } from "./weather.ts";

/** State of the simulated boat at one moment. Immutable: each step creates a new one. */
export interface PassageState {
  readonly seed: number;
  /** Time since the start of the passage, milliseconds. */
  readonly timeMs: number;
  readonly climate: Climate;
  readonly throttles: readonly [Throttle, Throttle];
  readonly motion: Motion;
  readonly weather: Weather;
  readonly pilot: Pilot;
  /** Index of the next waypoint; increases from lap to lap. */
  readonly waypoint: number;
  /** Port and starboard. */
  readonly engines: readonly [Engine, Engine];
  readonly tanks: Tanks;
  readonly electrics: Electrics;
  readonly switches: Switches;
  readonly traffic: readonly Target[];
  /** Distance through the water, metres: since launch and since the start of the passage. */
  readonly logM: number;
  readonly tripM: number;
}

/** Longest step for which the steering model is stable, milliseconds. */
export const MAX_STEP_MS = 100;

/** Speed through the water at rated engine speed. */
const FULL_SPEED_MPS = 5.3;
/** Distance from the first waypoint at the start, so that it is reached within minutes. */
const START_BEFORE_WAYPOINT_M = 900;
const START_SPEED_MPS = 3.6;
/** Step of machinery, tanks and other ships, which change slowly. */
const SLOW_STEP_MS = 1000;

/** The initial state for a seed. */
export function createPassage(seed: number): PassageState {
  const random = mulberry32(seed);
  const climate = createClimate(random);
  const waypoint = 0;
  const leg = legTo(waypoint);
  const { trackRad } = progressOn(waypoint, leg.from);
  const motion: Motion = {
    position: move(leg.to, { courseRad: trackRad + Math.PI, distanceM: START_BEFORE_WAYPOINT_M }),
    headingRad: trackRad,
    turnRateRadPerS: 0,
    speedThroughWaterMps: START_SPEED_MPS,
    leewayRad: 0,
    courseOverGroundRad: trackRad,
    speedOverGroundMps: START_SPEED_MPS,
  };
  return {
    seed,
    timeMs: 0,
    climate,
    motion,
    throttles: [createThrottle(random), createThrottle(random)],
    weather: weatherAt(climate, { motion, timeS: 0 }),
    pilot: { headingToSteerRad: trackRad, rudderOrderRad: 0, rudderRad: 0, driftRad: 0 },
    waypoint,
    engines: [createEngine(random), createEngine(random)],
    tanks: createTanks(random),
    electrics: createElectrics(random),
    switches: switchesAt(0),
    traffic: createTraffic(random),
    logM: 4_812_000,
    tripM: 0,
  };
}

function createTanks(random: Random): Tanks {
  return {
    fuelPortL: 300 + 60 * random(),
    fuelStarboardL: 300 + 60 * random(),
    freshWaterL: 380 + 120 * random(),
    greyWaterL: 30 + 40 * random(),
    blackWaterL: 10 + 30 * random(),
  };
}

function createElectrics(random: Random): Electrics {
  return {
    stateOfCharge: 0.81 + 0.06 * random(),
    houseVolt: 13.2,
    houseAmpere: 0,
    houseK: 297.5,
    loadAmpere: 20,
    startPortVolt: 14.1,
    startStarboardVolt: 14.1,
    charge: { type: "off" },
    dischargedAs: 0,
  };
}

/**
 * The state after `dtMs`. Pure: the same state and step give the same result.
 *
 * @param dtMs more than 0, at most {@linkcode MAX_STEP_MS}
 */
export function stepPassage(state: PassageState, dtMs: number): PassageState {
  const timeMs = state.timeMs + dtMs;
  const timeS = timeMs / 1000;
  const dtS = dtMs / 1000;
  const { climate, throttles, weather, pilot } = state;
  const portRpm = engineSpeedAt(throttles[0], timeS);
  const starboardRpm = engineSpeedAt(throttles[1], timeS);
  const motion = stepMotion(state.motion, {
    dtS,
    forces: {
      rudderRad: pilot.rudderRad,
      yawRadPerS: swellAt(climate.yaw, timeS),
      speedTargetMps: FULL_SPEED_MPS * (portRpm + starboardRpm) / 2 / RATED_RPM + swellAt(climate.surge, timeS),
      leewayRad: leewayIn(weather.wind),
      currentSpeedMps: weather.currentSpeedMps,
      currentSetRad: weather.currentSetRad,
    },
  });
  const leg = progressOn(state.waypoint, motion.position);
  const sailedM = motion.speedThroughWaterMps * dtS;
  const [port, starboard] = state.engines;
  const next: PassageState = {
    ...state,
    timeMs,
    motion,
    weather: weatherAt(climate, { motion, timeS }),
    pilot: stepPilot(pilot, { motion, leg, dtS }),
    waypoint: leg.arrived || leg.perpendicularCrossed ? state.waypoint + 1 : state.waypoint,
    engines: [{ ...port, speedRpm: portRpm }, { ...starboard, speedRpm: starboardRpm }],
    logM: state.logM + sailedM,
    tripM: state.tripM + sailedM,
  };
  const slowSteps = Math.floor(timeMs / SLOW_STEP_MS) - Math.floor(state.timeMs / SLOW_STEP_MS);
  return slowSteps > 0 ? stepSlowly(next, slowSteps * SLOW_STEP_MS / 1000) : next;
}

function stepSlowly(state: PassageState, dtS: number): PassageState {
  const timeS = state.timeMs / 1000;
  const [port, starboard] = state.engines;
  const engines = [
    stepEngine(port, { speedRpm: port.speedRpm, dtS }),
    stepEngine(starboard, { speedRpm: starboard.speedRpm, dtS }),
  ] as const;
  const switches = switchesAt(timeS);
  return {
    ...state,
    engines,
    switches,
    tanks: stepTanks(state.tanks, {
      portLph: engines[0].fuelRateLph,
      starboardLph: engines[1].fuelRateLph,
      dtS,
    }),
    electrics: stepElectrics(state.electrics, { switches, timeS, dtS }),
    traffic: state.traffic.map((target) => stepTarget(target, dtS)),
  };
}
