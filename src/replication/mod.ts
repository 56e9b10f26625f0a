/**
 * Replication from a boat to a cloud: messages (`wire`), client and server (`grpc`), and the boat's side of the link
 * (`link`). `proto/replication/v1/replication.proto` is the contract. No other folder uses gRPC.
 *
 * @module
 */
export { type Range, Ranges, RangesFullError, type RangesOptions } from "../base/mod.ts";
export * from "./grpc/client.ts";
export {
  type Keepalive,
  reconnectRequest,
  type RpcCode,
  RpcError,
  SERVICE_NAMES,
  type ServiceName,
} from "./grpc/grpc.ts";
export * from "./grpc/identity.ts";
export * from "./grpc/server.ts";
export { MessageStream } from "./grpc/stream.ts";
export { type ArchiveIndex, type ArchivePort, LOST_DAMAGED, LOST_TOO_LARGE } from "./link/archive.ts";
export * from "./link/backfill_plan.ts";
export { BoatLink, type BoatLinkOptions, type LinkNumbers } from "./link/boat_link.ts";
export type { BoatPorts, ConnectionTarget } from "./link/connection.ts";
export type { FormerEpochStatus } from "./link/former.ts";
export * from "./link/link_state.ts";
export type { LiveCursor, LiveSource, MadeFrames } from "./link/live.ts";
export * from "./link/pacer.ts";
export type { LinkTlsPaths } from "./link/security.ts";
export { LOST_UNSTORED, StoredProgress, type StoredProgressOptions } from "./link/stored_progress.ts";
export type { LinkHealth, ReplicationStatus } from "./link/status.ts";
export * from "./wire/codec.ts";
export * from "./wire/messages.ts";
export { WireError } from "./wire/wire.ts";
