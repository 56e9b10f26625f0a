/** A geographic position, degrees; north and east are positive. */
export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** A straight section of a route. */
export interface Leg {
  readonly from: Position;
  readonly to: Position;
}

/** Mean radius of the earth, metres (IUGG). */
const EARTH_RADIUS_M = 6_371_008.8;
const RADIANS_PER_DEGREE = Math.PI / 180;
const TURN = 2 * Math.PI;

/** Converts degrees to radians. */
export function radians(degrees: number): number {
  return degrees * RADIANS_PER_DEGREE;
}

/** Normalises an angle to 0 up to a full turn. */
export function wrapTurn(angleRad: number): number {
  const rest = angleRad % TURN;
  return rest < 0 ? rest + TURN : rest;
}

/** Highest direction in steps of 0.1 mrad that is less than a full turn. */
const LAST_STEP_RAD = 6.2831;

/** Normalises a direction so that a resolution of 0.1 mrad does not round it up to a full turn. */
export function compass(angleRad: number): number {
  return Math.min(wrapTurn(angleRad), LAST_STEP_RAD);
}

/** Rounds a value to a multiple of `step`. */
export function inSteps(value: number, step: number): number {
  return Math.round(value / step) * step;
}

/** Rounds a direction to a multiple of `step`; see {@linkcode compass}. */
export function compassInSteps(angleRad: number, step: number): number {
  return compass(inSteps(wrapTurn(angleRad), step) % TURN);
}

/** Normalises an angle to minus half a turn up to half a turn. */
export function wrapHalfTurn(angleRad: number): number {
  return wrapTurn(angleRad + Math.PI) - Math.PI;
}

/** The position after a distance on a constant course. Accurate for distances of some kilometres. */
export function move(position: Position, by: { courseRad: number; distanceM: number }): Position {
  const northRad = by.distanceM * Math.cos(by.courseRad) / EARTH_RADIUS_M;
  const eastRad = by.distanceM * Math.sin(by.courseRad) / EARTH_RADIUS_M;
  return {
    latitude: position.latitude + northRad / RADIANS_PER_DEGREE,
    longitude: position.longitude + eastRad / (RADIANS_PER_DEGREE * Math.cos(radians(position.latitude))),
  };
}

/** Great circle distance, metres. */
export function distanceM(from: Position, to: Position): number {
  const halfLatitude = radians(to.latitude - from.latitude) / 2;
  const halfLongitude = radians(to.longitude - from.longitude) / 2;
  const chord = Math.sin(halfLatitude) ** 2 +
    Math.cos(radians(from.latitude)) * Math.cos(radians(to.latitude)) * Math.sin(halfLongitude) ** 2;
  return 2 * EARTH_RADIUS_M * Math.asin(Math.min(1, Math.sqrt(chord)));
}

/** Initial true bearing of the great circle, 0 up to a full turn. */
export function bearingRad(from: Position, to: Position): number {
  const dLongitude = radians(to.longitude - from.longitude);
  const fromLatitude = radians(from.latitude);
  const toLatitude = radians(to.latitude);
  return wrapTurn(Math.atan2(
    Math.sin(dLongitude) * Math.cos(toLatitude),
    Math.cos(fromLatitude) * Math.sin(toLatitude) -
      Math.sin(fromLatitude) * Math.cos(toLatitude) * Math.cos(dLongitude),
  ));
}

/** Distance of `position` from the leg, positive to the right, and along the leg, metres. */
export function legOffset(position: Position, leg: Leg): { crossM: number; alongM: number } {
  const awayRad = distanceM(leg.from, position) / EARTH_RADIUS_M;
  const angle = bearingRad(leg.from, position) - bearingRad(leg.from, leg.to);
  const crossRad = Math.asin(Math.sin(awayRad) * Math.sin(angle));
  const alongRad = Math.acos(Math.min(1, Math.cos(awayRad) / Math.cos(crossRad)));
  return { crossM: crossRad * EARTH_RADIUS_M, alongM: alongRad * EARTH_RADIUS_M * Math.sign(Math.cos(angle)) };
}

/** A velocity over ground or through water, metres per second to north and east. */
export interface Velocity {
  readonly northMps: number;
  readonly eastMps: number;
}

/** Converts speed and direction to a velocity. */
export function velocityOf(speedMps: number, directionRad: number): Velocity {
  return { northMps: speedMps * Math.cos(directionRad), eastMps: speedMps * Math.sin(directionRad) };
}

/** Converts a velocity to speed and direction. */
export function polar(velocity: Velocity): { speedMps: number; directionRad: number } {
  return {
    speedMps: Math.hypot(velocity.northMps, velocity.eastMps),
    directionRad: wrapTurn(Math.atan2(velocity.eastMps, velocity.northMps)),
  };
}
