import { type DeviceSpec, marineName, type View } from "./device.ts";
import { radians, wrapHalfTurn, wrapTurn } from "./navigation.ts";
import { BANDG_KEY, MAKER, packKeyValues } from "./payloads_maker.ts";
import * as motion from "./payloads_motion.ts";
import * as nav from "./payloads_navigation.ts";
import { packOutside, packTemperature, packWind } from "./payloads_weather.ts";
import { noiseAt } from "./random.ts";
import { skyAt, usedSatellites } from "./sky.ts";
import { airAt, depthAt } from "./weather.ts";

/** Magnetic variation in the Kiel Bight, positive east. */
const VARIATION_RAD = radians(4.3);
/** Magnetic model 2020, as PGN 127258 numbers it, and the day it was published: 2019-12-10. */
const WMM_2020 = 8;
const WMM_2020_DAYS = 18_240;
const ANTENNA_HEIGHT_M = 4.2;
const GEOIDAL_SEPARATION_M = 40.1;
/** GPS with SBAS and GLONASS, plain fix. */
const GNSS_TYPE = 4;
const GNSS_METHOD = 1;
/** Depth of the transducer under the water line. */
const TRANSDUCER_DEPTH_M = 0.55;

const timeOf = (view: View) => nav.dateTimeOf(view.wallUs);
const secondsOf = (view: View) => view.passage.timeMs / 1000;

/** GPS receiver. */
export function gps(): DeviceSpec {
  const sky = (view: View) => skyAt(view.passage.seed, secondsOf(view));
  return {
    name: marineName({ unique: 1_204_417, maker: MAKER.garmin, deviceClass: 60, deviceFunction: 145 }),
    preferredAddress: 2,
    product: {
      code: 2733,
      model: "GPS 24xd",
      softwareVersion: "4.10",
      modelVersion: "Marine",
      serial: "3925117734",
      loadEquivalency: 2,
    },
    configuration: ["GPS on the cabin roof", "", "Garmin International, Inc."],
    powerOnMs: 12,
    receives: [],
    broadcasts: [
      { pgn: 129025, prio: 2, intervalMs: 100, pack: ({ passage }) => nav.packPosition(passage.motion.position) },
      {
        pgn: 129026,
        prio: 2,
        intervalMs: 125,
        pack: ({ passage: { motion }, sid }) =>
          nav.packCourseSpeed({ sid, courseRad: motion.courseOverGroundRad, speedMps: motion.speedOverGroundMps }),
      },
      { pgn: 129029, prio: 3, intervalMs: 1000, pack: packFix },
      { pgn: 129539, prio: 6, intervalMs: 1000, pack: (view) => nav.packDops({ sid: view.sid, ...sky(view) }) },
      {
        pgn: 129540,
        prio: 6,
        intervalMs: 1000,
        pack: (view) => nav.packSatellites({ sid: view.sid, satellites: sky(view).satellites }),
      },
      {
        pgn: 126992,
        prio: 3,
        intervalMs: 1000,
        pack: (view) => nav.packSystemTime({ sid: view.sid, time: timeOf(view) }),
      },
      {
        pgn: 127258,
        prio: 7,
        intervalMs: 1000,
        pack: ({ sid }) =>
          motion.packVariation({ sid, source: WMM_2020, days: WMM_2020_DAYS, variationRad: VARIATION_RAD }),
      },
    ],
  };
}

function packFix(view: View): Uint8Array {
  const { passage, sid } = view;
  const sky = skyAt(passage.seed, secondsOf(view));
  return nav.packGnssPosition({
    sid,
    time: timeOf(view),
    position: passage.motion.position,
    altitudeM: ANTENNA_HEIGHT_M + passage.weather.heaveM + 0.3 * noiseAt(passage.seed, Math.floor(secondsOf(view))),
    type: GNSS_TYPE,
    method: GNSS_METHOD,
    satellites: usedSatellites(sky),
    hdop: sky.hdop,
    pdop: sky.pdop,
    geoidalSeparationM: GEOIDAL_SEPARATION_M,
  });
}

/** Satellite compass with motion sensor. */
export function compass(): DeviceSpec {
  return {
    name: marineName({ unique: 88_213, maker: MAKER.furuno, deviceClass: 60, deviceFunction: 140 }),
    preferredAddress: 4,
    product: {
      code: 10_621,
      model: "SCX20",
      softwareVersion: "20P8235-00",
      modelVersion: "1.05",
      serial: "100347",
      loadEquivalency: 6,
    },
    configuration: ["Compass amidships", "", "Furuno Electric Co., Ltd."],
    powerOnMs: 25,
    receives: [127258],
    broadcasts: [
      {
        pgn: 127250,
        prio: 2,
        intervalMs: 100,
        pack: ({ passage, sid }) =>
          motion.packHeading({
            sid,
            headingRad: wrapTurn(passage.motion.headingRad - VARIATION_RAD),
            deviationRad: 0,
            variationRad: VARIATION_RAD,
            reference: "magnetic",
          }),
      },
      {
        pgn: 127251,
        prio: 2,
        intervalMs: 100,
        pack: ({ passage, sid }) => motion.packTurnRate({ sid, radPerS: passage.motion.turnRateRadPerS }),
      },
      {
        pgn: 127257,
        prio: 3,
        intervalMs: 100,
        pack: ({ passage, sid }) =>
          motion.packAttitude({
            sid,
            yawRad: wrapHalfTurn(passage.motion.headingRad),
            pitchRad: passage.weather.pitchRad,
            rollRad: passage.weather.rollRad,
          }),
      },
      {
        pgn: 127252,
        prio: 3,
        intervalMs: 500,
        pack: ({ passage, sid }) => motion.packHeave({ sid, heaveM: passage.weather.heaveM }),
      },
    ],
  };
}

