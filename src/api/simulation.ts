/**
 * Boats without a bus: the demo, and recordings that are served.
 *
 * @module
 */
export {
  type Simulation,
  SIMULATION_PORT,
  type SimulationOptions,
  startDemo,
  startSimulation,
} from "../simulation/mod.ts";
