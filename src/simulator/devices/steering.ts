import type { Fields } from "../../pgn/mod.ts";
import { broadcast, dayAndTime, device, type DeviceSpec, type View } from "./device.ts";
import { MAX_RUDDER_RAD } from "../motion.ts";
import { compass, inSteps, radians } from "../navigation.ts";
import { legTo, progressOn, ROUTE, ROUTE_NAME, waypointAt } from "../route.ts";

const OFF_TRACK_LIMIT_M = 185;
/** Resolution of rudder position and orders of a real autopilot of this manufacturer. */
const RUDDER_STEP_RAD = radians(0.05);
/** Mode of PGN 129283 and calculation of PGN 129284. */
const AUTONOMOUS = 0;
const GREAT_CIRCLE = 0;
/** Below this closing speed no time of arrival is sent. */
const MIN_CLOSING_MPS = 0.3;

/** Autopilot computer with its rudder feedback. */
export function autopilot(): DeviceSpec {
  // No order, to starboard, to port.
  const direction = (orderRad: number) => (Math.abs(orderRad) < 0.005 ? 0 : orderRad > 0 ? 1 : 2);
  const rudder = (angleRad: number) => inSteps(angleRad, RUDDER_STEP_RAD);
  return device("autopilot", [
    broadcast({ pgn: 127245, prio: 2, intervalMs: 100 }, ({ passage: { pilot } }) => ({
      instance: 0,
      direction_order: direction(pilot.rudderOrderRad),
      angle_order: rudder(pilot.rudderOrderRad),
      position: rudder(pilot.rudderRad),
    })),
    broadcast({ pgn: 127237, prio: 2, intervalMs: 500 }, ({ passage: { motion, pilot, waypoint } }) => ({
      rudder_limit_exceeded: "No",
      off_heading_limit_exceeded: "No",
      off_track_limit_exceeded: "No",
      override: "No",
      steering_mode: "Track Control",
      turn_mode: "Rudder limit controlled",
      heading_reference: "True",
      commanded_rudder_direction: direction(pilot.rudderOrderRad),
      commanded_rudder_angle: rudder(pilot.rudderOrderRad),
      heading_to_steer_course: compass(pilot.headingToSteerRad),
      track: compass(progressOn(waypoint, motion.position).trackRad),
      rudder_limit: MAX_RUDDER_RAD,
      off_track_limit: OFF_TRACK_LIMIT_M,
      vessel_heading: compass(motion.headingRad),
    })),
  ]);
}

/** Chart plotter with the active route. */
export function plotter(): DeviceSpec {
  return device("plotter", [
    broadcast({ pgn: 129283, prio: 3, intervalMs: 1000 }, ({ passage: { motion, waypoint }, sid }) => ({
      sid,
      xte_mode: AUTONOMOUS,
      nav_term: 0,
      xte: progressOn(waypoint, motion.position).crossTrackM,
    })),
    broadcast({ pgn: 129284, prio: 3, intervalMs: 1000 }, destinationOf),
    broadcast({ pgn: 129285, prio: 6, intervalMs: 5000 }, () => ({
      start_rps: 0,
      route_id: 1,
      navigation_direction: 0,
      supplementary_data: 0,
      route_name: ROUTE_NAME,
      waypoints: ROUTE.map(({ id, name, position }) => ({ id, name, ...position })),
    })),
  ]);
}

function destinationOf({ passage, sid, wallUs }: View): Fields {
  const { motion: boat, waypoint } = passage;
  const leg = progressOn(waypoint, boat.position);
  const { latitude, longitude } = legTo(waypoint).to;
  const closingMps = boat.speedOverGroundMps * Math.cos(leg.bearingRad - boat.courseOverGroundRad);
  const eta = closingMps > MIN_CLOSING_MPS ? dayAndTime(wallUs + leg.distanceM / closingMps * 1e6) : undefined;
  return {
    sid,
    distance_to_wp: leg.distanceM,
    bearing_reference: "true",
    perp_crossed: Number(leg.perpendicularCrossed),
    arrival_circle_entered: Number(leg.arrived),
    calc_type: GREAT_CIRCLE,
    // Plotters send whole seconds.
    eta_time: eta && Math.floor(eta.seconds_today),
    eta_date: eta?.days_since_1970,
    bearing_origin_to_dest: compass(leg.trackRad),
    bearing_position_to_dest: compass(leg.bearingRad),
    origin_wp_number: waypointAt(waypoint + ROUTE.length - 1).id,
    dest_wp_number: waypointAt(waypoint).id,
    dest_latitude: latitude,
    dest_longitude: longitude,
    wp_closing_velocity: closingMps,
  };
}
