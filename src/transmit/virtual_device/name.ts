import { buildName } from "../../frame/mod.ts";

/** What a NAME is composed of. Only the unique number must be given. */
export interface NameParts {
  /** 21 bits; must differ from those of other gateways on the same bus. */
  uniqueNumber: number;
  /** 11 bits; default 2046, which no maker has. */
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

/** A gateway by class and function, of no registered maker. */
const DEFAULT_PARTS = {
  manufacturerCode: 2046,
  deviceInstance: 0,
  deviceFunction: 130,
  deviceClass: 25,
  systemInstance: 0,
  industryGroup: 4,
} as const;
/** Highest value of each part. */
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
 * NAME of a virtual device that may take any address.
 *
 * @throws {RangeError} a part does not fit into its field
 */
export function composeName(parts: NameParts): bigint {
  const all = { ...DEFAULT_PARTS, ...parts };
  for (const [part, highest] of Object.entries(HIGHEST)) {
    const value = all[part as keyof NameParts];
    if (Number.isInteger(value) && value >= 0 && value <= highest) continue;
    throw new RangeError(`Cannot compose a NAME: ${part} ${value} is no whole number from 0 to ${highest}`);
  }
  return buildName({ ...all, arbitraryAddressCapable: true });
}

/** A unique number for a NAME, always the same for the same text (a host name, an instance id): FNV-1a, folded. */
export function uniqueNumberOf(id: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(id)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return (hash ^ (hash >>> UNIQUE_NUMBER_BITS)) & HIGHEST.uniqueNumber;
}
