import vessels from "./vessels.json" with { type: "json" };
import { bearingRad, distanceM, move, type Position, radians, wrapHalfTurn, wrapTurn } from "./navigation.ts";
import type { Random } from "./random.ts";

/** Data of an AIS station. */
export interface Vessel {
  readonly station: "A" | "B";
  readonly mmsi: number;
  readonly imo?: number;
  readonly name: string;
  readonly callsign: string;
  /** Ship type by ITU-R M.1371, table 53. */
  readonly shipType: number;
  readonly lengthM: number;
  readonly beamM: number;
  readonly draughtM: number;
  readonly destination: string;
  /** Cruising speed; 0: at anchor. */
  readonly speedMps: number;
  /** The vessel sails back and forth between `from` and `to`. */
  readonly from: Position;
  readonly to: Position;
}

/** State of a vessel. */
export interface Target {
  readonly vessel: Vessel;
  readonly position: Position;
  readonly courseRad: number;
  readonly speedMps: number;
  readonly turnRateRadPerS: number;
  /** The position to which it sails. */
  readonly goal: "from" | "to";
}

/** Maximum turn rate of a ship and of a small craft. */
const TURN_RATE_RAD_PER_S = { A: radians(0.6), B: radians(3) } as const;
/** Distance from its goal at which a vessel turns round. */
const GOAL_RADIUS_M = 350;

/** The vessels; names, call signs and numbers are fictitious. */
export const VESSELS = vessels as readonly Vessel[];

/** All vessels at random positions on their way. */
export function createTraffic(random: Random): readonly Target[] {
  return VESSELS.map((vessel) => {
    const { from, to } = vessel;
    const course = bearingRad(from, to);
    return {
      vessel,
      position: move(from, { courseRad: course, distanceM: distanceM(from, to) * (0.1 + 0.8 * random()) }),
      courseRad: vessel.speedMps > 0 ? course : 2 * Math.PI * random(),
      speedMps: vessel.speedMps,
      turnRateRadPerS: 0,
      goal: "to",
    };
  });
}

/** The vessel after `dtS` seconds. */
export function stepTarget(target: Target, dtS: number): Target {
  const { vessel } = target;
  if (vessel.speedMps === 0) return target;
  const goal = vessel[target.goal];
  const otherGoal = target.goal === "to" ? "from" : "to";
  const most = TURN_RATE_RAD_PER_S[vessel.station];
  const wanted = wrapHalfTurn(bearingRad(target.position, goal) - target.courseRad) / (4 * dtS);
  const turnRateRadPerS = Math.min(most, Math.max(-most, wanted));
  const courseRad = wrapTurn(target.courseRad + turnRateRadPerS * dtS);
  const position = move(target.position, { courseRad, distanceM: target.speedMps * dtS });
  const reached = distanceM(position, goal) < GOAL_RADIUS_M;
  return {
    vessel,
    position,
    courseRad,
    speedMps: target.speedMps,
    turnRateRadPerS,
    goal: reached ? otherGoal : target.goal,
  };
}
