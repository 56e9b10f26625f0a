import type { CallOptions, PastDevice } from "@vessel/gateway/client";
import { z } from "zod";
import type { Boat } from "./tool.ts";

/** What identifies a device for people. */
export type DeviceIdentity = Pick<PastDevice, "src" | "bus" | "name" | "manufacturer" | "model_id">;

/** A device as an argument. */
export const deviceInput = z.string().min(1)
  .describe("Only this device: its address, such as 35, its NAME, or a part of its manufacturer and model");

/** Whether an argument means this device. */
export function isDevice(
  wanted: string,
  { src, name = "", manufacturer = "", model_id = "" }: DeviceIdentity,
): boolean {
  const text = wanted.trim().toLowerCase();
  if (/^\d{1,3}$/.test(text)) return src === Number(text);
  return `${manufacturer} ${model_id} ${name}`.toLowerCase().includes(text);
}

/** Address, manufacturer and model: `can0 35 Airmar DST810`. */
export function deviceText({ src, bus, manufacturer, model_id }: DeviceIdentity): string {
  return [bus, src, manufacturer, model_id].filter((each) => each !== undefined && each !== "").join(" ");
}

/** Completes devices that are known by address and NAME only, from the present list of devices. */
export async function identities({ client, signal }: Boat): Promise<(device: DeviceIdentity) => DeviceIdentity> {
  const options: CallOptions = { signal };
  const devices = await client.devices(options);
  return (device) =>
    devices.find(({ name, bus, src }) =>
      device.name ? device.name === name : src === device.src && bus === device.bus
    ) ??
      device;
}
