/**
 * Boats without a bus: the demo, recordings that are served, and a fleet for load tests of a cloud.
 *
 * @module
 */
export {
  Fleet,
  FleetError,
  type FleetMember,
  type FleetOptions,
  type FleetSample,
  type FleetTrust,
  type Simulation,
  SIMULATION_PORT,
  type SimulationOptions,
  startDemo,
  startSimulation,
} from "../simulation/mod.ts";
