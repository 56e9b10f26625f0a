/** A position, degrees. */
export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** A vector over ground, metres or metres each second. */
export interface Vector {
  readonly east: number;
  readonly north: number;
}

/** Where something is and how it moves. */
export interface Motion {
  readonly position: Position;
  /** Metres each second. */
  readonly sog: number;
  /** From true north, radians. */
  readonly cog: number;
}

/** How close two vessels come if both keep course and speed. */
export type Approach =
  | { type: "approaching"; cpaM: number; tcpaS: number }
  /** The closest point is passed: the distance grows. */
  | { type: "opening" }
  /** Both move alike. */
  | { type: "constant" };

const EARTH_RADIUS_M = 6_371_008.8;
const TURN = 2 * Math.PI;
/** Below this relative speed the distance stays the same: the resolution of SOG. */
const STEADY_MPS = 0.02;

/** Whether a position can be shown: devices without a fix send numbers that are no position. */
export function isPosition({ latitude, longitude }: Position): boolean {
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
}

/** From one position to another, on a plane: exact enough for the range of AIS. */
export function vectorBetween(from: Position, to: Position): Vector {
  const turns = (to.longitude - from.longitude) / 360;
  const east = (turns - Math.round(turns)) * TURN;
  const middle = (from.latitude + to.latitude) / 360 * Math.PI;
  return {
    east: east * Math.cos(middle) * EARTH_RADIUS_M,
    north: (to.latitude - from.latitude) / 360 * TURN * EARTH_RADIUS_M,
  };
}

/** Length of a vector. */
export function lengthOf({ east, north }: Vector): number {
  return Math.hypot(east, north);
}

/** Direction of a vector from true north, radians from 0 to a full turn. */
export function directionOf({ east, north }: Vector): number {
  return (Math.atan2(east, north) + TURN) % TURN;
}

/** The vector of a direction and a length. */
export function vectorOf(direction: number, length: number): Vector {
  return { east: Math.sin(direction) * length, north: Math.cos(direction) * length };
}

/** The position at the end of a vector. */
export function moved({ latitude, longitude }: Position, { east, north }: Vector): Position {
  const toLatitude = latitude + north / EARTH_RADIUS_M / TURN * 360;
  const middle = (latitude + toLatitude) / 360 * Math.PI;
  const turns = (longitude + 180) / 360 + east / (EARTH_RADIUS_M * Math.cos(middle)) / TURN;
  return { latitude: toLatitude, longitude: (turns - Math.floor(turns)) * 360 - 180 };
}

/** Closest point of approach of two vessels, and the time until then. */
export function approachOf(own: Motion, other: Motion): Approach {
  const between = vectorBetween(own.position, other.position);
  const [ownSpeed, otherSpeed] = [vectorOf(own.cog, own.sog), vectorOf(other.cog, other.sog)];
  const speed = { east: otherSpeed.east - ownSpeed.east, north: otherSpeed.north - ownSpeed.north };
  if (lengthOf(speed) < STEADY_MPS) return { type: "constant" };
  const closing = -(between.east * speed.east + between.north * speed.north);
  const tcpaS = closing / (speed.east ** 2 + speed.north ** 2);
  if (tcpaS <= 0) return { type: "opening" };
  const cpaM = lengthOf({ east: between.east + speed.east * tcpaS, north: between.north + speed.north * tcpaS });
  return { type: "approaching", cpaM, tcpaS };
}
