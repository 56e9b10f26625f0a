import type { Accept, Broker, Registry } from "../broker/mod.ts";
import { type CompiledFilter, compileFilter, type Filter } from "../filter/mod.ts";
import { parseName } from "../frame/mod.ts";
import { manufacturerCode } from "../pgn/mod.ts";

/** Compiles a filter for the buses of one server. */
export type CompileFilter = (filter: Filter) => CompiledFilter;

/** A filter for live frames. */
export interface LiveFilter {
  accept: Accept;
  /** True when the filter does not depend on devices, so that several streams can share it. */
  shareable: boolean;
  /** Stops following address claims. */
  close: () => void;
}

/** Resolves a filter against the known devices, and again on every address claim until closed. */
export function followDevices(compiled: CompiledFilter, registry: Registry): LiveFilter {
  const { accept, learn, usesDevices } = compiled;
  if (!usesDevices) return { accept, shareable: true, close: () => {} };
  for (const { bus, src, name } of registry) if (name !== undefined) learn({ bus, src, name, ...parseName(name) });
  const close = registry.listen(({ event, device: { bus, src, name } }) => {
    if (event !== "removed" && name !== undefined) learn({ bus, src, name, ...parseName(name) });
  });
  return { accept, shareable: false, close };
}

/** Compiles a filter for the buses of a broker. */
export function compileFor(filter: Filter, { buses }: Broker): CompiledFilter {
  return compileFilter(filter, { buses, manufacturerCode });
}

/** Compiles a filter for a broker and follows its devices: see {@linkcode followDevices}. */
export function openFilter(filter: Filter, broker: Broker): LiveFilter {
  return followDevices(compileFor(filter, broker), broker.registry);
}
