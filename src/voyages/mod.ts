/**
 * Voyages: when a boat was under way, at anchor or in port, from its positions, its speed over ground and its engines.
 *
 * A boat stays where it is while its positions of {@linkcode STAY_MS} are closer together than swinging at anchor and errors
 * of the receiver explain. What is between two stays is a voyage if it led away, or if an engine drove the boat. Where it
 * begins and ends is looked for afterwards: the last moment at which the boat lay as it had lain, and the first at which it
 * lies as it does later. Every threshold is in `thresholds.ts`.
 *
 * All this is done on slots of half a minute, which are the buckets in the sidecars of series: months are read without
 * frames, and frames give the same result.
 *
 * `gpxOf` writes tracks as GPX 1.1, of voyages and of others.
 *
 * @module
 */
export * from "./detector.ts";
export { type PayloadDecoder } from "./frame_slots.ts";
export { distanceM, type Position } from "./geo.ts";
export * from "./gpx.ts";
export * from "./read.ts";
export * from "./recorded.ts";
export * from "./report.ts";
export { type EngineSlot, type Fix, type Slot, slotsOf, type Speeds } from "./slots.ts";
export type { StayKind } from "./stay_kind.ts";
export { SLOT_MS, STAY_MS, TRACK_GAP_MS } from "./thresholds.ts";
export { averageMps, type EngineUse, fuelOf, type Voyage, type VoyageUse, type WindFigures } from "./voyage.ts";
