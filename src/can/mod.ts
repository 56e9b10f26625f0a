/**
 * Frames in and out of a bus: the port `CanBus` with its drivers (SocketCAN by FFI, the socketcan addon, loopback), and
 * the assembler that makes whole messages of frames (fast packet, ISO transport protocol).
 *
 * @module
 */
export * from "./bus.ts";
export * from "./loopback.ts";
