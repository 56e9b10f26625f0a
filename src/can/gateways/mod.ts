/**
 * Buses other than SocketCAN: gateways over TCP, UDP or a serial device, and recordings replayed in real time. Each
 * is a `CanBus`, named by a source such as `tcp://192.168.4.1:1457#ydwg`.
 *
 * @module
 */
export * from "./gateway_bus.ts";
export * from "./link.ts";
export * from "./open_source.ts";
export * from "./recording_bus.ts";
export * from "./source.ts";
