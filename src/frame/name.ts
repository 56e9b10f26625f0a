/** The fields of a 64-bit ISO 11783 NAME, as PGN 60928 carries it (ISO 11783-5 §4.4.3). */
export interface NameFields {
  /** 21-bit unique number. */
  uniqueNumber: number;
  /** 11-bit manufacturer code. */
  manufacturerCode: number;
  /** 0-252; the lower 3 and upper 5 bits of the NAME combined. */
  deviceInstance: number;
  /** 8 bits. */
  deviceFunction: number;
  /** 7 bits. */
  deviceClass: number;
  /** 0-15. */
  systemInstance: number;
  /** 4 is marine. */
  industryGroup: number;
  /** True when the device can take another address. */
  arbitraryAddressCapable: boolean;
}

const FIELD_BITS = {
  uniqueNumber: [0n, 21n],
  manufacturerCode: [21n, 11n],
  deviceInstance: [32n, 8n],
  deviceFunction: [40n, 8n],
  deviceClass: [49n, 7n],
  systemInstance: [56n, 4n],
  industryGroup: [60n, 3n],
} as const;

/** Splits a NAME into its fields. */
export function parseName(name: bigint): NameFields {
  const field = ([at, bits]: readonly [bigint, bigint]) => Number((name >> at) & ((1n << bits) - 1n));
  return {
    uniqueNumber: field(FIELD_BITS.uniqueNumber),
    manufacturerCode: field(FIELD_BITS.manufacturerCode),
    deviceInstance: field(FIELD_BITS.deviceInstance),
    deviceFunction: field(FIELD_BITS.deviceFunction),
    deviceClass: field(FIELD_BITS.deviceClass),
    systemInstance: field(FIELD_BITS.systemInstance),
    industryGroup: field(FIELD_BITS.industryGroup),
    arbitraryAddressCapable: (name >> 63n) === 1n,
  };
}

/** Builds a NAME; each field is truncated to its width. */
export function buildName(fields: NameFields): bigint {
  let name = fields.arbitraryAddressCapable ? 1n << 63n : 0n;
  for (const key of Object.keys(FIELD_BITS) as (keyof typeof FIELD_BITS)[]) {
    const [at, bits] = FIELD_BITS[key];
    name |= (BigInt(fields[key]) & ((1n << bits) - 1n)) << at;
  }
  return name;
}

/** Bytes of a NAME in an address claim. */
export const NAME_BYTES = 8;

/** Reads the little-endian NAME of an address claim at `offset`. */
export function nameFromBytes(data: Uint8Array, offset: number = 0): bigint {
  return new DataView(data.buffer, data.byteOffset + offset, NAME_BYTES).getBigUint64(0, true);
}

/** Formats a NAME as `0x` and 16 lower-case hex digits. */
export function formatName(name: bigint): string {
  return "0x" + name.toString(16).padStart(16, "0");
}

/** Parses a NAME of 1 to 16 hex digits, with or without `0x`, upper or lower case; undefined when invalid. */
export function readName(text: string): bigint | undefined {
  const digits = /^(?:0x)?([0-9a-f]{1,16})$/i.exec(text)?.[1];
  return digits === undefined ? undefined : BigInt("0x" + digits);
}
