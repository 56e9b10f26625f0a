import type { Clock } from "../base/mod.ts";
import type { Journal } from "../journal/mod.ts";

/** A clock that gives the true time, where the journal knows that the wall clock is wrong. */
export function trueClockOf(clock: Clock, journal: Journal | undefined): Clock {
  return {
    monoMs: () => clock.monoMs(),
    wallUs: () => journal?.index.clock.now(clock.wallUs()) ?? clock.wallUs(),
  };
}
