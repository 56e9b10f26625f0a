import { lauBytes, PayloadWriter } from "./bits.ts";
import { field } from "./fields.ts";
import type { Position } from "./navigation.ts";

/** Direction references of NMEA 2000. */
export const REFERENCE = { true: 0, magnetic: 1 } as const;

/** A moment as payloads carry it. */
export interface DateTime {
  readonly days: number;
  readonly secondsOfDay: number;
}

const SECONDS_PER_DAY = 86_400;

/** Splits a time in microseconds since 1970. */
export function dateTimeOf(wallUs: number): DateTime {
  const seconds = wallUs / 1e6;
  const days = Math.floor(seconds / SECONDS_PER_DAY);
  return { days, secondsOfDay: seconds - days * SECONDS_PER_DAY };
}

/** PGN 126992, system time of a GPS receiver. */
export function packSystemTime({ sid, time }: { sid?: number; time: DateTime }): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, sid).put(field.U4, 0).reserve(4)
    .put(field.DATE_DAYS, time.days).put(field.TIME_S, time.secondsOfDay).finish();
}

/** PGN 129025, position, rapid update. */
export function packPosition(position: Position): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.DEGREES, position.latitude).put(field.DEGREES, position.longitude).finish();
}

/** PGN 129026, course and speed over ground, rapid update; true. */
export function packCourseSpeed(
  { sid, courseRad, speedMps }: { sid?: number; courseRad: number; speedMps: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, sid).put(field.U2, REFERENCE.true).reserve(6)
    .put(field.ANGLE_RAD, compass(courseRad)).put(field.SPEED_MPS, speedMps).reserve(16).finish();
}

/** Steps of the 64-bit fields of PGN 129029: 1e-16 degrees, 1e-6 metres. */
const FINE_DEGREES = { coarsePerUnit: 1e10, finePerCoarse: 1_000_000n } as const;
const FINE_METRES = { coarsePerUnit: 1e6, finePerCoarse: 1n } as const;

/** What PGN 129029 tells. */
export interface GnssPosition {
  readonly sid?: number;
  readonly time: DateTime;
  readonly position: Position;
  readonly altitudeM: number;
  /** GNSS type: 0 GPS, 3 GPS with SBAS, 4 GPS with SBAS and GLONASS. */
  readonly type: number;
  /** 1 fix, 2 differential fix. */
  readonly method: number;
  readonly satellites: number;
  readonly hdop: number;
  readonly pdop: number;
  readonly geoidalSeparationM: number;
}

/** PGN 129029, GNSS position data, without reference stations. */
export function packGnssPosition(fix: GnssPosition): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(43).put(field.U8, fix.sid)
    .put(field.DATE_DAYS, fix.time.days).put(field.TIME_S, fix.time.secondsOfDay)
    .putWide(fix.position.latitude, FINE_DEGREES).putWide(fix.position.longitude, FINE_DEGREES)
    .putWide(fix.altitudeM, FINE_METRES)
    .put(field.U4, fix.type).put(field.U4, fix.method).put(field.U2, 0).reserve(6)
    .put(field.U8, fix.satellites).put(field.DILUTION, fix.hdop).put(field.DILUTION, fix.pdop)
    .put(field.SIGNED_LENGTH_CM, fix.geoidalSeparationM).put(field.U8, 0).finish();
}

/** Modes of PGN 129539. */
const GNSS_MODE = { threeDimensional: 2, automatic: 3 } as const;

/** PGN 129539, dilution of precision of a 3D fix found by itself. */
export function packDops(dops: { sid?: number; hdop: number; vdop: number; tdop?: number }): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, dops.sid)
    .put(field.U3, GNSS_MODE.automatic).put(field.U3, GNSS_MODE.threeDimensional).reserve(2)
    .put(field.DILUTION, dops.hdop).put(field.DILUTION, dops.vdop).put(field.DILUTION, dops.tdop).finish();
}

/** A satellite as PGN 129540 lists it. */
export interface Satellite {
  readonly prn: number;
  readonly elevationRad: number;
  readonly azimuthRad: number;
  readonly snrDb: number;
  /** 1 tracked, 2 used, 5 used with corrections. */
  readonly status: number;
}

