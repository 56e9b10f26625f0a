import type { Accept, Broker, DeviceRecord } from "../broker/mod.ts";
import { type CompiledFilter, compileFilter, type Filter } from "../filter/mod.ts";
import { manufacturerCode } from "../pgn/mod.ts";

/** A filter at work on a broker. */
export interface OpenFilter {
  accept: Accept;
  /** True when the filter looks at nothing that was learned of devices, so that others may use it too. */
  shareable: boolean;
  /** Stops following claims. */
  close: () => void;
}

/** Compiles a filter for a broker: resolved against the devices known now, and again on every claim until closed. */
export function openFilter(filter: Filter, broker: Broker): OpenFilter {
  const compiled = compileFilter(filter, { buses: broker.buses, manufacturerCode });
  if (!compiled.usesDevices) return { accept: compiled.accept, shareable: true, close: () => {} };
  for (const device of broker.registry) learn(compiled, device);
  const close = broker.registry.listen(({ event, device }) => {
    if (event !== "removed") learn(compiled, device);
  });
  return { accept: compiled.accept, shareable: false, close };
}

function learn(filter: CompiledFilter, { bus, src, name, fields }: DeviceRecord): void {
  if (name === undefined || !fields) return;
  filter.learn({ bus, src, name, manufacturerCode: fields.manufacturerCode, deviceInstance: fields.deviceInstance });
}
