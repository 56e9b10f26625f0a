/**
 * Converts responses of lplex servers, which differ in some members, to those of the gateway. Responses of the gateway are
 * returned unchanged.
 */
import type { Device, DeviceEvent } from "../frame/mod.ts";
import type { BoatReplication } from "./types_cloud.ts";
import type { BoatHealth, DecodedFields, DecodedLastValue, LastValues } from "./types.ts";

/** Sent by lplex instead of null. */
const NO_TIME = "0001-01-01T00:00:00Z";

/** Adds `0x` to a NAME without it. */
export function deviceOf<T extends Pick<Device, "name">>(device: T): T {
  return /^[0-9a-f]{16}$/i.test(device.name ?? "") ? { ...device, name: `0x${device.name}` } : device;
}

/** Values whose decoded fields may be in `fields`, and that may have no payload. */
export function decodedValuesOf(
  devices: readonly LastValues<DecodedLastValue & { fields?: DecodedFields | null }>[],
): LastValues<DecodedLastValue>[] {
  return devices.map((device) => ({
    ...device,
    values: device.values.map(({ fields, ...value }) => {
      const decoded = value.decoded ?? fields;
      return { ...value, data: value.data ?? "", ...(decoded && { decoded }) };
    }),
  }));
}

/** Health whose last frame may be in `broker`, and that may have no components. */
export function healthOf(
  health: Partial<BoatHealth> & Pick<BoatHealth, "status" | "broker"> & { broker?: { last_frame_time?: string } },
): BoatHealth {
  const { components = {}, last_frame_at, replication } = health;
  const last = last_frame_at ?? timeOf(health.broker?.last_frame_time);
  return {
    ...health,
    components,
    last_frame_at: last,
    ...(replication && { replication: { ...replication, last_ack: timeOf(replication.last_ack) } }),
  };
}

/** State of a replication that may omit empty members. */
export function replicationOf(
  status: Partial<BoatReplication> & Omit<BoatReplication, OptionalInLplex>,
): BoatReplication {
  const { holes = [], lost = [], lag_reconnects = 0, cloud_durable_seq = 0, state } = status;
  return {
    ...status,
    ...{ holes, lost, lag_reconnects, cloud_durable_seq },
    last_ack: timeOf(status.last_ack),
    state: state ?? (status.connected ? "connected" : "reconnecting"),
  };
}

type OptionalInLplex = "holes" | "lost" | "lag_reconnects" | "cloud_durable_seq" | "state";

/** The device event in an event without a name; undefined for a frame. */
export function deviceEventOf(event: object): DeviceEvent | undefined {
  if (!("type" in event)) return undefined;
  const { type, ...device } = event;
  if (type === "device" && isDevice(device)) return { event: "updated", device: deviceOf(device) };
  return type === "device_removed" && isDevice(device) ? { event: "removed", device } : undefined;
}

function isDevice(value: object): value is Device {
  return "src" in value && typeof value.src === "number";
}

function timeOf(time: string | null | undefined): string | null {
  return time === undefined || time === NO_TIME ? null : time;
}
