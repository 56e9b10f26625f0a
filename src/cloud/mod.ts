/**
 * The boats of a cloud: their identity, their frames, and replicas for readers. Everything that a boat sends is checked
 * before it is used, and synced to disk before it is acknowledged.
 *
 * While a boat is unused, only its record of numbers is in memory; a handshake or a reader opens its files. A live stream
 * reports skipped frames (`dropped`, `backfill: true`). A session waits for requested frames while the boat is connected,
 * and 30 s longer. A boat with the peer's software sends only written blocks: its live stream is ended once when a hole has
 * existed for 5 minutes and its journal has grown.
 *
 * @module
 */
export * from "./files/block_check.ts";
export { Scrub, type ScrubOptions } from "./files/scrub.ts";
export { Instance } from "./instance/instance.ts";
export * from "./instance/instances.ts";
export type { InstanceCounters } from "./instance/counters.ts";
export type { InstanceSummary } from "./instance/record.ts";
export type { InstanceSession } from "./instance/sessions.ts";
export * from "./instance/settings.ts";
export type { InstanceStoresOptions } from "./instance/stores.ts";
export { nodeName } from "./nodes/node_list.ts";
export * from "./nodes/nodes.ts";
export { importPeer, PeerImportError, type PeerImportOptions, type PeerImportReport } from "./peer/import.ts";
export * from "./replica/replica.ts";
export * from "./replica/snapshot.ts";
export * from "./service/identify.ts";
export * from "./service/service.ts";
export * from "./store/check_boat.ts";
export * from "./store/compaction/compactor.ts";
export type { StoreRetention } from "./store/compaction/prune_boat.ts";
export * from "./store/frame_shipper.ts";
export * from "./store/frame_store.ts";
export * from "./store/migrate.ts";
export * from "./store/object_cache.ts";
export * from "./store/read_time.ts";
export * from "./store/sidecar_cache.ts";
export * from "./store/stored_journal.ts";
export * from "./state/diagnostic_events.ts";
export { type FormerState, type FormerSummary, MAX_KEPT_FORMER } from "./state/former_epochs.ts";
export * from "./state/received.ts";
export * from "./state/state_file.ts";
export * from "./state/state_file_rebuild.ts";
