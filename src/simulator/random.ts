/** A generator of numbers from 0 up to 1. */
export type Random = () => number;

/** Tommy Ettinger's mulberry32: small, fast, good enough for a simulated sea; the same seed gives the same numbers. */
export function mulberry32(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** White noise from -1 to 1. A function of seed and index, without a state. */
export function noiseAt(seed: number, index: number): number {
  return mulberry32(Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index, 0xc2b2ae35))() * 2 - 1;
}

/** Smooth noise: a sum of sines. */
export interface Swell {
  readonly amplitude: number;
  readonly sines: readonly { readonly ratePerS: number; readonly phase: number }[];
}

/** Smooth noise of about the given periods, with random phases. */
export function createSwell(
  random: Random,
  { amplitude, periodsS }: { amplitude: number; periodsS: readonly number[] },
): Swell {
  return {
    amplitude,
    sines: periodsS.map((periodS) => ({
      ratePerS: 2 * Math.PI / (periodS * (0.9 + 0.2 * random())),
      phase: 2 * Math.PI * random(),
    })),
  };
}

/** Value of smooth noise, never more than its amplitude. */
export function swellAt(swell: Swell, timeS: number): number {
  let sum = 0;
  for (const { ratePerS, phase } of swell.sines) sum += Math.sin(ratePerS * timeS + phase);
  return swell.amplitude * sum / swell.sines.length;
}
