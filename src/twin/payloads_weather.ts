import { PayloadWriter } from "./bits.ts";
import { field } from "./fields.ts";
import { compass } from "./payloads_navigation.ts";

/** What the angle of PGN 130306 is measured from, and whether the boat's own movement is taken out. */
export const WIND_REFERENCE = { groundNorth: 0, apparent: 2, trueBoat: 3 } as const;

/** Temperature sources of NMEA 2000. */
export const TEMPERATURE_SOURCE = {
  sea: 0,
  outside: 1,
  inside: 2,
  engineRoom: 3,
  mainCabin: 4,
  refrigerator: 7,
  exhaustGas: 14,
} as const;
/** A place where a temperature is taken. */
export type TemperaturePlace = keyof typeof TEMPERATURE_SOURCE;

/** Humidity sources of NMEA 2000. */
export const HUMIDITY_SOURCE = { inside: 0, outside: 1 } as const;

/** PGN 130306, wind. */
export function packWind(
  wind: { sid?: number; speedMps: number; angleRad: number; reference: keyof typeof WIND_REFERENCE },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, wind.sid).put(field.SPEED_MPS, wind.speedMps)
    .put(field.ANGLE_RAD, compass(wind.angleRad)).put(field.U3, WIND_REFERENCE[wind.reference]).reserve(21).finish();
}

/** PGN 130310, environment outside. */
export function packOutside(
  air: { sid?: number; seaK?: number; airK?: number; pressurePa?: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, air.sid).put(field.TEMPERATURE_K, air.seaK)
    .put(field.TEMPERATURE_K, air.airK).put(field.PRESSURE_HPA_PA, air.pressurePa).reserve(8).finish();
}

/** PGN 130311, environmental parameters. */
export function packEnvironment(
  air: {
    sid?: number;
    source: TemperaturePlace;
    humiditySource?: keyof typeof HUMIDITY_SOURCE;
    temperatureK: number;
    humidityPercent?: number;
    pressurePa?: number;
  },
): Uint8Array<ArrayBuffer> {
  const humiditySource = air.humiditySource === undefined ? undefined : HUMIDITY_SOURCE[air.humiditySource];
  return new PayloadWriter(8).put(field.U8, air.sid).put(field.U6, TEMPERATURE_SOURCE[air.source])
    .put(field.U2, humiditySource).put(field.TEMPERATURE_K, air.temperatureK)
    .put(field.HUMIDITY_PERCENT, air.humidityPercent).put(field.PRESSURE_HPA_PA, air.pressurePa).finish();
}

/** One temperature, for PGNs 130312, 130316 and Maretron's 130823. */
export interface TemperatureReading {
  readonly sid?: number;
  readonly instance: number;
  readonly source: TemperaturePlace;
  readonly actualK?: number;
  readonly setK?: number;
}

/** PGN 130312, temperature. */
export function packTemperature(reading: TemperatureReading): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, reading.sid).put(field.U8, reading.instance)
    .put(field.U8, TEMPERATURE_SOURCE[reading.source]).put(field.TEMPERATURE_K, reading.actualK)
    .put(field.TEMPERATURE_K, reading.setK).reserve(8).finish();
}

/** PGN 130316, temperature, extended range. */
export function packTemperatureExtended(reading: TemperatureReading): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, reading.sid).put(field.U8, reading.instance)
    .put(field.U8, TEMPERATURE_SOURCE[reading.source]).put(field.TEMPERATURE_FINE_K, reading.actualK)
    .put(field.TEMPERATURE_COARSE_K, reading.setK).finish();
}

/** PGN 130313, humidity. */
export function packHumidity(
  humidity: { sid?: number; instance: number; source: keyof typeof HUMIDITY_SOURCE; actualPercent: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, humidity.sid).put(field.U8, humidity.instance)
    .put(field.U8, HUMIDITY_SOURCE[humidity.source]).put(field.HUMIDITY_PERCENT, humidity.actualPercent)
    .put(field.HUMIDITY_PERCENT, undefined).reserve(8).finish();
}

/** PGN 130314, atmospheric pressure. */
export function packPressure(
  { sid, instance, pressurePa }: { sid?: number; instance: number; pressurePa: number },
): Uint8Array<ArrayBuffer> {
  return new PayloadWriter(8).put(field.U8, sid).put(field.U8, instance).put(field.U8, 0)
    .put(field.PRESSURE_FINE_PA, pressurePa).reserve(8).finish();
}
