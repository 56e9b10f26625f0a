import type { Fields } from "../../pgn/mod.ts";
import {
  broadcast,
  dayAndTime,
  device,
  type DeviceSpec,
  MANUFACTURER,
  manufacturerFields,
  type View,
} from "./device.ts";
import { compass, radians, wrapHalfTurn } from "../navigation.ts";
import { noiseAt } from "../random.ts";
import { skyAt, usedSatellites } from "../sky.ts";
import { airAt, depthAt } from "../weather.ts";

/** Magnetic variation in the Kiel Bight, positive east. */
const VARIATION_RAD = radians(4.3);
/** World Magnetic Model 2020: its number in PGN 127258, and its date of publication, 2019-12-10. */
const WMM_2020 = 8;
const WMM_2020_DAYS = 18_240;
const ANTENNA_HEIGHT_M = 4.2;
const GEOIDAL_SEPARATION_M = 40.1;
/** GPS with SBAS and GLONASS, plain fix: PGN 129029. */
const GNSS_TYPE = 4;
const GNSS_METHOD = 1;
/** Modes of PGN 129539. */
const GNSS_MODE = { threeDimensional: 2, automatic: 3 } as const;
/** Time source of PGN 126992. */
const TIME_SOURCE_GPS = 0;
/** Depth of the transducer under the water line. */
const TRANSDUCER_DEPTH_M = 0.55;

const secondsOf = (view: View) => view.passage.timeMs / 1000;

/** GPS receiver. */
export function gps(): DeviceSpec {
  const sky = (view: View) => skyAt(view.passage.seed, secondsOf(view));
  return device("gps", [
    broadcast({ pgn: 129025, prio: 2, intervalMs: 100 }, ({ passage }) => ({ ...passage.motion.position })),
    broadcast({ pgn: 129026, prio: 2, intervalMs: 125 }, ({ passage: { motion }, sid }) => ({
      sid,
      cog_reference: "true",
      cog: compass(motion.courseOverGroundRad),
      sog: motion.speedOverGroundMps,
    })),
    broadcast({ pgn: 129029, prio: 3, intervalMs: 1000 }, fixOf),
    broadcast({ pgn: 129539, prio: 6, intervalMs: 1000 }, (view) => ({
      sid: view.sid,
      desired_mode: GNSS_MODE.automatic,
      actual_mode: GNSS_MODE.threeDimensional,
      hdop: sky(view).hdop,
      vdop: sky(view).vdop,
    })),
    broadcast(
      { pgn: 129540, prio: 6, intervalMs: 1000 },
      (view) => ({ sid: view.sid, satellites: sky(view).satellites }),
    ),
    broadcast(
      { pgn: 126992, prio: 3, intervalMs: 1000 },
      ({ sid, wallUs }) => ({ sid, time_source: TIME_SOURCE_GPS, ...dayAndTime(wallUs) }),
    ),
    broadcast(
      { pgn: 127258, prio: 7, intervalMs: 1000 },
      ({ sid }) => ({ sid, source: WMM_2020, days_since_1970: WMM_2020_DAYS, variation: VARIATION_RAD }),
    ),
  ]);
}

function fixOf(view: View): Fields {
  const { passage, sid, wallUs } = view;
  const sky = skyAt(passage.seed, secondsOf(view));
  const noiseM = 0.3 * noiseAt(passage.seed, Math.floor(secondsOf(view)));
  return {
    sid,
    ...dayAndTime(wallUs),
    ...passage.motion.position,
    altitude: ANTENNA_HEIGHT_M + passage.weather.heaveM + noiseM,
    gnss_type: GNSS_TYPE,
    gnss_method: GNSS_METHOD,
    integrity: 0,
    num_svs: usedSatellites(sky),
    hdop: sky.hdop,
    pdop: sky.pdop,
    geoidal_sep: GEOIDAL_SEPARATION_M,
    num_ref_stations: 0,
  };
}

