import { addressKey, readName } from "../frame/mod.ts";
import { type Filter, FilterError } from "./filter.ts";

/** A device that has claimed an address, as filters need it. */
export interface FilterDevice {
  /** Index of the bus. */
  bus: number;
  /** Source address. */
  src: number;
  /** Its 64 bit NAME. */
  name: bigint;
  /** Manufacturer code of the NAME, 0 to 2047. */
  manufacturerCode: number;
  /** Device instance of the NAME, 0 to 255. */
  deviceInstance: number;
}

/** Names that a filter refers to. */
export interface FilterContext {
  /** Names of the buses, in the order of their indexes. */
  buses: readonly string[];
  /** Resolves the name or number of a manufacturer to its code; undefined when unknown. */
  manufacturerCode: (text: string) => number | undefined;
}

/** A filter compiled to one predicate. */
export interface CompiledFilter {
  /** True when the filter accepts a frame with this bus index, source address and PGN. */
  accept: (bus: number, src: number, pgn: number) => boolean;
  /**
   * Sets the device that holds an address from now on. The result is cached for that address until
   * another NAME claims it.
   */
  learn: (device: FilterDevice) => void;
  /** True when the result depends on devices: call `learn` on every claim, and do not share the filter. */
  usesDevices: boolean;
}

interface DeviceCriteria {
  names: Set<bigint> | undefined;
  excludedNames: Set<bigint>;
  codes: Set<number> | undefined;
  instances: Set<number> | undefined;
}

/**
 * Compiles a filter into one predicate.
 *
 * @throws {FilterError} a NAME is not hex
 */
export function compileFilter(filter: Filter, { buses, manufacturerCode }: FilterContext): CompiledFilter {
  const pgns = setOf(filter.pgn);
  const excludedPgns = new Set(filter.exclude_pgn ?? []);
  const criteria: DeviceCriteria = {
    names: setOf(readNames("name", filter.name)),
    excludedNames: new Set(readNames("exclude_name", filter.exclude_name)),
    codes: setOf(filter.manufacturer?.map((text) => manufacturerCode(text) ?? -1)),
    instances: setOf(filter.instance),
  };
  const includes = Boolean(criteria.names ?? criteria.codes ?? criteria.instances);
  const usesDevices = includes || criteria.excludedNames.size > 0;
  const busNames = setOf(filter.bus);
  const busAllowed = buses.map((bus) => busNames?.has(bus) ?? true);
  const sourceAllowed = new Uint8Array(buses.length * 256).fill(includes ? 0 : 1);
  const byPgn = (pgn: number) => (pgns?.has(pgn) ?? true) && !excludedPgns.has(pgn);
  return {
    accept: (bus, src, pgn) => byPgn(pgn) && sourceAllowed[addressKey(bus, src)] === 1 && busAllowed[bus] === true,
    learn: (device) => {
      if (usesDevices) sourceAllowed[addressKey(device.bus, device.src)] = matches(device, criteria) ? 1 : 0;
    },
    usesDevices,
  };
}

function matches(device: FilterDevice, { names, excludedNames, codes, instances }: DeviceCriteria): boolean {
  return (names?.has(device.name) ?? true) && (codes?.has(device.manufacturerCode) ?? true) &&
    (instances?.has(device.deviceInstance) ?? true) && !excludedNames.has(device.name);
}

/** Undefined for an absent or empty list, which is no condition. */
function setOf<T>(values: T[] | undefined): Set<T> | undefined {
  return values && values.length > 0 ? new Set(values) : undefined;
}

function readNames(field: "name" | "exclude_name", texts: string[] = []): bigint[] {
  return texts.map((text) => {
    const name = readName(text);
    if (name === undefined) {
      throw new FilterError(field, `Cannot read the NAME "${text}" in "${field}": expected 1 to 16 hex digits`);
    }
    return name;
  });
}
