/**
 * Boats without a bus: one server replays a recording, the other is the demo's simulated boat; and a fleet for load tests.
 *
 * The frames replayed so far are the archive of a simulation, so that a session may start anywhere. The same recording has
 * the same output in each run.
 *
 * @module
 */
export * from "./demo.ts";
export {
  Fleet,
  FleetError,
  type FleetMember,
  type FleetOptions,
  type FleetSample,
  type FleetTrust,
} from "./fleet/mod.ts";
export * from "./simulate.ts";
