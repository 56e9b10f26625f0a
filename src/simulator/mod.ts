/**
 * The simulated boat: fourteen devices that claim and defend addresses, answer requests and send what a catamaran on
 * its way round the Kiel Bight would send, about 200 frames a second. A model of the passage (`passage.ts`) is the one
 * source of all numbers, so that position, course, wind, fuel and route agree with each other; the same seed and start
 * time give the same frames, byte for byte. `SimulatedBoat.advance` makes hours of data in seconds, `attachSimulatedBoat` puts the boat
 * on a loopback bus in real time.
 *
 * @module
 */
export type { Broadcast, DeviceSpec, View } from "./devices/device.ts";
export { standardBoat } from "./devices/devices.ts";
export { createPassage, type PassageState, stepPassage } from "./passage.ts";
export { attachSimulatedBoat, SimulatedBoat, type SimulatedBoatOptions, type SimulatedDevice } from "./simulator.ts";
