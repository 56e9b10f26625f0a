/**
 * The path of a complete message: it gets its number, is published and recorded, and clients read it at their own pace.
 * {@linkcode Feed} is assembled here for the boat server, the simulation and each replica in the cloud.
 *
 * @module
 */
export { BoatFeed, type StoreOptions } from "./boat_feed.ts";
export { Feed } from "./feed.ts";
export * from "./frame_recorder.ts";
export type { RecordingOptions } from "./recording.ts";