/** Masthead wind with a computer that works out true wind, leeway and current. */
export function wind(): DeviceSpec {
  return {
    name: marineName({ unique: 640_031, maker: MAKER.bAndG, deviceClass: 85, deviceFunction: 130 }),
    preferredAddress: 7,
    product: {
      code: 14_250,
      model: "H5000 Hydra",
      softwareVersion: "2.0.46.2.9",
      modelVersion: "000-11545-001",
      serial: "107733#",
      loadEquivalency: 4,
    },
    configuration: ["Wind at masthead", "", "B&G"],
    powerOnMs: 61,
    receives: [127250, 128259, 129026],
    broadcasts: [
      {
        pgn: 130306,
        prio: 2,
        intervalMs: 100,
        pack: ({ passage: { weather }, sid }) =>
          packWind({
            sid,
            speedMps: weather.wind.apparentSpeedMps,
            angleRad: wrapTurn(weather.wind.apparentAngleRad),
            reference: "apparent",
          }),
      },
      {
        pgn: 130306,
        prio: 2,
        intervalMs: 100,
        pack: ({ passage: { weather }, sid }) =>
          packWind({
            sid,
            speedMps: weather.wind.trueSpeedMps,
            angleRad: wrapTurn(weather.wind.trueAngleRad),
            reference: "trueBoat",
          }),
      },
      {
        pgn: 130306,
        prio: 2,
        intervalMs: 1000,
        pack: ({ passage: { weather }, sid }) =>
          packWind({
            sid,
            speedMps: weather.wind.trueSpeedMps,
            angleRad: weather.wind.trueFromRad,
            reference: "groundNorth",
          }),
      },
      { pgn: 130824, prio: 3, intervalMs: 1000, pack: packSailingKeys },
    ],
  };
}

function packSailingKeys({ passage: { motion, weather } }: View): Uint8Array {
  const angle = (angleRad: number) => Math.round(angleRad * 1e4);
  return packKeyValues([
    { key: BANDG_KEY.leeway, raw: angle(motion.leewayRad) },
    { key: BANDG_KEY.currentDrift, raw: Math.round(weather.currentSpeedMps * 100) },
    { key: BANDG_KEY.currentSet, raw: angle(wrapHalfTurn(weather.currentSetRad)) },
    { key: BANDG_KEY.roll, raw: angle(weather.rollRad) },
    { key: BANDG_KEY.pitch, raw: angle(weather.pitchRad) },
  ]);
}

/** Transducer for depth, speed and temperature. */
export function transducer(): DeviceSpec {
  const sea = (view: View) => airAt(view.passage.climate, secondsOf(view)).seaK;
  return {
    name: marineName({ unique: 301_982, maker: MAKER.airmar, deviceClass: 60, deviceFunction: 136 }),
    preferredAddress: 35,
    product: {
      code: 34_233,
      model: "DST810",
      softwareVersion: "2.006,1.000",
      modelVersion: "IDST810-NV40-1,HW3:1,OEM0",
      serial: "5073221",
      loadEquivalency: 3,
    },
    configuration: ["Hull, starboard bow", "", "Airmar Technology Corporation"],
    powerOnMs: 92,
    receives: [],
    broadcasts: [
      {
        pgn: 128259,
        prio: 2,
        intervalMs: 200,
        pack: ({ passage, sid }) => motion.packWaterSpeed({ sid, waterMps: passage.motion.speedThroughWaterMps }),
      },
      {
        pgn: 128267,
        prio: 3,
        intervalMs: 500,
        pack: ({ passage, sid }) =>
          motion.packDepth({
            sid,
            depthM: depthAt(passage.climate, passage.motion.position) - TRANSDUCER_DEPTH_M,
            offsetM: TRANSDUCER_DEPTH_M,
            rangeM: 100,
          }),
      },
      {
        pgn: 128275,
        prio: 6,
        intervalMs: 1000,
        pack: (view) => motion.packLog({ time: timeOf(view), logM: view.passage.logM, tripM: view.passage.tripM }),
      },
      {
        pgn: 128000,
        prio: 4,
        intervalMs: 500,
        pack: ({ passage, sid }) => motion.packLeeway({ sid, leewayRad: passage.motion.leewayRad }),
      },
      { pgn: 130310, prio: 5, intervalMs: 500, pack: (view) => packOutside({ sid: view.sid, seaK: sea(view) }) },
      {
        pgn: 130312,
        prio: 5,
        intervalMs: 2000,
        pack: (view) => packTemperature({ sid: view.sid, instance: 0, source: "sea", actualK: sea(view) }),
      },
    ],
  };
}
