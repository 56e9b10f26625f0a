/**
 * Many boats in one process, for load tests of a cloud. A boat's frames are a pure function of their numbers, so that
 * any block can be made again when the cloud asks for it, and nothing is stored. The link is that of a real boat.
 *
 * @module
 */
export type { FleetTrust } from "./certificates.ts";
export { Fleet, FleetError, type FleetMember, type FleetOptions, type FleetSample } from "./fleet.ts";
export { FleetBoat, type FleetBoatOptions, type FleetBoatSample } from "./fleet_boat.ts";
export { BLOCK_FRAMES, type ExpectedFrame, expectedFrame, FrameMaker, type FrameOrigin, makeEpoch } from "./frames.ts";
