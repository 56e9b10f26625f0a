import { bearingRad, distanceM, move, type Position, radians, wrapHalfTurn, wrapTurn } from "./navigation.ts";
import type { Random } from "./random.ts";

/** Data of an AIS station. */
export interface Vessel {
  readonly station: "A" | "B";
  readonly mmsi: number;
  readonly imo: number | undefined;
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
  /** The vessel sails back and forth between these positions. */
  readonly marks: readonly [Position, Position];
}

/** State of a vessel. */
export interface Target {
  readonly vessel: Vessel;
  readonly position: Position;
  readonly courseRad: number;
  readonly speedMps: number;
  readonly turnRateRadPerS: number;
  /** Index of the mark to which it sails. */
  readonly mark: 0 | 1;
}

/** Maximum turn rate of a ship and of a small craft. */
const TURN_RATE_RAD_PER_S = { A: radians(0.6), B: radians(3) } as const;
/** A vessel turns round this close to its mark. */
const MARK_RADIUS_M = 350;

const at = (latitude: number, longitude: number): Position => ({ latitude, longitude });

/** The vessels; names, call signs and numbers are fictitious. */
export const VESSELS: readonly Vessel[] = [
  {
    station: "A",
    mmsi: 211999010,
    imo: 9999101,
    name: "BALTIC SWIFT",
    callsign: "DVB10",
    shipType: 60,
    lengthM: 199,
    beamM: 28,
    draughtM: 6.3,
    destination: "GOTHENBURG",
    speedMps: 9.4,
    marks: [at(54.48, 10.245), at(54.72, 10.36)],
  },
  {
    station: "A",
    mmsi: 244999020,
    imo: 9999202,
    name: "ANNA MARGARETHA",
    callsign: "PVB20",
    shipType: 70,
    lengthM: 118,
    beamM: 15.4,
    draughtM: 5.8,
    destination: "KIEL CANAL",
    speedMps: 6.2,
    marks: [at(54.63, 10.62), at(54.455, 10.235)],
  },
  {
    station: "A",
    mmsi: 219999030,
    imo: 9999303,
    name: "NORDIC PRODUCT",
    callsign: "OVB30",
    shipType: 80,
    lengthM: 144,
    beamM: 23,
    draughtM: 8.9,
    destination: "FREDERICIA",
    speedMps: 5.7,
    marks: [at(54.66, 10.33), at(54.57, 10.76)],
  },
  {
    station: "A",
    mmsi: 211999040,
    imo: undefined,
    name: "STEIN PILOT 2",
    callsign: "DVB40",
    shipType: 50,
    lengthM: 22,
    beamM: 6,
    draughtM: 1.9,
    destination: "KIEL LT",
    speedMps: 8.1,
    marks: [at(54.425, 10.23), at(54.515, 10.285)],
  },
  {
    station: "A",
    mmsi: 305999050,
    imo: 9999505,
    name: "HEINKENSAND",
    callsign: "V2VB5",
    shipType: 79,
    lengthM: 134,
    beamM: 22,
    draughtM: 7.4,
    destination: "KIEL ROADS",
    speedMps: 0,
    marks: [at(54.462, 10.315), at(54.462, 10.315)],
  },
  {
    station: "B",
    mmsi: 211999060,
    imo: undefined,
    name: "WINDSPIEL",
    callsign: "DVB60",
    shipType: 36,
    lengthM: 11,
    beamM: 3.6,
    draughtM: 1.9,
    destination: "",
    speedMps: 2.9,
    marks: [at(54.53, 10.31), at(54.58, 10.21)],
  },
  {
    station: "B",
    mmsi: 219999070,
    imo: undefined,
    name: "LILLE SKAT",
    callsign: "XVB70",
    shipType: 37,
    lengthM: 9,
    beamM: 3.1,
    draughtM: 1.1,
    destination: "",
    speedMps: 4.6,
    marks: [at(54.56, 10.44), at(54.495, 10.33)],
  },
  {
    station: "B",
    mmsi: 265999080,
    imo: undefined,
    name: "SOMMARVIND",
    callsign: "SVB80",
    shipType: 36,
    lengthM: 13,
    beamM: 4,
    draughtM: 2.1,
    destination: "",
    speedMps: 3.3,
    marks: [at(54.605, 10.3), at(54.51, 10.4)],
  },
  {
    station: "B",
    mmsi: 211999090,
    imo: undefined,
    name: "KUTTER ERNA",
    callsign: "DVB90",
    shipType: 30,
    lengthM: 16,
    beamM: 5,
    draughtM: 2.2,
    destination: "",
    speedMps: 1.8,
    marks: [at(54.545, 10.36), at(54.555, 10.47)],
  },
];

/** All vessels at random positions between their marks. */
export function createTraffic(random: Random): readonly Target[] {
  return VESSELS.map((vessel) => {
    const [from, to] = vessel.marks;
    const course = bearingRad(from, to);
    return {
      vessel,
      position: move(from, { courseRad: course, distanceM: distanceM(from, to) * (0.1 + 0.8 * random()) }),
      courseRad: vessel.speedMps > 0 ? course : 2 * Math.PI * random(),
      speedMps: vessel.speedMps,
      turnRateRadPerS: 0,
      mark: 1,
    };
  });
}

/** The vessel after `dtS` seconds. */
export function stepTarget(target: Target, dtS: number): Target {
  const { vessel } = target;
  if (vessel.speedMps === 0) return target;
  const goal = vessel.marks[target.mark];
  const most = TURN_RATE_RAD_PER_S[vessel.station];
  const wanted = wrapHalfTurn(bearingRad(target.position, goal) - target.courseRad) / (4 * dtS);
  const turnRateRadPerS = Math.min(most, Math.max(-most, wanted));
  const courseRad = wrapTurn(target.courseRad + turnRateRadPerS * dtS);
  const position = move(target.position, { courseRad, distanceM: target.speedMps * dtS });
  const reached = distanceM(position, goal) < MARK_RADIUS_M;
  return {
    vessel,
    position,
    courseRad,
    speedMps: target.speedMps,
    turnRateRadPerS,
    mark: reached ? (target.mark === 0 ? 1 : 0) : target.mark,
  };
}
