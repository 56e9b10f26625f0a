/**
 * Frames in and out of a bus: the port `CanBus` with its drivers (SocketCAN by FFI, the socketcan addon, loopback,
 * gateways and recordings), and the assembler that makes whole messages of frames (fast packet, ISO transport protocol).
 * Recordings of others are read, too.
 *
 * @module
 */
export * from "./arrival_order.ts";
export * from "./assembler.ts";
export * from "./assembler_drops.ts";
export * from "./bus.ts";
export * from "./fast_packet.ts";
export * from "./gateways/mod.ts";
export * from "./iso_transport_receiver.ts";
export * from "./iso_transport_sender.ts";
export * from "./loopback.ts";
export * from "./open_bus.ts";
export * from "./recordings/mod.ts";
export * from "./socketcan.ts";
