/**
 * Voyages of recordings without a running server, and tracks as GPX.
 *
 * @module
 */
export type { StoredFrame } from "../frame/mod.ts";
export type { Decoded, DecodedValue } from "../pgn/mod.ts";
export {
  gpxOf,
  type GpxOptions,
  type PayloadDecoder,
  type Position,
  RecordedVoyages,
  type StayRecord,
  type Track,
  trackFileName,
  type TrackPoint,
  type VoyageRecord,
  type VoyageReport,
} from "../voyages/mod.ts";
