/**
 * Our own voice on the bus. For now one thing is said: the ISO requests that find out who is there.
 *
 * @module
 */
export * from "./claim.ts";
export * from "./device_requests.ts";
export * from "./discovery.ts";
export * from "./identity_requests.ts";
export * from "./queries.ts";
export * from "./request_rules.ts";
export * from "./request_rules_engine.ts";
export * from "./send_gate.ts";
export * from "./send_policy.ts";
export * from "./transmitter.ts";
export * from "./voice.ts";
