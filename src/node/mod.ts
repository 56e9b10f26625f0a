/**
 * Our own voice on the bus: requests that find out who is there, the way of messages to the buses and who may use it, and
 * the virtual device with its address.
 *
 * @module
 */
export * from "./claim.ts";
export * from "./device_requests.ts";
export * from "./discovery.ts";
export * from "./identity_requests.ts";
export type { OwnIdentity } from "./own_answers.ts";
export * from "./queries.ts";
export * from "./request_rules.ts";
export * from "./request_rules_engine.ts";
export * from "./send_gate.ts";
export * from "./send_policy.ts";
export * from "./transmitter.ts";
export { faultOf } from "./transmitter_bus.ts";
export * from "./virtual_device.ts";
export type { VirtualDeviceCounters } from "./virtual_device_bus.ts";
export * from "./virtual_device_name.ts";
export * from "./voice.ts";
