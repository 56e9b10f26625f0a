import {
  type ClientSettings,
  filterChecks,
  type FilterChoice,
  filterOptions,
  outputOptions,
  serverChecks,
  serverOptions,
} from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { reconnectOptions, viewChecks, viewOptions, type ViewSettings } from "../dump/options.ts";
import { integer } from "../../settings/option_types.ts";
import type { Check, Options } from "../../settings/options.ts";

/** Settings of `vbg tail`. */
export interface TailSettings extends ClientSettings, FilterChoice, ViewSettings {
  /** Number of recorded frames that are shown first. */
  last: number;
  /** Time between two connection attempts; undefined: the client's default. */
  reconnectDelayMs: number | undefined;
}

const MAX_LAST = 100_000;

/** Everything that can be set. */
export const tailOptions: Options<TailSettings> = {
  ...serverOptions(),
  ...reconnectOptions(),
  ...filterOptions(),
  last: integer({
    name: "last",
    key: [],
    environment: false,
    default: 0,
    max: MAX_LAST,
    help: "Number of recorded frames to show first: the newest that match the filter, at most one day old.",
    group: "Frames",
  }),
  ...viewOptions(),
  ...outputOptions(),
  ...programOptions(),
};

/** Rules over several settings. */
export const tailChecks: readonly Check<TailSettings>[] = [...serverChecks, ...filterChecks, ...viewChecks];
