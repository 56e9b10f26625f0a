/**
 * Transmission on the buses: discovery of devices, device requests, the transmitter, the send policy for clients, and the
 * virtual device with its address claim.
 *
 * @module
 */
export * from "./device_requests.ts";
export * from "./discovery.ts";
export * from "./identity_requests.ts";
export * from "./queries.ts";
export * from "./request_rules.ts";
export * from "./request_rules_engine.ts";
export * from "./send_gate.ts";
export * from "./send_policy.ts";
export * from "./transmit.ts";
export { faultOf } from "./transmitter/bus.ts";
export * from "./transmitter/transmitter.ts";
export type { VirtualDeviceCounters } from "./virtual_device/bus.ts";
export * from "./virtual_device/claim.ts";
export * from "./virtual_device/name.ts";
export type { OwnIdentity } from "./virtual_device/own_answers.ts";
export * from "./virtual_device/virtual_device.ts";
