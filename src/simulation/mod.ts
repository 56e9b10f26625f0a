/**
 * Boat servers without a bus: one replays a recording, the other is the demo's simulated boat.
 *
 * The frames replayed so far are the archive of a simulation, so that a session may start anywhere. The same recording has
 * the same output in each run.
 *
 * @module
 */
export * from "./demo.ts";
export * from "./simulate.ts";
