import {
  filterChecks,
  filterOptions,
  labelsOptions,
  outputOptions,
  serverChecks,
  serverOptions,
  unitsOptions,
} from "../../client/client_options.ts";
import { when } from "../../client/time_option.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import type { Check, SettingsOf } from "../../settings/options.ts";

const frames = flagGroup("Frames");
const output = flagGroup("Output");

const time = flagGroup("Time");
const DEFAULT_LIMIT = 10_000;
const MAX_ADDRESS = 255;

/** Everything that can be set. */
export const historyOptions = {
  ...serverOptions,
  from: when("from", {
    default: { kind: "ago", ms: 3_600_000 },
    help: "Time of the first message: RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago: 90s, 2h, P1D.",
  }),
  to: optional(when("to", {
    default: { kind: "ago", ms: 0 },
    help: "Time of the last message, in the same forms. Without it: now.",
  })),
  interval: optional(time.duration({
    name: "interval",
    default: 0,
    minMs: 1,
    help: "Keep only the first message of each bus, source and PGN in each interval of this length.",
  })),
  limit: time.integer({
    name: "limit",
    default: DEFAULT_LIMIT,
    min: 1,
    help: "Most messages; the server limits it with -history-max-limit.",
  }),
  ...filterOptions,
  src: frames.list({
    name: "src",
    placeholder: "N",
    commas: true,
    help: "Only these source addresses.",
    validate: (text) =>
      /^\d+$/.test(text) && Number(text) <= MAX_ADDRESS
        ? undefined
        : `Cannot read the address "${text}": expected a number from 0 to ${MAX_ADDRESS}`,
  }),
  ...outputOptions,
  decode: output.boolean({ name: "decode", help: "Show the fields of the payloads; JSON also has the payloads." }),
  ...unitsOptions,
  ...labelsOptions,
  ...programOptions,
};

/** Settings of `vbg history`. */
export type HistorySettings = SettingsOf<typeof historyOptions>;

/** Rules over several settings. */
export const historyChecks: readonly Check<HistorySettings>[] = [...serverChecks, ...filterChecks];
