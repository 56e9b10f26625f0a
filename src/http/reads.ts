import type { z } from "zod";
import type { Broker, Decoder, Value } from "../broker/mod.ts";
import { type Device, formatHex, formatName, formatTimeUs } from "../frame/mod.ts";
import type { Filter } from "../filter/mod.ts";
import { type Decoded, type Labels, labelsOfPayload, manufacturerName } from "../pgn/mod.ts";
import { openFilter } from "../stream/mod.ts";
import type { decodedValuesSchema } from "./schemas.ts";

type ShownValues = z.infer<typeof decodedValuesSchema>;

/** The newest frame of a device and PGN. */
export type DeviceValue = Omit<ShownValues["values"][number], "decoded" | "labels"> & {
  decoded?: Decoded;
  labels?: Labels;
};

/** Last values of one device. */
export type DeviceValues = Omit<ShownValues, "values"> & { values: DeviceValue[] };

/** A device with the labels of its codes. Its counters are null where they are not known. */
export type LabelledDevice = Omit<Device, "packet_count" | "byte_count"> & {
  packet_count: number | null;
  byte_count: number | null;
  labels?: Labels;
};

/** PGN that defines the codes of a device. */
const ADDRESS_CLAIM = 60928;

/** The device table, sorted by bus and address. */
export function listDevices(
  { registry }: Broker,
  { labels = false, isCounted = true }: { labels?: boolean; isCounted?: boolean } = {},
): LabelledDevice[] {
  return Array.from(registry, (device) => {
    const described = registry.describe(device);
    const words = labels ? labelsOfDevice(described) : undefined;
    return {
      ...described,
      ...(!isCounted && { packet_count: null, byte_count: null }),
      ...(words && { labels: words }),
    };
  });
}

function labelsOfDevice({ device_class, device_function }: Device): Labels | undefined {
  const codes = { device_class: device_class ?? null, device_function: device_function ?? null };
  return labelsOfPayload(ADDRESS_CLAIM, new Uint8Array(0), codes);
}

/**
 * The newest frame of every (device, PGN) pair that the filter accepts; devices without one are left out.
 *
 * @param options.decode adds description and decoded fields; default false
 * @param options.labels with `decode`, adds the labels of enumeration values; default false
 */
export function* listValues(
  broker: Broker,
  filter: Filter,
  { decode = false, labels = false }: { decode?: boolean; labels?: boolean } = {},
): Generator<DeviceValues> {
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
      values: values.map((value) =>
        decode ? decodeValue(value, { decoder: broker.decoder, labels }) : plainValue(value)
      ),
    };
  }
}

function plainValue({ pgn, timeUs, data, length, seq }: Value): DeviceValue {
  return { pgn, ts: formatTimeUs(timeUs), data: formatHex(data, { start: 0, length }), seq };
}

function decodeValue(value: Value, { decoder, labels }: { decoder: Decoder; labels: boolean }): DeviceValue {
  const { pgn, ...rest } = plainValue(value);
  const payload = value.data.subarray(0, value.length);
  const description = decoder.describe(pgn, payload);
  const decoded = decoder.decode(pgn, payload);
  const words = labels ? decoder.labels(pgn, payload) : undefined;
  return {
    pgn,
    ...(description !== undefined && { description }),
    ...rest,
    ...(decoded && { decoded }),
    ...(words && { labels: words }),
  };
}
