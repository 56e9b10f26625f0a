/**
 * Access to CAN buses: the interface `CanBus` with its drivers (SocketCAN by FFI, the socketcan addon, loopback,
 * gateways and recordings), and the assembler that reassembles messages from frames (fast packet, ISO transport protocol).
 * Also reads recordings in the formats of other programs.
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
