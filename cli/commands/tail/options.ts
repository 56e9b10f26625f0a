import {
  filterChecks,
  filterOptions,
  outputOptions,
  serverChecks,
  serverOptions,
} from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { reconnectOptions, viewChecks, viewOptions } from "../dump/options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import type { Check, SettingsOf } from "../../settings/options.ts";

const frames = flagGroup("Frames");

const MAX_LAST = 100_000;

/** Everything that can be set. */
export const tailOptions = {
  ...serverOptions,
  ...reconnectOptions,
  ...filterOptions,
  last: frames.integer({
    name: "last",
    default: 0,
    max: MAX_LAST,
    help: "Number of recorded frames to show first: the newest that match the filter, at most one day old.",
  }),
  ...viewOptions,
  ...outputOptions,
  ...programOptions,
};

/** Settings of `vbg tail`. */
export type TailSettings = SettingsOf<typeof tailOptions>;

/** Rules over several settings. */
export const tailChecks: readonly Check<TailSettings>[] = [...serverChecks, ...filterChecks, ...viewChecks];
