import identities from "./identities.json" with { type: "json" };
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

/** Data that identifies a device. */
interface Identity {
  readonly name: NameFields;
  readonly preferredAddress: number;
  /** When it is switched on, milliseconds after the start. */
  readonly powerOnMs: number;
  /** PGNs that it lists as received, in addition to those of the network. */
  readonly receives: readonly number[];
  /** Fields of its product information (PGN 126996). */
  readonly product: Fields;
  /** Fields of its configuration information (PGN 126998). */
  readonly configuration: Fields;
}

/** One device of the boat. */
export interface DeviceSpec extends Identity {
  readonly broadcasts: readonly Broadcast[];
}

/** Industry group of ships (ISO 11783-1). */
const MARINE_INDUSTRY = 4;
/** Fields of a NAME that all devices share. */
const COMMON_NAME = {
  deviceInstance: 0,
  systemInstance: 0,
  industryGroup: MARINE_INDUSTRY,
  arbitraryAddressCapable: true,
} as const;

/** The device with this identity and these messages. */
export function device(id: keyof typeof identities, broadcasts: readonly Broadcast[]): DeviceSpec {
  const { name, ...identity } = identities[id];
  return { ...identity, name: { ...COMMON_NAME, ...name }, broadcasts };
}

/** Manufacturer codes in proprietary messages. */
export const MANUFACTURER = { maretron: 137, victron: 358, bAndG: 381 } as const;

/** First fields of a manufacturer's proprietary messages. */
export function manufacturerFields(code: number): Fields {
  return { manufacturer_code: code, industry_code: MARINE_INDUSTRY };
}

const SECONDS_PER_DAY = 86_400;

/** Converts microseconds since 1970 to day and time of day. */
export function dayAndTime(wallUs: number): { days_since_1970: number; seconds_today: number } {
  const seconds = wallUs / 1e6;
  const days = Math.floor(seconds / SECONDS_PER_DAY);
  return { days_since_1970: days, seconds_today: seconds - days * SECONDS_PER_DAY };
}
