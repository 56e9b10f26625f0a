/**
 * Payloads of real devices, from the samples of the canboat project (github.com/canboat/canboat, Apache-2.0), packed
 * again from the values that canboat's analyzer reads in them.
 */
import assert from "node:assert/strict";
import { formatHex } from "../../src/frame/mod.ts";
import * as ais from "../../src/twin/payloads_ais.ts";
import * as identity from "../../src/twin/payloads_identity.ts";
import * as machine from "../../src/twin/payloads_machinery.ts";
import * as maker from "../../src/twin/payloads_maker.ts";
import * as motion from "../../src/twin/payloads_motion.ts";
import * as nav from "../../src/twin/payloads_navigation.ts";
import * as weather from "../../src/twin/payloads_weather.ts";

const channel = (bytes: number) => bytes as 0 | 1;
const bytesOfState = (low: number, middle: number, high: number) => low | (middle << 8) | ((high & 7) << 16);

const NETWORK: [string, Uint8Array][] = [
  ["ef04e0b300af78c0", identity.packClaim(0xc078af00b3e004efn)],
  ["01ffffffff16f001", identity.packRefusal(126998)],
  ["60ea9bccffffffff", identity.packHeartbeat({ intervalMs: 60_000, count: 155 })],
  ["02010201140150726564697457696e642044617461487562", identity.packConfiguration(["", "", "PreditWind DataHub"])],
  [
    "0100e80000ea0000eb0000ec0000ee0000ef00d8fe0000ed0103ff01",
    identity.packPgnList("receive", [59392, 59904, 60160, 60416, 60928, 61184, 65240, 126208, 130819]),
  ],
];

const NAVIGATION: [string, Uint8Array][] = [
  ["fff08450d00cfc03", nav.packSystemTime({ time: { days: 20612, secondsOfDay: 6685 } })],
  ["cb9aaf0cba15eba1", nav.packPosition({ latitude: 21.2835019, longitude: -157.8428998 })],
  ["fffcc3640700ffff", nav.packCourseSpeed({ courseRad: 2.5795, speedMps: 0.07 })],
  ["ffd332003200ff7f", nav.packDops({ hdop: 0.5, vdop: 0.5 })],
  ["16300b000000ffff", nav.packCrossTrack({ sid: 22, crossTrackM: 0.11 })],
  [
    "16b274000000c07c0225414c7708730800000000010000002ccc7e16f6f8b3f00100",
    nav.packNavigationData({
      sid: 22,
      distanceM: 298.74,
      perpendicularCrossed: false,
      arrivalCircleEntered: false,
      eta: { days: 19521, secondsOfDay: 62092 },
      trackRad: 0.2167,
      bearingRad: 0.2163,
      originId: 0,
      destinationId: 1,
      destination: { latitude: 37.7408556, longitude: -25.6640778 },
      closingMps: 0.01,
    }),
  ],
  ["ff519cff7f5506fc", motion.packHeading({ headingRad: 4.0017, variationRad: 0.1621, reference: "true" })],
  ["fffec20200ffffff", motion.packTurnRate({ radPerS: 0.00565594 })],
  ["ffe1a64c00a2feff", motion.packAttitude({ yawRad: -2.2815, pitchRad: 0.0076, rollRad: -0.035 })],
  ["fff755475506ffff", motion.packVariation({ source: 7, days: 18261, variationRad: 0.1621 })],
  ["ffffff7ffc15ffff", motion.packRudder({ positionRad: 0.5628 })],
  ["16a10000001e05ff", motion.packDepth({ sid: 22, depthM: 1.61, offsetM: 1.31 })],
  ["ffffffffffff1b47b703f9bb0000", motion.packLog({ logM: 62_342_939, tripM: 48_121 })],
  ["320000ffff00ffff", motion.packWaterSpeed({ sid: 50, waterMps: 0 })],
  [
    "ff3fffff7fffff0000ffffffffff7fff7fff7fffff",
    motion.packTrackControl({ limitsKnown: false, trackRad: 0 }),
  ],
];

const MACHINERY: [string, Uint8Array][] = [
  ["00470cffff7fffff", machine.packEngineRapid({ instance: 0, speedRpm: 785.75 })],
  [
    "0b0000ffffb979460affffc8d3ea00ffffffffff00000000ffff",
    machine.packEngineDynamic({
      instance: 11,
      oilPressurePa: 0,
      coolantK: 311.61,
      alternatorVolt: 26.3,
      fuelRateLph: -0.1,
      hoursS: 15_389_640,
      loadPercent: -1,
      torquePercent: -1,
    }),
  ],
  // The real device leaves the six reserved bits zero; ours are ones.
  ["01fcffffffff00ff", machine.packTransmission({ instance: 1, gear: 0 })],
  ["50ff7fbe110000ff", machine.packFluidLevel({ instance: 0, fluid: "blackWater", capacityL: 454.2 })],
  [
    "20fa26b70c0000ff",
    machine.packFluidLevel({ instance: 0, fluid: "greyWater", levelPercent: 39.912, capacityL: 325.5 }),
  ],
  ["00610a8f00c0756c", machine.packBattery({ sid: 108, instance: 0, volt: 26.57, ampere: 14.3, temperatureK: 301.44 })],
  ["0317051100ffff5b", machine.packBattery({ sid: 91, instance: 3, volt: 13.03, ampere: 1.7 })],
  ["0254f0ffffffffff", machine.packSwitchBank({ instance: 2, on: [false, true, true, true, false, false] })],
  // Raw register values: 12.72 V and -2.8 A.
  ["66990220f8040000", maker.packVictronRegister({ register: 0x2002, rawValue: 1272 })],
  ["66991c2010f5ffff", maker.packVictronRegister({ register: 0x201c, rawValue: -2800 })],
  ["8998ae000effffffff", maker.packMaretronTemperature({ sid: 174, instance: 0, source: "exhaustGas" })],
];

