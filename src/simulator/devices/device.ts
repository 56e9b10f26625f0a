import type { NameFields } from "../../frame/mod.ts";
import type { Fields } from "../../pgn/mod.ts";
import type { PassageState } from "../passage.ts";

/** Data from which devices make their messages. */
export interface View {
  readonly passage: PassageState;
  /** Wall clock, microseconds since 1970. */
  readonly wallUs: number;
  /** Sequence id: the same for all measurements of a tenth of a second. */
  readonly sid: number;
}

/** A message that a device sends periodically. */
export interface Broadcast {
  readonly pgn: number;
  readonly prio: number;
  readonly intervalMs: number;
  /** Returns the fields for `encode`; undefined: no message this time. */
  fields(view: View): Fields | undefined;
}

/** A periodic message with these fields. */
export function broadcast(header: Omit<Broadcast, "fields">, fields: Broadcast["fields"]): Broadcast {
  return { ...header, fields };
}

/** Product information of a device (PGN 126996). */
export interface Product {
  readonly code: number;
  readonly model: string;
  readonly softwareVersion: string;
  readonly modelVersion: string;
  readonly serial: string;
  /** Current drawn from the bus, in units of 50 mA. */
  readonly loadEquivalency: number;
}

/** One device of the boat. */
export interface DeviceSpec {
  readonly name: NameFields;
  readonly preferredAddress: number;
  readonly product: Product;
  /** Two installation descriptions and the manufacturer information (PGN 126998). */
  readonly configuration: readonly [string, string, string];
  /** When it is switched on, milliseconds after the start. */
  readonly powerOnMs: number;
  /** PGNs that it lists as received, in addition to those of the network. */
  readonly receives: readonly number[];
  readonly broadcasts: readonly Broadcast[];
}

/** Manufacturer codes of the devices. */
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

/** Industry group of ships (ISO 11783-1). */
const MARINE_INDUSTRY = 4;

/** NAME of a marine device that can claim any address. */
export function marineName(
  { unique, maker, deviceClass, deviceFunction, instance = 0 }: {
    unique: number;
    maker: number;
    deviceClass: number;
    deviceFunction: number;
    /** Default 0. */
    instance?: number;
  },
): NameFields {
  return {
    uniqueNumber: unique,
    manufacturerCode: maker,
    deviceInstance: instance,
    deviceFunction,
    deviceClass,
    systemInstance: 0,
    industryGroup: MARINE_INDUSTRY,
    arbitraryAddressCapable: true,
  };
}

/** First fields of a manufacturer's proprietary messages. */
export function makerFields(maker: number): Fields {
  return { manufacturer_code: maker, industry_code: MARINE_INDUSTRY };
}

const SECONDS_PER_DAY = 86_400;

/** Converts microseconds since 1970 to day and time of day. */
export function dayAndTime(wallUs: number): { days_since_1970: number; seconds_today: number } {
  const seconds = wallUs / 1e6;
  const days = Math.floor(seconds / SECONDS_PER_DAY);
  return { days_since_1970: days, seconds_today: seconds - days * SECONDS_PER_DAY };
}
