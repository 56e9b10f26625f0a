import { polar, type Position, radians, type Velocity, velocityOf, wrapHalfTurn, wrapTurn } from "./navigation.ts";
import type { Motion } from "./motion.ts";
import { createSwell, type Random, type Swell, swellAt } from "./random.ts";

/** Parameters of wind, waves, current, air and sea bed. */
export interface Climate {
  readonly windSpeedMps: number;
  /** Direction that the wind comes from. */
  readonly windFromRad: number;
  readonly gusts: Swell;
  readonly shifts: Swell;
  /** Turn rate, roll, pitch, heave and speed changes caused by waves. */
  readonly yaw: Swell;
  readonly roll: Swell;
  readonly pitch: Swell;
  readonly heave: Swell;
  readonly surge: Swell;
  readonly currentSpeed: Swell;
  readonly currentSet: Swell;
  readonly pressure: Swell;
  readonly airTemperature: Swell;
  readonly humidity: Swell;
  /** Shape of the sea bed. */
  readonly seabed: readonly { readonly perDegree: number; readonly phase: number; readonly heightM: number }[];
}

/** Wind at the masthead. Angles are from the bow, positive to starboard; directions are where it comes from. */
export interface Wind {
  /** Over ground. */
  readonly trueSpeedMps: number;
  readonly trueFromRad: number;
  readonly trueAngleRad: number;
  readonly apparentSpeedMps: number;
  readonly apparentAngleRad: number;
}

/** Wind, current and waves at one moment. */
export interface Weather {
  readonly wind: Wind;
  readonly currentSpeedMps: number;
  /** Direction that the current flows to. */
  readonly currentSetRad: number;
  readonly rollRad: number;
  readonly pitchRad: number;
  readonly heaveM: number;
}

/** Mean values: a June day in the western Baltic. */
const MEAN_CURRENT_MPS = 0.35;
const MEAN_CURRENT_SET_RAD = radians(75);
const MEAN_DEPTH_M = 17;
const MIN_DEPTH_M = 6;
const MEAN_PRESSURE_PA = 101_520;
const MEAN_AIR_K = 290.6;
const MEAN_SEA_K = 288.2;
const MEAN_HUMIDITY_PERCENT = 71;
const HOUR_S = 3600;

/** Heel of a catamaran per square of the wind speed from abeam. */
const HEEL_RAD_PER_M2_PER_S2 = 0.0004;
/** Leeway at full beam wind. */
const MAX_LEEWAY_RAD = radians(3);

/** A random climate. */
export function createClimate(random: Random): Climate {
  return {
    windSpeedMps: 6 + 3 * random(),
    windFromRad: radians(200 + 80 * random()),
    gusts: createSwell(random, { amplitude: 2.2, periodsS: [7, 23, 95] }),
    shifts: createSwell(random, { amplitude: radians(14), periodsS: [19, 140, 1900] }),
    yaw: createSwell(random, { amplitude: 0.05, periodsS: [5.2, 6.9, 8.7] }),
    roll: createSwell(random, { amplitude: radians(4), periodsS: [4.3, 5.7, 7.1] }),
    pitch: createSwell(random, { amplitude: radians(2.5), periodsS: [3.4, 4.6] }),
    heave: createSwell(random, { amplitude: 0.4, periodsS: [4.1, 5.6, 6.8] }),
    surge: createSwell(random, { amplitude: 0.5, periodsS: [6.3, 31] }),
    currentSpeed: createSwell(random, { amplitude: 0.25, periodsS: [0.7 * HOUR_S, 6.2 * HOUR_S] }),
    currentSet: createSwell(random, { amplitude: radians(40), periodsS: [1.1 * HOUR_S, 5 * HOUR_S] }),
    pressure: createSwell(random, { amplitude: 900, periodsS: [2 * HOUR_S, 19 * HOUR_S] }),
    airTemperature: createSwell(random, { amplitude: 3, periodsS: [0.3 * HOUR_S, 24 * HOUR_S] }),
    humidity: createSwell(random, { amplitude: 12, periodsS: [0.4 * HOUR_S, 11 * HOUR_S] }),
    seabed: [40, 95, 260].flatMap((perDegree) => [
      { perDegree: perDegree * (0.8 + 0.4 * random()), phase: 2 * Math.PI * random(), heightM: 120 / perDegree },
      { perDegree: perDegree * (0.8 + 0.4 * random()), phase: 2 * Math.PI * random(), heightM: 120 / perDegree },
    ]),
  };
}

/** True and apparent wind on a moving boat. */
export function windOn(motion: Motion, wind: { speedMps: number; fromRad: number }): Wind {
  const air = velocityOf(wind.speedMps, wind.fromRad + Math.PI);
  const boat = velocityOf(motion.speedOverGroundMps, motion.courseOverGroundRad);
  const felt: Velocity = { northMps: air.northMps - boat.northMps, eastMps: air.eastMps - boat.eastMps };
  const { speedMps, directionRad } = polar(felt);
  return {
    trueSpeedMps: wind.speedMps,
    trueFromRad: wrapTurn(wind.fromRad),
    trueAngleRad: wrapHalfTurn(wind.fromRad - motion.headingRad),
    apparentSpeedMps: speedMps,
    apparentAngleRad: wrapHalfTurn(directionRad + Math.PI - motion.headingRad),
  };
}

/** The weather at a time on a boat with this motion. */
export function weatherAt(climate: Climate, { motion, timeS }: { motion: Motion; timeS: number }): Weather {
  const wind = windOn(motion, {
    speedMps: Math.max(1, climate.windSpeedMps + swellAt(climate.gusts, timeS)),
    fromRad: climate.windFromRad + swellAt(climate.shifts, timeS),
  });
  const across = wind.apparentSpeedMps ** 2 * Math.sin(wind.apparentAngleRad);
  return {
    wind,
    currentSpeedMps: MEAN_CURRENT_MPS + swellAt(climate.currentSpeed, timeS),
    currentSetRad: MEAN_CURRENT_SET_RAD + swellAt(climate.currentSet, timeS),
    // Wind from starboard heels to port, which counts negative.
    rollRad: swellAt(climate.roll, timeS) - HEEL_RAD_PER_M2_PER_S2 * across,
    pitchRad: swellAt(climate.pitch, timeS),
    heaveM: swellAt(climate.heave, timeS),
  };
}

/** Leeway caused by the wind; largest with wind from abeam. */
export function leewayIn(wind: Wind): number {
  return -MAX_LEEWAY_RAD * Math.sin(wind.apparentAngleRad) * Math.min(1, wind.apparentSpeedMps / 10);
}

/** Depth of the water under the surface, metres. */
export function depthAt(climate: Climate, position: Position): number {
  let depthM = MEAN_DEPTH_M;
  climate.seabed.forEach(({ perDegree, phase, heightM }, i) => {
    const along = i % 2 === 0 ? position.latitude * 1.7 : position.longitude;
    depthM += heightM * Math.sin(2 * Math.PI * perDegree / 4 * along + phase);
  });
  return Math.max(MIN_DEPTH_M, depthM);
}

/** Slow weather: air and sea. */
export function airAt(
  climate: Climate,
  timeS: number,
): { pressurePa: number; airK: number; seaK: number; humidityPercent: number } {
  const swing = swellAt(climate.airTemperature, timeS);
  return {
    pressurePa: MEAN_PRESSURE_PA + swellAt(climate.pressure, timeS),
    airK: MEAN_AIR_K + swing,
    seaK: MEAN_SEA_K + swing / 6,
    humidityPercent: MEAN_HUMIDITY_PERCENT - swellAt(climate.humidity, timeS),
  };
}
