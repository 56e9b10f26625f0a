import { move, polar, type Position, radians, velocityOf, wrapHalfTurn, wrapTurn } from "./navigation.ts";
import type { LegProgress } from "./route.ts";

/** Motion of the hull. */
export interface Motion {
  readonly position: Position;
  /** True heading. */
  readonly headingRad: number;
  /** Positive turns to starboard. */
  readonly turnRateRadPerS: number;
  readonly speedThroughWaterMps: number;
  /** Angle from heading to course through the water; positive is to starboard. */
  readonly leewayRad: number;
  readonly courseOverGroundRad: number;
  readonly speedOverGroundMps: number;
}

/** Forces on the hull during a step. */
export interface Forces {
  readonly rudderRad: number;
  /** Turn rate caused by waves. */
  readonly yawRadPerS: number;
  /** Steady speed for the current engine speed and waves. */
  readonly speedTargetMps: number;
  readonly leewayRad: number;
  readonly currentSpeedMps: number;
  /** Direction that the current flows to. */
  readonly currentSetRad: number;
}

/** The autopilot with its rudder. */
export interface Pilot {
  /** True heading that it steers. */
  readonly headingToSteerRad: number;
  /** Commanded rudder angle; positive turns to starboard. */
  readonly rudderOrderRad: number;
  readonly rudderRad: number;
  /** Smoothed angle from heading to course over ground: leeway and current. */
  readonly driftRad: number;
}

/** Nomoto's first-order steering model with values of a 14 m catamaran at cruising speed. */
const TURN_LAG_S = 2;
const TURN_RATE_PER_RUDDER = 0.3;
/** Time in which the hull gains most of a new speed. */
const SPEED_LAG_S = 8;

/** Gains of the autopilot: rudder per heading error, rudder per turn rate. */
const HEADING_GAIN = 1;
const RATE_GAIN_S = 1.5;
/** Heading errors are limited to this. */
const MAX_HEADING_ERROR_RAD = radians(14);
/** A boat this far off the track steers back at 45°. */
const TRACK_LOOKAHEAD_M = 60;
const DRIFT_LAG_S = 15;
/** Hard-over angle of the rudder. */
export const MAX_RUDDER_RAD = radians(30);
const RUDDER_RATE_RAD_PER_S = radians(6);

/** The motion after `dtS` seconds. */
export function stepMotion(motion: Motion, { forces, dtS }: { forces: Forces; dtS: number }): Motion {
  const turnRate = motion.turnRateRadPerS +
    (TURN_RATE_PER_RUDDER * forces.rudderRad + forces.yawRadPerS - motion.turnRateRadPerS) / TURN_LAG_S * dtS;
  const headingRad = wrapTurn(motion.headingRad + turnRate * dtS);
  const speed = motion.speedThroughWaterMps +
    (forces.speedTargetMps - motion.speedThroughWaterMps) / SPEED_LAG_S * dtS;
  const throughWater = velocityOf(speed, headingRad + forces.leewayRad);
  const current = velocityOf(forces.currentSpeedMps, forces.currentSetRad);
  const overGround = polar({
    northMps: throughWater.northMps + current.northMps,
    eastMps: throughWater.eastMps + current.eastMps,
  });
  return {
    position: move(motion.position, {
      courseRad: overGround.directionRad,
      distanceM: overGround.speedMps * dtS,
    }),
    headingRad,
    turnRateRadPerS: turnRate,
    speedThroughWaterMps: speed,
    leewayRad: forces.leewayRad,
    courseOverGroundRad: overGround.directionRad,
    speedOverGroundMps: overGround.speedMps,
  };
}

/** The autopilot after `dtS` seconds of steering along the leg. */
export function stepPilot(pilot: Pilot, on: { motion: Motion; leg: LegProgress; dtS: number }): Pilot {
  const { motion, leg, dtS } = on;
  const drift = wrapHalfTurn(motion.courseOverGroundRad - motion.headingRad);
  const driftRad = pilot.driftRad + (drift - pilot.driftRad) / DRIFT_LAG_S * dtS;
  const wantedCourseRad = leg.trackRad - Math.atan(leg.crossTrackM / TRACK_LOOKAHEAD_M);
  const headingToSteerRad = wrapTurn(wantedCourseRad - driftRad);
  const error = clampTo(MAX_HEADING_ERROR_RAD, wrapHalfTurn(headingToSteerRad - motion.headingRad));
  const rudderOrderRad = clampTo(MAX_RUDDER_RAD, HEADING_GAIN * error - RATE_GAIN_S * motion.turnRateRadPerS);
  const rudderRad = pilot.rudderRad + clampTo(RUDDER_RATE_RAD_PER_S * dtS, rudderOrderRad - pilot.rudderRad);
  return { headingToSteerRad, rudderOrderRad, rudderRad, driftRad };
}

function clampTo(limit: number, value: number): number {
  return Math.min(limit, Math.max(-limit, value));
}
