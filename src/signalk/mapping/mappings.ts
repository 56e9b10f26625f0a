import { AIS } from "./ais.ts";
import { ELECTRICAL } from "./electrical.ts";
import { ENGINES } from "./engine.ts";
import { ENVIRONMENT } from "./environment.ts";
import { NAVIGATION } from "./navigation.ts";
import { OTHER } from "./other.ts";
import type { PgnMapping } from "./types.ts";

/** From fields of NMEA 2000 messages to paths of Signal K: one row for each value (`types.ts` says what a row is). */
export const MAPPINGS: readonly PgnMapping[] = [
  ...NAVIGATION,
  ...AIS,
  ...ENGINES,
  ...ELECTRICAL,
  ...ENVIRONMENT,
  ...OTHER,
];
