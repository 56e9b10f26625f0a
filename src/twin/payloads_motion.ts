import { PayloadWriter } from "./bits.ts";
import { field } from "./fields.ts";
import { compass, type DateTime, REFERENCE } from "./payloads_navigation.ts";

/** PGN 127250, vessel heading. */
export function packHeading(
  heading: {
    sid?: number;
    headingRad: number;
    deviationRad?: number;
    variationRad?: number;
    reference: keyof typeof REFERENCE;
  },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, heading.sid).put(field.ANGLE_RAD, compass(heading.headingRad))
    .put(field.SIGNED_ANGLE_RAD, heading.deviationRad).put(field.SIGNED_ANGLE_RAD, heading.variationRad)
    .put(field.U2, REFERENCE[heading.reference]).reserve(6).finish();
}

/** PGN 127251, rate of turn. */
export function packTurnRate({ sid, radPerS }: { sid?: number; radPerS: number }): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, sid).put(field.TURN_RATE_RAD_PER_S, radPerS).reserve(24).finish();
}

/** PGN 127252, heave. */
export function packHeave({ sid, heaveM }: { sid?: number; heaveM: number }): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, sid).put(field.SHORT_LENGTH_CM, heaveM).reserve(40).finish();
}

/** PGN 127257, attitude. */
export function packAttitude(
  attitude: { sid?: number; yawRad?: number; pitchRad: number; rollRad: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, attitude.sid).put(field.SIGNED_ANGLE_RAD, attitude.yawRad)
    .put(field.SIGNED_ANGLE_RAD, attitude.pitchRad).put(field.SIGNED_ANGLE_RAD, attitude.rollRad).reserve(8).finish();
}

/** PGN 127258, magnetic variation. `source` 8 is WMM 2020. */
export function packVariation(
  variation: { sid?: number; source: number; days?: number; variationRad: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, variation.sid).put(field.U4, variation.source).reserve(4)
    .put(field.DATE_DAYS, variation.days).put(field.SIGNED_ANGLE_RAD, variation.variationRad).reserve(16).finish();
}

/** PGN 127245, rudder. `direction` 0 is no order, 1 starboard, 2 port. */
export function packRudder(
  rudder: { instance?: number; direction?: number; orderRad?: number; positionRad: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, rudder.instance).put(field.U3, rudder.direction).reserve(5)
    .put(field.SIGNED_ANGLE_RAD, rudder.orderRad).put(field.SIGNED_ANGLE_RAD, rudder.positionRad).reserve(16).finish();
}

/** What PGN 127237 tells. Directions are true. */
export interface TrackControl {
  /** 5 is track control, 4 heading control. */
  readonly steeringMode?: number;
  readonly rudderDirection?: number;
  readonly rudderOrderRad?: number;
  readonly headingToSteerRad?: number;
  readonly trackRad?: number;
  readonly rudderLimitRad?: number;
  readonly offTrackLimitM?: number;
  readonly headingRad?: number;
  /** Whether the "limit exceeded" flags are known (and not set). */
  readonly limitsKnown: boolean;
}

/** PGN 127237, heading and track control. */
export function packTrackControl(control: TrackControl): Uint8Array<ArrayBuffer> {
  const limit = control.limitsKnown ? 0 : undefined;
  return new PayloadWriter(21).put(field.U2, limit).put(field.U2, limit).put(field.U2, limit).put(field.U2, limit)
    .put(field.U3, control.steeringMode).put(field.U3, control.steeringMode === undefined ? undefined : 0)
    .put(field.U2, REFERENCE.true).reserve(5).put(field.U3, control.rudderDirection)
    .put(field.SIGNED_ANGLE_RAD, control.rudderOrderRad)
    .put(field.ANGLE_RAD, optionalCompass(control.headingToSteerRad))
    .put(field.ANGLE_RAD, optionalCompass(control.trackRad))
    .put(field.ANGLE_RAD, control.rudderLimitRad).put(field.ANGLE_RAD, undefined)
    .put(field.S16, undefined).put(field.S16, undefined).put(field.S16, control.offTrackLimitM)
    .put(field.ANGLE_RAD, optionalCompass(control.headingRad)).finish();
}

function optionalCompass(angleRad: number | undefined): number | undefined {
  return angleRad === undefined ? undefined : compass(angleRad);
}

/** PGN 128000, leeway; positive is to starboard. */
export function packLeeway({ sid, leewayRad }: { sid?: number; leewayRad: number }): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, sid).put(field.SIGNED_ANGLE_RAD, leewayRad).reserve(40).finish();
}

/** PGN 128259, speed through the water by a paddle wheel. */
export function packWaterSpeed(
  { sid, waterMps, groundMps }: { sid?: number; waterMps: number; groundMps?: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, sid).put(field.SPEED_MPS, waterMps).put(field.SPEED_MPS, groundMps)
    .put(field.U8, 0).reserve(16).finish();
}

/** PGN 128267, depth below the transducer; a positive offset is to the water line, a negative one to the keel. */
export function packDepth(
  depth: { sid?: number; depthM: number; offsetM: number; rangeM?: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, depth.sid).put(field.LENGTH_CM, depth.depthM)
    .put(field.SHORT_LENGTH_MM, depth.offsetM).put(field.RANGE_10_M, depth.rangeM).finish();
}

/** PGN 128275, distance log. */
export function packLog(
  log: { time?: DateTime; logM?: number; tripM?: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(14).put(field.DATE_DAYS, log.time?.days).put(field.TIME_S, log.time?.secondsOfDay)
    .put(field.DISTANCE_M, log.logM).put(field.DISTANCE_M, log.tripM).finish();
}
