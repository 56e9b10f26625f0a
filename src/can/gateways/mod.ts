/**
 * Buses that are not SocketCAN: gateways over TCP, UDP or a serial device, and recordings played in their own time. Each
 * is a `CanBus`, named by a source such as `tcp://192.168.4.1:1457#ydwg`.
 *
 * @module
 */
export * from "./gateway_bus.ts";
export * from "./link.ts";
export * from "./open_source.ts";
export * from "./recording_bus.ts";
export * from "./source.ts";
