/**
 * Access to CAN buses: the interface `CanBus` with its drivers (SocketCAN by FFI, the socketcan addon, loopback,
 * gateways and recordings), and the assembler that reassembles messages from frames (fast packet, ISO transport protocol).
 * Also reads recordings in the formats of other programs.
 *
 * Frames carry wall time for people (the kernel's, in microseconds) and monotonic time for timeouts, derived from the
 * kernel's stamp: a clock that jumps does not change what is assembled. Whole messages of a gateway bypass the
 * assembler; their times are of arrival, spread by the gateway's own clock. Buses reconnect to a missing gateway for
 * ever. Unreadable lines are counted and never end the reading.
 *
 * @module
 */
export * from "./arrival_order.ts";
export * from "./assembly/assembler.ts";
export * from "./assembly/drops.ts";
export * from "./assembly/fast_packet.ts";
export * from "./assembly/iso_transport_receiver.ts";
export * from "./assembly/iso_transport_sender.ts";
export * from "./assembly/split.ts";
export * from "./bus.ts";
export * from "./gateways/gateway_bus.ts";
export * from "./gateways/link.ts";
export * from "./gateways/program_reader.ts";
export * from "./gateways/recording_bus.ts";
export * from "./gateways/source.ts";
export * from "./loopback.ts";
export * from "./open_bus.ts";
export * from "./recordings/mod.ts";
export * from "./socketcan/socketcan.ts";
