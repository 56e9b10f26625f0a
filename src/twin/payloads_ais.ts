import { PayloadWriter } from "./bits.ts";
import { field } from "./fields.ts";
import type { Position } from "./navigation.ts";
import { compass, type DateTime } from "./payloads_navigation.ts";

/** AIS message numbers (ITU-R M.1371, table 46). */
const MESSAGE = { classAPosition: 1, classAStatic: 5, classBPosition: 18, classBStatic: 24 } as const;
/** Empty characters of AIS text. */
const AIS_PAD = 0x40;
/** Bits of the radio link's state. */
const COMMUNICATION_STATE_BITS = 19;
const COMMUNICATION_STATE_MASK = 2 ** COMMUNICATION_STATE_BITS - 1;
/** Second that a station without a clock reports. */
const NO_TIME_STAMP = 60;

/** Navigational status of AIS. */
export const NAV_STATUS = { underWayUsingEngine: 0, atAnchor: 1 } as const;

/** What position reports of both classes tell. */
export interface AisPosition {
  readonly mmsi: number;
  readonly position: Position;
  readonly courseRad?: number;
  readonly speedMps: number;
  readonly headingRad?: number;
  /** Better than 10 m; default true. */
  readonly accurate?: boolean;
  /** Whether the receiver checks its fix by itself; default false. */
  readonly raim?: boolean;
  /** Second of the minute. */
  readonly second?: number;
  /** 19 bits of the radio link, as they were received. */
  readonly communicationState: number;
  /** 0 received on channel A, 1 on channel B. */
  readonly channel: 0 | 1;
}

/** The fields that both classes begin with. */
function positionReport(length: number, on: { report: AisPosition; message: number }): PayloadWriter {
  const { report, message } = on;
  return new PayloadWriter(length).put(field.U6, message).put(field.U2, 0).put(field.U32, report.mmsi)
    .put(field.DEGREES, report.position.longitude).put(field.DEGREES, report.position.latitude)
    .putBits(report.accurate ?? true ? 1 : 0, 1).putBits(report.raim ? 1 : 0, 1)
    .put(field.U6, report.second ?? NO_TIME_STAMP)
    .put(field.ANGLE_RAD, report.courseRad === undefined ? undefined : compass(report.courseRad))
    .put(field.SPEED_MPS, report.speedMps)
    .putBits(report.communicationState & COMMUNICATION_STATE_MASK, COMMUNICATION_STATE_BITS)
    .put(field.U5, report.channel)
    .put(field.ANGLE_RAD, report.headingRad === undefined ? undefined : compass(report.headingRad));
}

/** PGN 129038, class A position report, 27 bytes as transponders send it: without the late sequence id. */
export function packClassAPosition(
  report: AisPosition & { turnRateRadPerS?: number; status: number },
): Uint8Array<ArrayBuffer> {
  return positionReport(27, { report, message: MESSAGE.classAPosition })
    .put(field.SHIP_TURN_RATE_RAD_PER_S, report.turnRateRadPerS)
    .put(field.U4, report.status).put(field.U2, 0).reserve(2).putBits(0, 3).reserve(5).finish();
}

/** PGN 129039, class B position report of a carrier-sense unit. */
export function packClassBPosition(report: AisPosition): Uint8Array<ArrayBuffer> {
  return positionReport(27, { report, message: MESSAGE.classBPosition })
    // Unit type CS, no display, DSC, whole band, message 22, autonomous, ITDMA.
    .putBits(0, 8).putBits(0, 2).putBits(1, 1).putBits(0, 1).putBits(1, 1).putBits(1, 1)
    .putBits(1, 1).putBits(0, 1).putBits(1, 1).reserve(15).finish();
}

/** Size of a ship and where its antenna is, metres. */
export interface ShipSize {
  readonly lengthM: number;
  readonly beamM: number;
  readonly fromStarboardM: number;
  readonly fromBowM: number;
}

/** What PGN 129794 tells. */
export interface ClassAStatic {
  readonly mmsi: number;
  readonly imo: number | undefined;
  readonly callsign: string;
  readonly name: string;
  readonly shipType: number;
  readonly size: ShipSize;
  readonly eta?: DateTime;
  readonly draughtM?: number;
  readonly destination: string;
  /** 1 is GPS; nothing for not known. */
  readonly fixType?: number;
  readonly channel: 0 | 1;
}

function putSize(writer: PayloadWriter, size: ShipSize): PayloadWriter {
  return writer.put(field.SHIP_LENGTH_DM, size.lengthM).put(field.SHIP_LENGTH_DM, size.beamM)
    .put(field.SHIP_LENGTH_DM, size.fromStarboardM).put(field.SHIP_LENGTH_DM, size.fromBowM);
}

/** PGN 129794, class A static and voyage data. */
export function packClassAStatic(ship: ClassAStatic): Uint8Array<ArrayBuffer> {
  const writer = new PayloadWriter(75).put(field.U6, MESSAGE.classAStatic).put(field.U2, 0)
    .put(field.U32, ship.mmsi).put(field.U32, ship.imo)
    .putText(ship.callsign, { length: 7, pad: AIS_PAD }).putText(ship.name, { length: 20, pad: AIS_PAD })
    .put(field.U8, ship.shipType);
  return putSize(writer, ship.size)
    .put(field.DATE_DAYS, ship.eta?.days).put(field.TIME_S, ship.eta?.secondsOfDay)
    .put(field.DRAUGHT_CM, ship.draughtM).putText(ship.destination, { length: 20, pad: AIS_PAD })
    .put(field.U2, 1).put(field.U4, ship.fixType).putBits(0, 1).putBits(0, 1)
    .put(field.U5, ship.channel).reserve(3).finish();
}

/** PGN 129809, class B static data, part A: the name. */
export function packClassBName(
  { mmsi, name, channel }: { mmsi: number; name: string; channel: 0 | 1 },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(26).put(field.U6, MESSAGE.classBStatic).put(field.U2, 0).put(field.U32, mmsi)
    .putText(name, { length: 20, pad: AIS_PAD }).put(field.U5, channel).reserve(3).finish();
}

/** What PGN 129810 tells. */
export interface ClassBStatic {
  readonly mmsi: number;
  readonly shipType: number;
  readonly vendorId: string;
  readonly callsign: string;
  readonly size: ShipSize;
  readonly fixType: number;
  readonly channel: 0 | 1;
}

/** PGN 129810, class B static data, part B, 34 bytes as transponders send it: without the late sequence id. */
export function packClassBStatic(ship: ClassBStatic): Uint8Array<ArrayBuffer> {
  const writer = new PayloadWriter(34).put(field.U6, MESSAGE.classBStatic).put(field.U2, 0)
    .put(field.U32, ship.mmsi).put(field.U8, ship.shipType)
    .putText(ship.vendorId, { length: 7, pad: AIS_PAD }).putText(ship.callsign, { length: 7, pad: AIS_PAD });
  return putSize(writer, ship.size).put(field.U32, undefined).reserve(2).putBits(0, 2).put(field.U4, ship.fixType)
    .put(field.U5, ship.channel).reserve(3).finish();
}