/** Satellite compass with motion sensor. */
export function satelliteCompass(): DeviceSpec {
  return device("satelliteCompass", [
    broadcast({ pgn: 127250, prio: 2, intervalMs: 100 }, ({ passage, sid }) => ({
      sid,
      heading: compass(passage.motion.headingRad - VARIATION_RAD),
      deviation: 0,
      variation: VARIATION_RAD,
      heading_reference: "magnetic",
    })),
    broadcast(
      { pgn: 127251, prio: 2, intervalMs: 100 },
      ({ passage, sid }) => ({ sid, rate: passage.motion.turnRateRadPerS }),
    ),
    broadcast({ pgn: 127257, prio: 3, intervalMs: 100 }, ({ passage: { motion, weather }, sid }) => ({
      sid,
      yaw: wrapHalfTurn(motion.headingRad),
      pitch: weather.pitchRad,
      roll: weather.rollRad,
    })),
    broadcast(
      { pgn: 127252, prio: 3, intervalMs: 500 },
      ({ passage, sid }) => ({ sid, heave: passage.weather.heaveM }),
    ),
  ]);
}

/** Masthead wind sensor with a computer for true wind, leeway and current. */
export function wind(): DeviceSpec {
  return device("wind", [
    broadcast({ pgn: 130306, prio: 2, intervalMs: 100 }, ({ passage: { weather: { wind } }, sid }) => ({
      sid,
      wind_speed: wind.apparentSpeedMps,
      wind_angle: compass(wind.apparentAngleRad),
      wind_reference: "apparent",
    })),
    broadcast({ pgn: 130306, prio: 2, intervalMs: 100 }, ({ passage: { weather: { wind } }, sid }) => ({
      sid,
      wind_speed: wind.trueSpeedMps,
      wind_angle: compass(wind.trueAngleRad),
      wind_reference: "true_boat",
    })),
    broadcast({ pgn: 130306, prio: 2, intervalMs: 1000 }, ({ passage: { weather: { wind } }, sid }) => ({
      sid,
      wind_speed: wind.trueSpeedMps,
      wind_angle: compass(wind.trueFromRad),
      wind_reference: "true_north",
    })),
    broadcast({ pgn: 130824, prio: 3, intervalMs: 1000 }, ({ passage: { motion, weather } }) => ({
      ...manufacturerFields(MANUFACTURER.bAndG),
      list: [
        { key: "Leeway Angle", value: motion.leewayRad },
        { key: "Current Drift", value: weather.currentSpeedMps },
        { key: "Current Set", value: compass(weather.currentSetRad) },
        { key: "Attitude Roll", value: weather.rollRad },
        { key: "Pitch Angle", value: weather.pitchRad },
      ],
    })),
  ]);
}

/** Transducer for depth, speed and temperature. */
export function transducer(): DeviceSpec {
  const sea = (view: View) => airAt(view.passage.climate, secondsOf(view)).seaK;
  return device("transducer", [
    broadcast({ pgn: 128259, prio: 2, intervalMs: 200 }, ({ passage, sid }) => ({
      sid,
      speed_water: passage.motion.speedThroughWaterMps,
      speed_type: "paddle_wheel",
    })),
    broadcast({ pgn: 128267, prio: 3, intervalMs: 500 }, ({ passage, sid }) => ({
      sid,
      depth: depthAt(passage.climate, passage.motion.position) + passage.weather.heaveM - TRANSDUCER_DEPTH_M,
      offset: TRANSDUCER_DEPTH_M,
      range: 100,
    })),
    broadcast(
      { pgn: 128275, prio: 6, intervalMs: 1000 },
      ({ passage, wallUs }) => ({ ...dayAndTime(wallUs), log: passage.logM, trip_log: passage.tripM }),
    ),
    broadcast(
      { pgn: 128000, prio: 4, intervalMs: 500 },
      ({ passage, sid }) => ({ sid, leeway_angle: passage.motion.leewayRad }),
    ),
    broadcast({ pgn: 130310, prio: 5, intervalMs: 500 }, (view) => ({ sid: view.sid, water_temperature: sea(view) })),
    broadcast({ pgn: 130312, prio: 5, intervalMs: 2000 }, (view) => ({
      sid: view.sid,
      instance: 0,
      temperature_source: "sea",
      actual_temperature: sea(view),
    })),
  ]);
}
