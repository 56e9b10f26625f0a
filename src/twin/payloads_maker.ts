import { PayloadWriter } from "./bits.ts";
import { MARINE_INDUSTRY } from "./device.ts";
import { field } from "./fields.ts";
import { TEMPERATURE_SOURCE, type TemperatureReading } from "./payloads_weather.ts";

/** Manufacturer codes of the makers on board, as the canboat definitions list them. */
export const MAKER = {
  airmar: 135,
  maretron: 137,
  garmin: 229,
  navico: 275,
  victron: 358,
  bAndG: 381,
  emTrak: 427,
  yachtDevices: 717,
  raymarine: 1851,
  furuno: 1855,
} as const;

/** Bytes of manufacturer code and industry group, with which proprietary payloads begin. */
const MAKER_BYTES = 2;

function makerPayload(maker: number, length: number): PayloadWriter {
  return new PayloadWriter(length).put(field.U11, maker).reserve(2).put(field.U3, MARINE_INDUSTRY);
}

/** Registers of Victron's VE.CAN (public VREG list) that the battery monitor tells. */
export const VICTRON_REGISTER = {
  /** 0.01 %. */
  stateOfCharge: 0x0fff,
  /** 0.1 Ah. */
  dischargeSinceFull: 0xeeff,
  /** 0.01 V. */
  dcVoltage: 0xed8d,
  /** 0.1 A. */
  dcCurrent: 0xed8f,
  deviceMode: 0x0200,
} as const;

/** PGN 61184 of Victron: one register with its raw value. */
export function packVictronRegister(
  { register, rawValue }: { register: number; rawValue: number },
): Uint8Array<ArrayBuffer> {
  return makerPayload(MAKER.victron, 8).put(field.U16, register).put(field.S32, rawValue).finish();
}

/** PGN 130823 of Maretron: temperature, high range. */
export function packMaretronTemperature(reading: TemperatureReading): Uint8Array<ArrayBuffer> {
  return makerPayload(MAKER.maretron, 9).put(field.U8, reading.sid).put(field.U8, reading.instance)
    .put(field.U8, TEMPERATURE_SOURCE[reading.source]).put(field.TEMPERATURE_COARSE_K, reading.actualK)
    .put(field.TEMPERATURE_COARSE_K, reading.setK).finish();
}

/** Keys of B&G's key-value message (canboat BANDG_KEY_VALUE). */
export const BANDG_KEY = { leeway: 130, currentDrift: 131, currentSet: 132, roll: 155, pitch: 158 } as const;

/** One entry of B&G's key-value message: a 16-bit raw value. */
export interface KeyValue {
  readonly key: number;
  readonly raw: number;
}

const KEY_VALUE_BYTES = 4;
const VALUE_BYTES = 2;

/** PGN 130824 of B&G: a list of keys, each with the length of its value and the value. */
export function packKeyValues(entries: readonly KeyValue[]): Uint8Array<ArrayBuffer> {
  const writer = makerPayload(MAKER.bAndG, MAKER_BYTES + KEY_VALUE_BYTES * entries.length);
  for (const { key, raw } of entries) {
    writer.put(field.U12, key).put(field.U4, VALUE_BYTES).put(field.S16, raw);
  }
  return writer.finish();
}
