import type { Accept, Registry } from "../broker/mod.ts";
import type { CompiledFilter, Filter } from "../filter/mod.ts";
import { parseName } from "../frame/mod.ts";
import type { ArchiveFilter } from "./cursor.ts";

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
  const { accept, usesDevices } = compiled;
  if (!usesDevices) return { accept, shareable: true, close: () => {} };
  const { learn } = archiveFilter(compiled);
  for (const { bus, src, name } of registry) if (name !== undefined) learn({ bus, src, name });
  const close = registry.listen(({ event, device: { bus, src, name } }) => {
    if (event !== "removed" && name !== undefined) learn({ bus, src, name });
  });
  return { accept, shareable: false, close };
}

/** A filter that learns of devices from what is recorded with the frames. */
export function archiveFilter({ accept, learn }: CompiledFilter): ArchiveFilter {
  return {
    accept,
    learn: ({ bus, src, name }) => {
      const { manufacturerCode, deviceInstance } = parseName(name);
      learn({ bus, src, name, manufacturerCode, deviceInstance });
    },
  };
}
