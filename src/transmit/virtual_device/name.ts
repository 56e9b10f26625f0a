import { buildName } from "../../frame/mod.ts";

/** Fields of a NAME. Only the unique number is required. */
export interface NameParts {
  /** 21 bits; must be unique among the gateways on a bus. */
  uniqueNumber: number;
  /** 11 bits; default 2046, which no manufacturer has. */
  manufacturerCode?: number;
  /** 0 to 252; default 0. */
  deviceInstance?: number;
  /** 8 bits; default 130, PC gateway. */
  deviceFunction?: number;
  /** 7 bits; default 25, internetwork device. */
  deviceClass?: number;
  /** 0 to 15; default 0. */
  systemInstance?: number;
  /** 0 to 7; default 4, marine. */
  industryGroup?: number;
}

const DEFAULT_PARTS = {
  manufacturerCode: 2046,
  deviceInstance: 0,
  deviceFunction: 130,
  deviceClass: 25,
  systemInstance: 0,
  industryGroup: 4,
} as const;
/** Maximum value of each field. */
const HIGHEST: Readonly<Record<keyof NameParts, number>> = {
  uniqueNumber: 0x1fffff,
  manufacturerCode: 0x7ff,
  deviceInstance: 252,
  deviceFunction: 0xff,
  deviceClass: 0x7f,
  systemInstance: 0xf,
  industryGroup: 7,
};
const UNIQUE_NUMBER_BITS = 21;

/**
 * NAME of a virtual device that can use any address (arbitrary address capable).
 *
 * @throws {RangeError} a value exceeds its field
 */
export function composeName(parts: NameParts): bigint {
  const all = { ...DEFAULT_PARTS, ...parts };
  for (const [part, highest] of Object.entries(HIGHEST)) {
    const value = all[part as keyof NameParts];
    if (Number.isInteger(value) && value >= 0 && value <= highest) continue;
    throw new RangeError(`Cannot compose a NAME: ${part} ${value} is not a whole number from 0 to ${highest}`);
  }
  return buildName({ ...all, arbitraryAddressCapable: true });
}

/** A unique number for a NAME, derived from a text such as a host name: FNV-1a, folded to 21 bits. */
export function uniqueNumberOf(id: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(id)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return (hash ^ (hash >>> UNIQUE_NUMBER_BITS)) & HIGHEST.uniqueNumber;
}
