import type { NameFields } from "../../frame/mod.ts";
import type { Fields } from "../../pgn/mod.ts";
import type { PassageState } from "../passage.ts";

/** What a device sees when it speaks. */
export interface View {
  readonly passage: PassageState;
  /** Wall clock, microseconds since 1970. */
  readonly wallUs: number;
  /** Sequence id that ties together what was measured in the same tenth of a second. */
  readonly sid: number;
}

/** A message that a device sends again and again. */
export interface Broadcast {
  readonly pgn: number;
  readonly prio: number;
  readonly intervalMs: number;
  /** What it says, as `encode` takes it; nothing when there is nothing to tell this time. */
  fields(view: View): Fields | undefined;
}

/** What a device says of itself in PGN 126996. */
export interface Product {
  readonly code: number;
  readonly model: string;
  readonly softwareVersion: string;
  readonly modelVersion: string;
  readonly serial: string;
  /** Current drawn from the bus, in units of 50 mA. */
  readonly loadEquivalency: number;
}

/** One device of the boat: who it is, what it says and how often. */
export interface DeviceSpec {
  readonly name: NameFields;
  readonly preferredAddress: number;
  readonly product: Product;
  /** Two installation descriptions and the maker's words (PGN 126998). */
  readonly configuration: readonly [string, string, string];
  /** When it gets power, milliseconds after the start. */
  readonly powerOnMs: number;
  /** PGNs that it listens to, beside the network's own. */
  readonly receives: readonly number[];
  readonly broadcasts: readonly Broadcast[];
}

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

/** Industry group of ships (ISO 11783-1). */
const MARINE_INDUSTRY = 4;

/** NAME of a ship's device that may take any address. */
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

/** What a maker's own messages begin with. */
export function saidBy(maker: number): Fields {
  return { manufacturer_code: maker, industry_code: MARINE_INDUSTRY };
}

const SECONDS_PER_DAY = 86_400;

/** Day and time of day of a time in microseconds since 1970. */
export function dayAndTime(wallUs: number): { days_since_1970: number; seconds_today: number } {
  const seconds = wallUs / 1e6;
  const days = Math.floor(seconds / SECONDS_PER_DAY);
  return { days_since_1970: days, seconds_today: seconds - days * SECONDS_PER_DAY };
}
