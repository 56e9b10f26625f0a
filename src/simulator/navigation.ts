/** A place on earth, degrees; north and east are positive. */
export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** A straight piece of a route. */
export interface Leg {
  readonly from: Position;
  readonly to: Position;
}

/** Mean radius of the earth, metres (IUGG). */
const EARTH_RADIUS_M = 6_371_008.8;
const RADIANS_PER_DEGREE = Math.PI / 180;
const TURN = 2 * Math.PI;

/** Radians of degrees. */
export function radians(degrees: number): number {
  return degrees * RADIANS_PER_DEGREE;
}

/** The same direction from 0 up to a full turn, radians. */
export function wrapTurn(angleRad: number): number {
  const rest = angleRad % TURN;
  return rest < 0 ? rest + TURN : rest;
}

/** Highest direction in steps of 0.1 mrad that is less than a full turn. */
const LAST_STEP_RAD = 6.2831;

/** A direction as compasses tell it: from 0, and never rounded up to a full turn. */
export function compass(angleRad: number): number {
  return Math.min(wrapTurn(angleRad), LAST_STEP_RAD);
}

/** A value as a sensor tells it that knows only multiples of `step`. */
export function inSteps(value: number, step: number): number {
  return Math.round(value / step) * step;
}

/** A direction in whole steps of `step`, from 0, and never rounded up to a full turn. */
export function compassInSteps(angleRad: number, step: number): number {
  return compass(inSteps(wrapTurn(angleRad), step) % TURN);
}

/** The same direction from minus half a turn up to half a turn, radians. */
export function wrapHalfTurn(angleRad: number): number {
  return wrapTurn(angleRad + Math.PI) - Math.PI;
}

/** Where one gets from `position` on a course that is held. Good for distances of some kilometres. */
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

/** First true bearing of the great circle, 0 up to a full turn, radians. */
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

/** How far `position` is off the leg and how far along it, metres; right of the leg is positive. */
export function legOffset(position: Position, leg: Leg): { crossM: number; alongM: number } {
  const awayRad = distanceM(leg.from, position) / EARTH_RADIUS_M;
  const angle = bearingRad(leg.from, position) - bearingRad(leg.from, leg.to);
  const crossRad = Math.asin(Math.sin(awayRad) * Math.sin(angle));
  const alongRad = Math.acos(Math.min(1, Math.cos(awayRad) / Math.cos(crossRad)));
  return { crossM: crossRad * EARTH_RADIUS_M, alongM: alongRad * EARTH_RADIUS_M * Math.sign(Math.cos(angle)) };
}

/** A movement over ground or water: metres a second towards north and east. */
export interface Velocity {
  readonly northMps: number;
  readonly eastMps: number;
}

/** The velocity of a speed in a direction. */
export function velocityOf(speedMps: number, directionRad: number): Velocity {
  return { northMps: speedMps * Math.cos(directionRad), eastMps: speedMps * Math.sin(directionRad) };
}

/** The speed of a velocity, and the direction that it goes to. */
export function polar(velocity: Velocity): { speedMps: number; directionRad: number } {
  return {
    speedMps: Math.hypot(velocity.northMps, velocity.eastMps),
    directionRad: wrapTurn(Math.atan2(velocity.eastMps, velocity.northMps)),
  };
}
