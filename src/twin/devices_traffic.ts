import { type Broadcast, type DeviceSpec, marineName, type View } from "./device.ts";
import * as ais from "./payloads_ais.ts";
import { MAKER } from "./payloads_maker.ts";
import { dateTimeOf } from "./payloads_navigation.ts";
import { noiseAt } from "./random.ts";
import { type Target, type Vessel, VESSELS } from "./traffic.ts";

/** Reporting intervals of ITU-R M.1371, tables 1 and 2. */
const CLASS_A_MS = 10_000;
const CLASS_A_FAST_MS = 6_000;
const CLASS_A_ANCHORED_MS = 180_000;
const CLASS_B_MS = 30_000;
const STATIC_MS = 360_000;
/** From 14 knots on a class A ship reports more often. */
const FAST_MPS = 7.2;

const HOUR_S = 3600;
const GPS_FIX = 1;
/** Bits of the communication state. */
const STATE_VALUES = 2 ** 19;

/** AIS receiver: passes on what every vessel around reports. */
export function aisReceiver(): DeviceSpec {
  return {
    name: marineName({ unique: 55_120, maker: MAKER.emTrak, deviceClass: 60, deviceFunction: 195 }),
    preferredAddress: 43,
    product: {
      code: 4_270,
      model: "B954",
      softwareVersion: "2.18.0",
      modelVersion: "Class B SOTDMA 5W",
      serial: "B95455120",
      loadEquivalency: 1,
    },
    configuration: ["AIS transceiver", "", "em-trak Marine Electronics Ltd."],
    // Switched on late: the plotter already has the address that both want.
    powerOnMs: 410,
    receives: [129025, 129026, 129029],
    broadcasts: VESSELS.flatMap((vessel, index) => reportsOf(vessel, index)),
  };
}

function reportsOf(vessel: Vessel, index: number): Broadcast[] {
  const report = (
    pgn: number,
    on: { prio: number; intervalMs: number; pack: (target: Target, view: View) => Uint8Array },
  ) =>
    ({
      pgn,
      prio: on.prio,
      intervalMs: on.intervalMs,
      pack: (view: View) => {
        const target = view.passage.traffic[index];
        return target && on.pack(target, view);
      },
    }) satisfies Broadcast;
  if (vessel.station === "B") {
    return [
      report(129039, {
        prio: 4,
        intervalMs: CLASS_B_MS,
        pack: (target, view) => ais.packClassBPosition(positionOf(target, view)),
      }),
      report(129809, { prio: 6, intervalMs: STATIC_MS, pack: () => ais.packClassBName({ ...vessel, channel: 0 }) }),
      report(129810, { prio: 6, intervalMs: STATIC_MS, pack: () => packBStatic(vessel) }),
    ];
  }
  return [
    report(129038, {
      prio: 4,
      intervalMs: vessel.speedMps === 0
        ? CLASS_A_ANCHORED_MS
        : vessel.speedMps > FAST_MPS
        ? CLASS_A_FAST_MS
        : CLASS_A_MS,
      pack: packAPosition,
    }),
    report(129794, { prio: 6, intervalMs: STATIC_MS, pack: (_, view) => packAStatic(vessel, view) }),
  ];
}

function positionOf(target: Target, view: View): ais.AisPosition {
  const { vessel } = target;
  const timeS = Math.floor(view.wallUs / 1e6);
  const chance = (noiseAt(vessel.mmsi, timeS) + 1) / 2;
  return {
    mmsi: vessel.mmsi,
    position: target.position,
    courseRad: target.courseRad,
    speedMps: target.speedMps,
    second: timeS % 60,
    communicationState: Math.floor(chance * STATE_VALUES),
    channel: chance < 0.5 ? 0 : 1,
  };
}

function packAPosition(target: Target, view: View): Uint8Array {
  const status = target.vessel.speedMps === 0 ? ais.NAV_STATUS.atAnchor : ais.NAV_STATUS.underWayUsingEngine;
  return ais.packClassAPosition({
    ...positionOf(target, view),
    headingRad: target.courseRad,
    turnRateRadPerS: target.turnRateRadPerS,
    status,
  });
}

function sizeOf({ lengthM, beamM }: Vessel): ais.ShipSize {
  return { lengthM, beamM, fromStarboardM: beamM / 2, fromBowM: Math.round(lengthM * 0.8) };
}

function packAStatic(vessel: Vessel, view: View): Uint8Array {
  const { days, secondsOfDay } = dateTimeOf(view.wallUs + 5 * HOUR_S * 1e6);
  return ais.packClassAStatic({
    ...vessel,
    size: sizeOf(vessel),
    // Voyage data is typed in by hand: whole hours.
    eta: { days, secondsOfDay: Math.floor(secondsOfDay / HOUR_S) * HOUR_S },
    fixType: GPS_FIX,
    channel: 0,
  });
}

function packBStatic(vessel: Vessel): Uint8Array {
  return ais.packClassBStatic({
    ...vessel,
    vendorId: "EMT9540",
    size: sizeOf(vessel),
    fixType: GPS_FIX,
    channel: 1,
  });
}
