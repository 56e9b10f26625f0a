import type { DefinitionSpec } from "../spec.ts";
import { AIS_DEFINITIONS } from "./ais.ts";
import { ELECTRICAL_DEFINITIONS } from "./electrical.ts";
import { ENGINE_DEFINITIONS } from "./engine.ts";
import { ENVIRONMENT_DEFINITIONS } from "./environment.ts";
import { NAVIGATION_DEFINITIONS } from "./navigation.ts";
import { PROPRIETARY_DEFINITIONS } from "./proprietary.ts";
import { RVC_DEFINITIONS } from "./rvc.ts";
import { SYSTEM_DEFINITIONS } from "./system.ts";

/** All layouts of the overlay; of several for one PGN, the first match is used. */
export const OVERLAY_DEFINITIONS: readonly DefinitionSpec[] = [
  ...SYSTEM_DEFINITIONS,
  ...NAVIGATION_DEFINITIONS,
  ...AIS_DEFINITIONS,
  ...ENVIRONMENT_DEFINITIONS,
  ...ENGINE_DEFINITIONS,
  ...ELECTRICAL_DEFINITIONS,
  ...RVC_DEFINITIONS,
  ...PROPRIETARY_DEFINITIONS,
];
