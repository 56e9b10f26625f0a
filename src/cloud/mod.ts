/**
 * What the cloud knows of boats: the authority that gives them certificates, who they are when they come, and which of
 * their frames are here. Nothing that a boat sends counts before it was checked, and nothing is acknowledged before it
 * is safe on disk.
 *
 * Of a boat that nobody uses only its set of numbers is in memory; its files are opened by a handshake or a reader,
 * and closed again. A live stream reports what it skips (`dropped`, `backfill: true`); a session waits for what the
 * boat was asked for while the boat is connected, and 30 s longer. A boat of the peer's software serves only written
 * blocks: its live stream is ended once when a hole has stood for 5 minutes and its journal has grown.
 *
 * @module
 */
export * from "./files/block_check.ts";
export { Scrub, type ScrubOptions } from "./files/scrub.ts";
export { Instance } from "./instance/instance.ts";
export * from "./instance/instances.ts";
export type { InstanceCounters, InstanceSummary } from "./instance/record.ts";
export type { InstanceSession } from "./instance/sessions.ts";
export * from "./instance/settings.ts";
export type { InstanceStoresOptions } from "./instance/stores.ts";
export { importPeer, PeerImportError, type PeerImportOptions, type PeerImportReport } from "./peer/import.ts";
export * from "./replica/replica.ts";
export * from "./replica/snapshot.ts";
export * from "./service/identify.ts";
export * from "./service/service.ts";
export * from "./state/diagnostic_events.ts";
export { type FormerState, type FormerSummary, MAX_KEPT_FORMER } from "./state/former_epochs.ts";
export * from "./state/received.ts";
export * from "./state/received_epochs.ts";
export * from "./state/state_file.ts";
export * from "./state/state_file_rebuild.ts";
