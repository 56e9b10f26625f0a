import { broadcast, device, type DeviceSpec, type View } from "./device.ts";
import { batteryHub, engineGateway, switchBank, tankGateway, thermometers } from "./machinery.ts";
import { gps, satelliteCompass, transducer, wind } from "./sensors.ts";
import { autopilot, plotter } from "./steering.ts";
import { aisReceiver } from "./traffic.ts";
import { inSteps } from "../navigation.ts";
import { airAt } from "../weather.ts";

/** Barometers send whole pascals; the resolution of PGN 130314 is a tenth. */
const PRESSURE_STEP_PA = 1;
/** Cabin air is this much warmer than outside. */
const CABIN_WARMER_K = 4.5;

/** Barometer with thermometer and hygrometer. */
export function barometer(): DeviceSpec {
  const air = ({ passage }: View) => airAt(passage.climate, passage.timeMs / 1000);
  return device("barometer", [
    broadcast({ pgn: 130311, prio: 5, intervalMs: 500 }, (view) => ({
      sid: view.sid,
      temperature_source: "outside",
      humidity_source: "outside",
      temperature: air(view).airK,
      humidity: air(view).humidityPercent,
      atmospheric_pressure: air(view).pressurePa,
    })),
    broadcast({ pgn: 130313, prio: 5, intervalMs: 2000 }, (view) => ({
      sid: view.sid,
      instance: 0,
      humidity_source: "outside",
      actual_humidity: air(view).humidityPercent,
    })),
    broadcast({ pgn: 130314, prio: 5, intervalMs: 2000 }, (view) => ({
      sid: view.sid,
      instance: 0,
      pressure_source: "atmospheric",
      pressure: inSteps(air(view).pressurePa, PRESSURE_STEP_PA),
    })),
    broadcast({ pgn: 130312, prio: 5, intervalMs: 2000 }, (view) => ({
      sid: view.sid,
      instance: 2,
      temperature_source: "main_cabin",
      actual_temperature: air(view).airK + CABIN_WARMER_K,
    })),
  ]);
}

/** The devices of the simulated boat: a motor-sailing catamaran of 14 m. */
export function standardBoat(): readonly DeviceSpec[] {
  return [
    gps(),
    satelliteCompass(),
    engineGateway("port"),
    wind(),
    batteryHub(),
    plotter(),
    transducer(),
    engineGateway("starboard"),
    autopilot(),
    tankGateway(),
    thermometers(),
    switchBank(),
    barometer(),
    aisReceiver(),
  ];
}