const WEATHER: [string, Uint8Array][] = [
  ["e6d1000878faffff", weather.packWind({ sid: 230, speedMps: 2.09, angleRad: 3.0728, reference: "apparent" })],
  ["ffffff6275fa03ff", weather.packOutside({ airK: 300.5, pressurePa: 101_800 })],
  [
    "b2417975b53af203",
    weather.packEnvironment({
      sid: 178,
      source: "outside",
      humiditySource: "outside",
      temperatureK: 300.73,
      humidityPercent: 60.116,
      pressurePa: 101_000,
    }),
  ],
  ["ff00016275ffffff", weather.packTemperature({ instance: 0, source: "outside", actualK: 300.5 })],
  ["170001b53aff7fff", weather.packHumidity({ sid: 23, instance: 0, source: "outside", actualPercent: 60.116 })],
  ["ff00000c8a0f00ff", weather.packPressure({ instance: 0, pressurePa: 101_838 })],
  ["ff0001d49504ffff", weather.packTemperatureExtended({ instance: 0, source: "outside", actualK: 300.5 })],
];

const AIS: [string, Uint8Array][] = [
  [
    "120e348d0d04ae39fe64a9401cee97175c00060026ffff0074ffff",
    ais.packClassBPosition({
      mmsi: 227357710,
      position: { latitude: 47.3999716, longitude: -2.9774332 },
      courseRad: 0.6039,
      speedMps: 0.92,
      accurate: false,
      raim: true,
      second: 59,
      communicationState: bytesOfState(0x06, 0x00, 0x06),
      channel: channel(4),
    }),
  ],
  [
    "1847388c0e564c494547455240404040404040404040404040e0",
    ais.packClassBName({ mmsi: 244070471, name: "VLIEGER", channel: 0 }),
  ],
  [
    "1819ae8c0e2554484146584546504535373338406e0028001e003200ffffffff03e1",
    ais.packClassBStatic({
      mmsi: 244100633,
      shipType: 37,
      vendorId: "THAFXEF",
      callsign: "PE5738",
      size: { lengthM: 11, beamM: 4, fromStarboardM: 3, fromBowM: 5 },
      fixType: 0,
      channel: 1,
    }),
  ],
  [
    "053a73960effffffff50473931383240474141535445524c414e44404040404040404040215c036e003200f80237434020491affff" +
    "40404040404040404040404040404040404040403de0",
    ais.packClassAStatic({
      mmsi: 244740922,
      imo: undefined,
      callsign: "PG9182",
      name: "GAASTERLAND",
      shipType: 33,
      size: { lengthM: 86, beamM: 11, fromStarboardM: 5, fromBowM: 76 },
      eta: { days: 17207, secondsOfDay: 44_100 },
      destination: "",
      channel: 0,
    }),
  ],
  [
    "0133c3940e8e1f3b03e7b04b1f2d26910000dc0808ffffff7fc0f8",
    ais.packClassAPosition({
      mmsi: 244630323,
      position: { latitude: 52.5054183, longitude: 5.420635 },
      courseRad: 3.7158,
      speedMps: 0,
      second: 11,
      communicationState: bytesOfState(0xdc, 0x08, 0x00),
      channel: 1,
      status: 0,
    }),
  ],
];

for (const [group, samples] of Object.entries({ NETWORK, NAVIGATION, MACHINERY, WEATHER, AIS })) {
  Deno.test(`payloads: ${group.toLowerCase()} messages of real devices are packed byte for byte`, () => {
    for (const [expected, payload] of samples) assert.equal(formatHex(payload), expected);
  });
}

Deno.test("payloads: product information has four strings of 32 bytes", () => {
  const payload = identity.packProduct({
    code: 2733,
    model: "GPS 24xd",
    softwareVersion: "4.10",
    modelVersion: "Marine",
    serial: "39251",
    loadEquivalency: 2,
  });
  const text = (at: number) => new TextDecoder("latin1").decode(payload.slice(at, at + 32)).replace(/\xff+$/, "");
  assert.equal(payload.length, 134);
  assert.equal(formatHex(payload.slice(0, 4)), "3408ad0a");
  assert.deepEqual([4, 36, 68, 100].map(text), ["GPS 24xd", "4.10", "Marine", "39251"]);
  assert.equal(formatHex(payload.slice(132)), "0102");
});

Deno.test("payloads: a direction just below the full turn does not round past it", () => {
  const payload = nav.packCourseSpeed({ courseRad: 2 * Math.PI - 1e-9, speedMps: 1 });
  assert.ok((payload[2]! | (payload[3]! << 8)) * 1e-4 < 2 * Math.PI);
});
