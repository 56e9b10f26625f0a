/**
 * Transmission on the buses: discovery of devices, device requests, the transmitter, the send policy for clients, and the
 * virtual device with its address claim.
 *
 * Discovery asks everybody once, then each unknown address after 250 ms with back-off, at most 10 requests a second
 * on a bus. The virtual device listens before it claims, takes no address that anybody speaks from, and defends its
 * address at a limited rate; without an address it takes the first that is given up or silent for 5 minutes. Queries
 * are subscriptions that end at the first frame of the device asked.
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
