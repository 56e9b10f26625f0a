import { bearingRad, distanceM, type Leg, legOffset, type Position } from "./navigation.ts";

/** A named waypoint of the route. */
export interface Waypoint {
  readonly id: number;
  readonly name: string;
  readonly position: Position;
}

/** A round trip in the Kiel Bight, Baltic Sea, about 18 nautical miles; repeated. */
export const ROUTE: readonly [Waypoint, ...Waypoint[]] = [
  { id: 1, name: "KIEL LIGHT", position: { latitude: 54.4990, longitude: 10.2735 } },
  { id: 2, name: "STOLLER GRD", position: { latitude: 54.5280, longitude: 10.2250 } },
  { id: 3, name: "BREITGRUND", position: { latitude: 54.5950, longitude: 10.2900 } },
  { id: 4, name: "FLUEGGE WEST", position: { latitude: 54.5700, longitude: 10.4200 } },
  { id: 5, name: "HOHWACHT N", position: { latitude: 54.4850, longitude: 10.3900 } },
];
/** Name of the route as the chart plotter shows it. */
export const ROUTE_NAME = "KIEL BIGHT ROUND";

/** Within this distance of a waypoint the boat turns to the next leg. */
export const ARRIVAL_RADIUS_M = 60;

/** Position of the boat relative to the active leg. */
export interface LegProgress {
  /** Distance from the leg, positive to the right. */
  readonly crossTrackM: number;
  readonly distanceM: number;
  /** True bearing from the leg's start to its end. */
  readonly trackRad: number;
  /** True bearing from the boat to the leg's end. */
  readonly bearingRad: number;
  readonly arrived: boolean;
  readonly perpendicularCrossed: boolean;
}

/** The waypoint with this index; the route is a loop. */
export function waypointAt(index: number): Waypoint {
  return ROUTE[index % ROUTE.length] ?? ROUTE[0];
}

/** The leg that ends at the waypoint with this index. */
export function legTo(index: number): Leg {
  return { from: waypointAt(index + ROUTE.length - 1).position, to: waypointAt(index).position };
}

/** Progress on the leg that ends at waypoint `index`. */
export function progressOn(index: number, position: Position): LegProgress {
  const leg = legTo(index);
  const { crossM, alongM } = legOffset(position, leg);
  const remainingM = distanceM(position, leg.to);
  return {
    crossTrackM: crossM,
    distanceM: remainingM,
    trackRad: bearingRad(leg.from, leg.to),
    bearingRad: bearingRad(position, leg.to),
    arrived: remainingM < ARRIVAL_RADIUS_M,
    perpendicularCrossed: alongM > distanceM(leg.from, leg.to),
  };
}
