import { compassInSteps, inSteps, radians } from "./navigation.ts";
import { noiseAt } from "./random.ts";

/** A satellite as PGN 129540 lists it, angles in radians. */
export type Satellite = {
  readonly prn: number;
  readonly elevation: number;
  readonly azimuth: number;
  readonly snr: number;
  readonly status: number;
};

/** Satellites in view of the receiver. */
export interface Sky {
  readonly satellites: readonly Satellite[];
  readonly hdop: number;
  readonly vdop: number;
  readonly pdop: number;
}

/** Satellites above the horizon: GPS numbers, and GLONASS from 65. */
const PRNS = [2, 5, 7, 13, 15, 18, 23, 29, 67, 75, 82];
/** Orbital period of a GPS satellite: half a sidereal day. */
const ORBIT_S = 43_082;
/** Minimum elevation of a satellite used in the fix. */
const MASK_RAD = 0.17;
/** Resolution of elevation and azimuth, as of six of seven recorded receivers. */
const STEP_RAD = radians(1);
/** A third of the signals changes by a decibel per second; with five recorded receivers a fifth to a half. */
const SNR_NOISE_DB = 0.5;
const STATUS_TRACKED = 1;
const STATUS_USED = 2;

/** The satellites at a time. */
export function skyAt(seed: number, timeS: number): Sky {
  const satellites = PRNS.map((prn, i) => {
    const orbit = 2 * Math.PI * (timeS / ORBIT_S + i * 0.29);
    const elevation = 0.12 + 1.3 * Math.sin(orbit) ** 2;
    return {
      prn,
      elevation: inSteps(elevation, STEP_RAD),
      azimuth: compassInSteps(orbit + 2.4 * i, STEP_RAD),
      snr: Math.round(26 + 18 * Math.sin(elevation) + SNR_NOISE_DB * noiseAt(seed + prn, Math.floor(timeS))),
      status: elevation > MASK_RAD ? STATUS_USED : STATUS_TRACKED,
    };
  });
  const hdop = 0.75 + 0.1 * Math.sin(timeS / 311);
  const vdop = 1.1 + 0.15 * Math.sin(timeS / 419);
  return { satellites, hdop, vdop, pdop: Math.hypot(hdop, vdop) };
}

/** Number of satellites used in the fix. */
export function usedSatellites(sky: Sky): number {
  return sky.satellites.filter(({ status }) => status === STATUS_USED).length;
}