const SATELLITES_HEADER_BYTES = 3;
const SATELLITE_BYTES = 12;

/** PGN 129540, satellites in view. */
export function packSatellites(
  { sid, satellites }: { sid?: number; satellites: readonly Satellite[] },
): Uint8Array<ArrayBuffer> {
  const writer = new PayloadWriter(SATELLITES_HEADER_BYTES + SATELLITE_BYTES * satellites.length)
    .put(field.U8, sid).reserve(2).reserve(6).put(field.U8, satellites.length);
  for (const satellite of satellites) {
    writer.put(field.U8, satellite.prn).put(field.SIGNED_ANGLE_RAD, satellite.elevationRad)
      .put(field.ANGLE_RAD, compass(satellite.azimuthRad)).put(field.SNR_DB, satellite.snrDb)
      .put(field.RESIDUAL_M, undefined).put(field.U4, satellite.status).reserve(4);
  }
  return writer.finish();
}

/** PGN 129283, cross track error; right of the track is positive. */
export function packCrossTrack({ sid, crossTrackM }: { sid?: number; crossTrackM: number }): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, sid).putBits(0, 4).reserve(2).put(field.U2, 0)
    .put(field.SIGNED_LENGTH_CM, crossTrackM).reserve(16).finish();
}

/** What PGN 129284 tells. */
export interface NavigationData {
  readonly sid?: number;
  readonly distanceM: number;
  readonly perpendicularCrossed: boolean;
  readonly arrivalCircleEntered: boolean;
  readonly eta: DateTime | undefined;
  /** True bearings: origin to destination, position to destination. */
  readonly trackRad: number;
  readonly bearingRad: number;
  readonly originId: number;
  readonly destinationId: number;
  readonly destination: Position;
  readonly closingMps: number;
}

/** PGN 129284, navigation data on a great circle. */
export function packNavigationData(data: NavigationData): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(34).put(field.U8, data.sid).put(field.LENGTH_CM, data.distanceM)
    .put(field.U2, REFERENCE.true).put(field.U2, data.perpendicularCrossed ? 1 : 0)
    .put(field.U2, data.arrivalCircleEntered ? 1 : 0).put(field.U2, 0)
    .put(field.TIME_S, data.eta?.secondsOfDay).put(field.DATE_DAYS, data.eta?.days)
    .put(field.ANGLE_RAD, compass(data.trackRad)).put(field.ANGLE_RAD, compass(data.bearingRad))
    .put(field.U32, data.originId).put(field.U32, data.destinationId)
    .put(field.DEGREES, data.destination.latitude).put(field.DEGREES, data.destination.longitude)
    .put(field.SIGNED_SPEED_MPS, data.closingMps).finish();
}

const ROUTE_HEADER_BYTES = 9;
const WAYPOINT_FIXED_BYTES = 10;

/** PGN 129285, a route with its waypoints. */
export function packRoute(
  route: { routeId: number; name: string; waypoints: readonly { id: number; name: string; position: Position }[] },
): Uint8Array<ArrayBuffer> {
  const waypointBytes = route.waypoints.reduce((sum, { name }) => sum + WAYPOINT_FIXED_BYTES + lauBytes(name), 0);
  const writer = new PayloadWriter(ROUTE_HEADER_BYTES + lauBytes(route.name) + 1 + waypointBytes)
    .put(field.U16, 0).put(field.U16, route.waypoints.length).put(field.U16, undefined).put(field.U16, route.routeId)
    .put(field.U3, 0).put(field.U2, 0).reserve(3).putLau(route.name).reserve(8);
  for (const { id, name, position } of route.waypoints) {
    writer.put(field.U16, id).putLau(name)
      .put(field.DEGREES, position.latitude).put(field.DEGREES, position.longitude);
  }
  return writer.finish();
}

/** Highest angle that the field can carry without passing the full turn. */
const LAST_ANGLE_RAD = 6.2831;

/** A direction that does not round up to a full turn. */
export function compass(angleRad: number): number {
  return Math.min(angleRad, LAST_ANGLE_RAD);
}
