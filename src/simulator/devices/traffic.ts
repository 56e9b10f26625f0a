import type { Fields } from "../../pgn/mod.ts";
import { type Broadcast, broadcast, dayAndTime, device, type DeviceSpec, type View } from "./device.ts";
import { compassInSteps, inSteps, radians } from "../navigation.ts";
import { noiseAt } from "../random.ts";
import { type Target, type Vessel, VESSELS } from "../traffic.ts";

/** Reporting intervals of ITU-R M.1371, tables 1 and 2. */
const CLASS_A_MS = 10_000;
const CLASS_A_FAST_MS = 6_000;
const CLASS_A_ANCHORED_MS = 180_000;
const CLASS_B_MS = 30_000;
const STATIC_MS = 360_000;
const POSITION_PRIO = 4;
const STATIC_PRIO = 6;
/** 14 knots: faster class A ships report more often. */
const FAST_MPS = 7.2;

/** Resolutions of AIS (ITU-R M.1371, tables 48 and 70): 1/10000 minute, 0.1 knot, course 0.1°, heading 1°. */
const STEP = { positionDeg: 1 / 600_000, speedMps: 0.1 * 1852 / 3600, courseRad: radians(0.1), headingRad: radians(1) };
const HOUR_S = 3600;
/** AIS message numbers (ITU-R M.1371, table 46). */
const MESSAGE = { classAPosition: 1, classAStatic: 5, classBPosition: 18, classBStatic: 24 } as const;
/** Number of values of the 19-bit communication state; all ones would mean "not available". */
const STATE_VALUES = 2 ** 19 - 1;

/** Interval of the position of the receiver's own antenna. */
const OWN_POSITION_MS = 1000;

/**
 * AIS receiver: sends the reports of all vessels, and the own position as a second source beside the GPS. Switched on late,
 * so that it finds its preferred address in use by the plotter.
 */
export function aisReceiver(): DeviceSpec {
  return device("aisReceiver", [
    broadcast(
      { pgn: 129025, prio: 2, intervalMs: OWN_POSITION_MS },
      ({ passage: { motion } }) => ({ ...motion.position }),
    ),
    ...VESSELS.flatMap((vessel, index) => reportsOf(vessel, index)),
  ]);
}

function reportsOf(vessel: Vessel, index: number): Broadcast[] {
  const report = (
    pgn: number,
    { intervalMs, fields }: { intervalMs: number; fields: (target: Target, view: View) => Fields },
  ): Broadcast => ({
    pgn,
    prio: intervalMs === STATIC_MS ? STATIC_PRIO : POSITION_PRIO,
    intervalMs,
    fields: (view) => {
      const target = view.passage.traffic[index];
      return target && fields(target, view);
    },
  });
  if (vessel.station === "B") {
    return [
      report(129039, { intervalMs: CLASS_B_MS, fields: positionOfB }),
      report(129809, { intervalMs: STATIC_MS, fields: () => nameOfB(vessel) }),
      report(129810, { intervalMs: STATIC_MS, fields: () => staticOfB(vessel) }),
    ];
  }
  const underWayMs = vessel.speedMps > FAST_MPS ? CLASS_A_FAST_MS : CLASS_A_MS;
  return [
    report(129038, { intervalMs: vessel.speedMps === 0 ? CLASS_A_ANCHORED_MS : underWayMs, fields: positionOfA }),
    report(129794, { intervalMs: STATIC_MS, fields: (_, { wallUs }) => staticOfA(vessel, wallUs) }),
  ];
}

/** Fields of position reports of both classes. */
function positionOf({ vessel, position, courseRad, speedMps }: Target, { wallUs }: View): Fields {
  const timeS = Math.floor(wallUs / 1e6);
  const chance = (noiseAt(vessel.mmsi, timeS) + 1) / 2;
  return {
    repeat_indicator: 0,
    user_id: vessel.mmsi,
    latitude: inSteps(position.latitude, STEP.positionDeg),
    longitude: inSteps(position.longitude, STEP.positionDeg),
    position_accuracy: 1,
    raim: 0,
    time_stamp: timeS % 60,
    cog: compassInSteps(courseRad, STEP.courseRad),
    sog: inSteps(speedMps, STEP.speedMps),
    communication_state: Math.floor(chance * STATE_VALUES),
    ais_transceiver_info: chance < 0.5 ? "channel_a_vdl" : "channel_b_vdl",
  };
}

function positionOfA(target: Target, view: View): Fields {
  return {
    message_id: MESSAGE.classAPosition,
    ...positionOf(target, view),
    heading: compassInSteps(target.courseRad, STEP.headingRad),
    rate_of_turn: target.turnRateRadPerS,
    nav_status: target.vessel.speedMps === 0 ? "at_anchor" : "under_way_using_engine",
  };
}

/** A carrier-sense unit without display: DSC, whole band, message 22, autonomous. */
function positionOfB(target: Target, view: View): Fields {
  return {
    message_id: MESSAGE.classBPosition,
    ...positionOf(target, view),
    regional_application: 0,
    regional_flags: 0,
    unit_type: 1,
    integrated_display: 0,
    dsc_flag: 1,
    band: 1,
    can_handle_msg22: 1,
    ais_mode: 0,
    ais_comm_state: 1,
  };
}

function sizeOf({ lengthM, beamM }: Vessel): Fields {
  return {
    ship_length: lengthM,
    ship_beam: beamM,
    position_ref_starboard: beamM / 2,
    position_ref_bow: Math.round(lengthM * 0.8),
  };
}

function staticOfA(vessel: Vessel, wallUs: number): Fields {
  const eta = dayAndTime(wallUs + 5 * HOUR_S * 1e6);
  return {
    message_id: MESSAGE.classAStatic,
    repeat_indicator: 0,
    user_id: vessel.mmsi,
    imo_number: vessel.imo,
    callsign: vessel.callsign,
    name: vessel.name,
    ship_type: vessel.shipType,
    ...sizeOf(vessel),
    eta_date: eta.days_since_1970,
    // Voyage data is entered by hand: whole hours.
    eta_time: Math.floor(eta.seconds_today / HOUR_S) * HOUR_S,
    draught: vessel.draughtM,
    destination: vessel.destination,
    ais_version_indicator: 1,
    gnss_type: "gps",
    dte: 0,
    ais_transceiver_info: "channel_a_vdl",
  };
}

function nameOfB({ mmsi, name }: Vessel): Fields {
  return { message_id: MESSAGE.classBStatic, repeat_indicator: 0, user_id: mmsi, name };
}

function staticOfB(vessel: Vessel): Fields {
  return {
    message_id: MESSAGE.classBStatic,
    repeat_indicator: 0,
    user_id: vessel.mmsi,
    ship_type: vessel.shipType,
    vendor_id: "EMT9540",
    callsign: vessel.callsign,
    ...sizeOf(vessel),
    spare: 0,
  };
}
