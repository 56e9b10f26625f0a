/**
 * A boat without a bus, put together: a recording played back, or the simulated boat of the demo.
 *
 * What was played is the archive of a simulation, so that a session may begin anywhere, and the same recording gives
 * the same lines in each run.
 *
 * @module
 */
export * from "./demo.ts";
export * from "./simulate.ts";
