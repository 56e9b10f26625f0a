import type { PgnMapping } from "./types.ts";

const POSITION = { longitude: "longitude", latitude: "latitude" } as const;
const DATE_TIME = ["days_since_1970", "seconds_today"] as const;
const [COURSE, ROUTE] = ["navigation.course{course!}.nextPoint", "navigation.course{course!}"];

/** Navigation, steering, depth, wind. */
export const NAVIGATION: readonly PgnMapping[] = [
  { pgn: 126992, rows: [["navigation.datetime", DATE_TIME, { as: "dateTime" }]] },
  {
    pgn: 127237,
    rows: [
      ["steering.autopilot.target.headingMagnetic", "heading_to_steer_course", {
        when: { heading_reference: "Magnetic" },
      }],
      ["steering.autopilot.target.headingTrue", "heading_to_steer_course", {
        when: { heading_reference: ["True", "Error", null] },
      }],
    ],
  },
  { pgn: 127245, rows: [["steering.rudderAngle", "position"]] },
  {
    pgn: 127250,
    rows: [
      ["navigation.headingMagnetic", "heading", { when: { heading_reference: "magnetic" } }],
      ["navigation.headingTrue", "heading", { when: { heading_reference: "true" } }],
      ["navigation.magneticVariation", "variation"],
      ["navigation.magneticDeviation", "deviation"],
    ],
  },
  { pgn: 127251, rows: [["navigation.rateOfTurn", "rate"]] },
  { pgn: 127257, rows: [["navigation.attitude", { yaw: "yaw?", pitch: "pitch?", roll: "roll?" }]] },
  { pgn: 127258, rows: [["navigation.magneticVariation", "variation"]] },
  {
    pgn: 128259,
    rows: [
      ["navigation.speedThroughWater", "speed_water"],
      ["navigation.speedOverGround", "speed_ground"],
      ["navigation.speedThroughWaterReferenceType", "speed_type", { as: "speedType" }],
    ],
  },
  {
    pgn: 128267,
    rows: [
      ["environment.depth.belowTransducer", "depth"],
      ["environment.depth.surfaceToTransducer", "offset", { as: "positive" }],
      ["environment.depth.transducerToKeel", "offset", { as: "negative" }],
      ["environment.depth.belowSurface", ["depth", "offset"], { as: "belowSurface" }],
      ["environment.depth.belowKeel", ["depth", "offset"], { as: "belowKeel" }],
    ],
  },
  { pgn: 128275, rows: [["navigation.trip.log", "trip_log"], ["navigation.log", "log"]] },
  { pgn: 129025, rows: [["navigation.position", POSITION]] },
  {
    pgn: 129026,
    rows: [
      ["navigation.speedOverGround", "sog"],
      ["navigation.courseOverGroundTrue", "cog", { when: { cog_reference: "true" } }],
      ["navigation.courseOverGroundMagnetic", "cog", { when: { cog_reference: "magnetic" } }],
    ],
  },
  {
    pgn: 129029,
    rows: [
      ["navigation.position", POSITION],
      ["navigation.datetime", DATE_TIME, { as: "dateTime" }],
      ["navigation.gnss.antennaAltitude", "altitude"],
      ["navigation.gnss.satellites", "num_svs"],
      ["navigation.gnss.horizontalDilution", "hdop"],
      ["navigation.gnss.positionDilution", "pdop"],
      ["navigation.gnss.geoidalSeparation", "geoidal_sep"],
      ["navigation.gnss.type", "gnss_type", { as: "gnssType" }],
      ["navigation.gnss.methodQuality", "gnss_method", { as: "gnssMethod" }],
      ["navigation.gnss.integrity", "integrity", { as: "gnssIntegrity" }],
    ],
  },
  {
    pgn: 129283,
    prepare: "lastCourse",
    rows: [["navigation.course{course!}.crossTrackError", "xte", { when: { nav_term: 0 } }]],
  },
  {
    pgn: 129284,
    prepare: "course",
    rows: [
      ["navigation.course{course!}.bearingTrack{bearing_reference|reference}", "bearing_origin_to_dest"],
      [`${COURSE}.distance`, "distance_to_wp"],
      [`${COURSE}.velocityMadeGood`, "wp_closing_velocity"],
      [`${COURSE}.bearing{bearing_reference|reference}`, "bearing_position_to_dest"],
      [`${COURSE}.position`, { longitude: "dest_longitude", latitude: "dest_latitude" }, { orNull: true }],
      [`${COURSE}.timeToGo`, ["eta_date", "eta_time", "now"], { as: "secondsUntil" }],
    ],
  },
  {
    pgn: 129285,
    prepare: "lastCourseRoute",
    rows: [
      [`${ROUTE}.activeRoute.name`, "route_name", { as: "text" }],
      [`${ROUTE}.previousPoint.name`, "previous_name", { as: "text" }],
      [`${ROUTE}.previousPoint.position`, { latitude: "previous_latitude", longitude: "previous_longitude" }],
      [`${ROUTE}.nextPoint.name`, "next_name", { as: "text" }],
      [`${ROUTE}.followingPoint.name`, "following_name", { as: "text" }],
      [`${ROUTE}.followingPoint.position`, { latitude: "following_latitude", longitude: "following_longitude" }],
    ],
  },
  {
    pgn: 129291,
    rows: [
      ["environment.current", { setTrue: "set", drift: "drift" }, { when: { set_reference: "True" } }],
      ["environment.current", { setMagnetic: "set", drift: "drift" }, { when: { set_reference: "Magnetic" } }],
    ],
  },
  { pgn: 129540, rows: [["navigation.gnss.satellitesInView", "satellites", { as: "satellites" }]] },
  {
    pgn: 130306,
    rows: [
      ["environment.wind.speedApparent", "wind_speed", { when: { wind_reference: ["apparent", null] } }],
      ["environment.wind.speedTrue", "wind_speed", { when: { wind_reference: ["true_boat", "true_water"] } }],
      ["environment.wind.speedOverGround", "wind_speed", {
        when: { wind_reference: ["true_north", "magnetic_north"] },
      }],
      ["environment.wind.angleApparent", "wind_angle", {
        when: { wind_reference: ["apparent", null] },
        as: "signedAngle",
      }],
      ["environment.wind.angleTrueWater", "wind_angle", {
        when: { wind_reference: ["true_boat", "true_water"] },
        as: "signedAngle",
      }],
      ["environment.wind.directionTrue", "wind_angle", { when: { wind_reference: "true_north" } }],
      ["environment.wind.directionMagnetic", "wind_angle", { when: { wind_reference: "magnetic_north" } }],
    ],
  },
  {
    pgn: 130577,
    rows: [
      ["navigation.courseOverGroundTrue", "cog", { when: { cog_reference: "True" } }],
      ["navigation.courseOverGroundMagnetic", "cog", { when: { cog_reference: "Magnetic" } }],
      ["navigation.speedOverGround", "sog"],
      ["environment.current", { setTrue: "set", drift: "drift" }, { when: { cog_reference: "True" } }],
      ["environment.current", { setMagnetic: "set", drift: "drift" }, { when: { cog_reference: "Magnetic" } }],
    ],
  },
];
