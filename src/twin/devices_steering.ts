import { type Broadcast, type DeviceSpec, marineName, type View } from "./device.ts";
import { MAX_RUDDER_RAD } from "./motion.ts";
import { MAKER } from "./payloads_maker.ts";
import * as motion from "./payloads_motion.ts";
import * as nav from "./payloads_navigation.ts";
import { legTo, progressOn, ROUTE, ROUTE_NAME, waypointAt } from "./route.ts";

const TRACK_CONTROL_MODE = 5;
const OFF_TRACK_LIMIT_M = 185;
/** Below this closing speed there is no sense in an estimated time of arrival. */
const MIN_CLOSING_MPS = 0.3;

/** Autopilot computer with its rudder feedback. */
export function autopilot(): DeviceSpec {
  const direction = (orderRad: number) => (Math.abs(orderRad) < 0.005 ? 0 : orderRad > 0 ? 1 : 2);
  const broadcasts: Broadcast[] = [
    {
      pgn: 127245,
      prio: 2,
      intervalMs: 100,
      pack: ({ passage: { pilot } }) =>
        motion.packRudder({
          instance: 0,
          direction: direction(pilot.rudderOrderRad),
          orderRad: pilot.rudderOrderRad,
          positionRad: pilot.rudderRad,
        }),
    },
    {
      pgn: 127237,
      prio: 2,
      intervalMs: 500,
      pack: ({ passage }) =>
        motion.packTrackControl({
          limitsKnown: true,
          steeringMode: TRACK_CONTROL_MODE,
          rudderDirection: direction(passage.pilot.rudderOrderRad),
          rudderOrderRad: passage.pilot.rudderOrderRad,
          headingToSteerRad: passage.pilot.headingToSteerRad,
          trackRad: progressOn(passage.waypoint, passage.motion.position).trackRad,
          rudderLimitRad: MAX_RUDDER_RAD,
          offTrackLimitM: OFF_TRACK_LIMIT_M,
          headingRad: passage.motion.headingRad,
        }),
    },
  ];
  return {
    name: marineName({ unique: 917_204, maker: MAKER.raymarine, deviceClass: 40, deviceFunction: 150 }),
    preferredAddress: 204,
    product: {
      code: 33_401,
      model: "ACU-400 Autopilot",
      softwareVersion: "3.04",
      modelVersion: "E70100",
      serial: "0720541",
      loadEquivalency: 1,
    },
    configuration: ["Autopilot, aft locker", "", "Raymarine UK Ltd."],
    powerOnMs: 133,
    receives: [127250, 127258, 128259, 129283, 129284, 129285, 130306],
    broadcasts,
  };
}

/** Chart plotter that knows the route. */
export function plotter(): DeviceSpec {
  return {
    name: marineName({ unique: 1_530_776, maker: MAKER.navico, deviceClass: 120, deviceFunction: 130 }),
    preferredAddress: 43,
    product: {
      code: 21_912,
      model: "NSS12 evo3S",
      softwareVersion: "22.1-67.1.119",
      modelVersion: "000-15403-001",
      serial: "021377A",
      loadEquivalency: 1,
    },
    configuration: ["Plotter at the helm", "", "Navico"],
    powerOnMs: 88,
    receives: [129025, 129026, 129029, 127250, 128267, 129038, 129039, 129794, 129809, 129810, 130306],
    broadcasts: [
      {
        pgn: 129283,
        prio: 3,
        intervalMs: 1000,
        pack: ({ passage, sid }) => {
          const { crossTrackM } = progressOn(passage.waypoint, passage.motion.position);
          return nav.packCrossTrack({ sid, crossTrackM });
        },
      },
      { pgn: 129284, prio: 3, intervalMs: 1000, pack: packDestination },
      { pgn: 129285, prio: 6, intervalMs: 5000, pack: () => nav.packRoute(theRoute()) },
    ],
  };
}

function theRoute(): Parameters<typeof nav.packRoute>[0] {
  return { routeId: 1, name: ROUTE_NAME, waypoints: ROUTE };
}

function packDestination({ passage, sid, wallUs }: View): Uint8Array {
  const { motion: boat, waypoint } = passage;
  const leg = progressOn(waypoint, boat.position);
  const closingMps = boat.speedOverGroundMps * Math.cos(leg.bearingRad - boat.courseOverGroundRad);
  const etaUs = wallUs + leg.distanceM / closingMps * 1e6;
  return nav.packNavigationData({
    sid,
    distanceM: leg.distanceM,
    perpendicularCrossed: leg.perpendicularCrossed,
    arrivalCircleEntered: leg.arrived,
    ...(closingMps > MIN_CLOSING_MPS ? { eta: nav.dateTimeOf(etaUs) } : { eta: undefined }),
    trackRad: leg.trackRad,
    bearingRad: leg.bearingRad,
    originId: waypointAt(waypoint + ROUTE.length - 1).id,
    destinationId: waypointAt(waypoint).id,
    destination: legTo(waypoint).to,
    closingMps,
  });
}
