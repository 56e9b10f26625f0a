/** Both clocks, handed to whatever must know the time. */
export interface Clock {
  /** Wall clock, microseconds since 1970. Labels only: it jumps. */
  wallUs(): number;
  /** Monotonic clock, milliseconds. What timeouts are measured with. */
  monoMs(): number;
}

/** The machine's clocks. */
export const systemClock: Clock = {
  wallUs: () => Date.now() * 1000,
  monoMs: () => performance.now(),
};
