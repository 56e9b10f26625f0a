import type { NameFields } from "../frame/mod.ts";
import type { PassageState } from "./passage.ts";
import type { Product } from "./payloads_identity.ts";

/** What a device sees when it puts a payload together. */
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
  /** The payload; nothing when there is nothing to tell this time. */
  pack(view: View): Uint8Array | undefined;
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

/** Industry group of ships (ISO 11783-1). */
export const MARINE_INDUSTRY = 4;

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
