import type { Broker } from "../../broker/mod.ts";
import { type CompiledFilter, compileFilter, type Filter } from "../../filter/mod.ts";
import { manufacturerCode } from "../../pgn/mod.ts";
import { followDevices, type LiveFilter } from "../filters.ts";

/** Compiles a filter for a broker's buses. */
export function compileFor(filter: Filter, { buses }: Broker): CompiledFilter {
  return compileFilter(filter, { buses, manufacturerCode });
}

/** Compiles a filter for a broker: resolved against the devices known now, and again on every claim until closed. */
export function openFilter(filter: Filter, broker: Broker): LiveFilter {
  return followDevices(compileFor(filter, broker), broker.registry);
}
