/**
 * Frames in and out of a bus: the port `CanBus` with its drivers (SocketCAN by FFI, the socketcan addon, loopback,
 * gateways and recordings), and the assembler that makes whole messages of frames (fast packet, ISO transport protocol).
 * Recordings of others are read, too.
 *
 * @module
 */
export * from "./arrival_order.ts";
export * from "./assembly/assembler.ts";
export * from "./assembly/drops.ts";
export * from "./assembly/fast_packet.ts";
export * from "./assembly/iso_transport_receiver.ts";
export * from "./assembly/iso_transport_sender.ts";
export * from "./bus.ts";
export * from "./gateways/mod.ts";
export * from "./loopback.ts";
export * from "./open_bus.ts";
export * from "./recordings/mod.ts";
export * from "./socketcan/socketcan.ts";
