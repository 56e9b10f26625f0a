/**
 * What boat and cloud share when frames are replicated: the set of numbers that one of them holds, the messages that
 * they exchange, and the calls that carry them. `proto/replication/v1/replication.proto` is the contract. That the calls
 * are gRPC nobody else has to know.
 *
 * @module
 */
export * from "./backfill_plan.ts";
export * from "./backfill_plan_index.ts";
export * from "./codec.ts";
export { WireError } from "./codec_wire.ts";
export { type Keepalive, type RpcCode, RpcError, SERVICE_NAMES, type ServiceName } from "./grpc.ts";
export * from "./grpc_client.ts";
export * from "./grpc_identity.ts";
export * from "./grpc_server.ts";
export { MessageStream } from "./grpc_stream.ts";
export * from "./link_state.ts";
export * from "./messages.ts";
export * from "./pacer.ts";
export { type Range, Ranges, RangesFullError, type RangesOptions } from "../base/mod.ts";
export { type ArchivePort, LOST_DAMAGED, LOST_TOO_LARGE } from "./boat_archive.ts";
export type { FormerEpochStatus } from "./boat_former.ts";
export { BoatLink, type BoatLinkOptions, type LinkNumbers } from "./boat_link.ts";
export type { BoatPorts, ConnectionTarget } from "./boat_link_connection.ts";
export type { LinkTlsPaths } from "./boat_link_security.ts";
export type { LinkHealth, ReplicationStatus } from "./boat_link_status.ts";
