import type { Broker } from "../broker/mod.ts";
import { type Device, formatHex, formatName, formatTimeUs } from "../frame/mod.ts";
import type { Filter } from "../filter/mod.ts";
import { manufacturerName } from "../pgn/mod.ts";
import { openFilter } from "./broker_filter.ts";

/** Last values of one device, as `GET /values` shows them. */
export interface DeviceValues {
  /** NAME, empty while it is not known. */
  name: string;
  src: number;
  /** There when the server has more than one bus. */
  bus?: string;
  manufacturer?: string;
  model_id?: string;
  values: { pgn: number; ts: string; data: string; seq: number }[];
}

/** The device table, by bus and address. */
export function listDevices({ registry }: Broker): Device[] {
  return Array.from(registry, (device) => registry.describe(device));
}

/** The newest frame of every (device, PGN) pair that the filter wants; devices without one are left out. */
export function* listValues(broker: Broker, filter: Filter): Generator<DeviceValues> {
  const open = openFilter(filter, broker);
  open.close();
  for (const { bus, src, name, fields, product } of broker.registry) {
    const values = broker.values.of(bus, src).filter(({ pgn }) => open.accept(bus, src, pgn));
    if (values.length === 0) continue;
    const busName = broker.buses.length > 1 ? broker.buses[bus] : undefined;
    yield {
      name: name === undefined ? "" : formatName(name),
      src,
      ...(busName !== undefined && { bus: busName }),
      ...(fields && { manufacturer: manufacturerName(fields.manufacturerCode) }),
      ...(product && { model_id: product.modelId }),
      values: values.map(({ pgn, timeUs, data, length, seq }) => ({
        pgn,
        ts: formatTimeUs(timeUs),
        data: formatHex(data, { start: 0, length }),
        seq,
      })),
    };
  }
}
