/** Names in expressions other than decoded fields, and the kinds of their values. */
import type { Device, Frame } from "../frame/mod.ts";

/** A number or a text. */
export type ScalarKind = "number" | "text";

/** Fields of a frame's header. */
export type HeaderField = keyof Pick<Frame, "pgn" | "src" | "dst" | "prio" | "seq" | "bus">;

/** Kinds of the header's fields, by name. */
export const HEADER_FIELDS: ReadonlyMap<string, ScalarKind> = new Map<HeaderField, ScalarKind>([
  ["pgn", "number"],
  ["src", "number"],
  ["dst", "number"],
  ["prio", "number"],
  ["seq", "number"],
  ["bus", "text"],
]);

type Identity = Omit<Device, "src" | "bus" | "first_seen" | "last_seen" | "packet_count" | "byte_count">;

/** Fields of a device that can follow `src.` and `dst.`. */
export type DeviceField = keyof Identity | "instance" | "class" | "function";

/** Key of a field in the device table, and its kind. */
export interface DeviceKey {
  key: keyof Identity;
  kind: ScalarKind;
}

/** Fields of a device by their names in expressions: those of the device table, and aliases. */
export const DEVICE_FIELDS: ReadonlyMap<string, DeviceKey> = new Map<DeviceField, DeviceKey>([
  ["manufacturer", { key: "manufacturer", kind: "text" }],
  ["manufacturer_code", { key: "manufacturer_code", kind: "number" }],
  ["model_id", { key: "model_id", kind: "text" }],
  ["name", { key: "name", kind: "text" }],
  ["instance", { key: "device_instance", kind: "number" }],
  ["device_instance", { key: "device_instance", kind: "number" }],
  ["class", { key: "device_class", kind: "number" }],
  ["device_class", { key: "device_class", kind: "number" }],
  ["function", { key: "device_function", kind: "number" }],
  ["device_function", { key: "device_function", kind: "number" }],
  ["product_code", { key: "product_code", kind: "number" }],
  ["unique_number", { key: "unique_number", kind: "number" }],
  ["software_version", { key: "software_version", kind: "text" }],
  ["model_version", { key: "model_version", kind: "text" }],
  ["model_serial", { key: "model_serial", kind: "text" }],
]);
