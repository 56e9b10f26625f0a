import type { Accept, Registry } from "../broker/mod.ts";
import type { CompiledFilter, Filter } from "../filter/mod.ts";
import { parseName } from "../frame/mod.ts";

/** Compiles a filter for the buses of a server. */
export type CompileFilter = (filter: Filter) => CompiledFilter;

/** A filter at work on frames as they come. */
export interface LiveFilter {
  accept: Accept;
  /** True when the filter looks at nothing that was learned of devices, so that others may use it too. */
  shareable: boolean;
  /** Stops following claims. */
  close: () => void;
}

/** Resolves a filter against the devices known now, and again on every claim until closed. */
export function followDevices(compiled: CompiledFilter, registry: Registry): LiveFilter {
  const { accept, learn, usesDevices } = compiled;
  if (!usesDevices) return { accept, shareable: true, close: () => {} };
  for (const { bus, src, name } of registry) if (name !== undefined) learn({ bus, src, name, ...parseName(name) });
  const close = registry.listen(({ event, device: { bus, src, name } }) => {
    if (event !== "removed" && name !== undefined) learn({ bus, src, name, ...parseName(name) });
  });
  return { accept, shareable: false, close };
}
