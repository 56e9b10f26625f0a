/**
 * A boat without a bus, put together: a recording played back, or the simulated boat of the demo.
 *
 * @module
 */
export * from "./demo.ts";
export * from "./simulate.ts";
