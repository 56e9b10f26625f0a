import type { Filter, FilterDevice } from "../../src/filter/mod.ts";

/** The frame that a filter is asked about. */
export interface AskedFrame {
  bus: number;
  src: number;
  pgn: number;
}

/** What the interpreter must know beside the filter. */
export interface NaiveContext {
  buses: readonly string[];
  /** The device that claimed the frame's address last, if any has. */
  device: FilterDevice | undefined;
  /** Whether this text of a filter means this manufacturer. */
  isManufacturer: (text: string, code: number) => boolean;
}

/** The specification's filter rules, one after the other, read from the filter for each frame. */
export function naiveAccept(filter: Filter, { bus, src: _, pgn }: AskedFrame, context: NaiveContext): boolean {
  const { buses, device, isManufacturer } = context;
  const given = (values: unknown[] | undefined): boolean => values !== undefined && values.length > 0;
  const sameName = (text: string): boolean => device !== undefined && parseInt64(text) === device.name;
  if (given(filter.bus) && !filter.bus!.includes(buses[bus]!)) return false;
  if (given(filter.pgn) && !filter.pgn!.includes(pgn)) return false;
  if (given(filter.exclude_pgn) && filter.exclude_pgn!.includes(pgn)) return false;
  if (given(filter.manufacturer)) {
    if (!device || !filter.manufacturer!.some((text) => isManufacturer(text, device.manufacturerCode))) return false;
  }
  if (given(filter.instance) && (!device || !filter.instance!.includes(device.deviceInstance))) return false;
  if (given(filter.name) && !filter.name!.some(sameName)) return false;
  return !(given(filter.exclude_name) && filter.exclude_name!.some(sameName));
}

function parseInt64(text: string): bigint {
  return BigInt("0x" + text.toLowerCase().replace("0x", ""));
}
