/**
 * The simulated boat: fourteen devices of a catamaran on a round trip in the Kiel Bight. They claim and defend addresses,
 * answer requests and send about 200 frames per second. All values come from one model of the passage (`passage.ts`), so
 * that position, course, wind, fuel and route are consistent. The same seed and start time give the same frames, byte for
 * byte. `SimulatedBoat.advance` generates hours of data in seconds, `attachSimulatedBoat` connects the boat to a loopback
 * bus in real time.
 *
 * @module
 */
export type { Broadcast, DeviceSpec, View } from "./devices/device.ts";
export { standardBoat } from "./devices/devices.ts";
export { createPassage, type PassageState, stepPassage } from "./passage.ts";
export { attachSimulatedBoat, SimulatedBoat, type SimulatedBoatOptions, type SimulatedDevice } from "./simulator.ts";
