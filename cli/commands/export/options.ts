import { EXPORT_FORMAT_NAMES } from "@vessel/gateway/export";
import { when } from "../../client/time_option.ts";
import { filterChecks, filterOptions, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import type { Check, SettingsOf } from "../../settings/options.ts";
import { storeEndpointOption } from "../../settings/store_endpoint.ts";
import { whereChecks, whereOptions } from "../dump/options.ts";

const output = flagGroup("Output");
const time = flagGroup("Time");

/** Names of the formats: those of messages, and tracks. */
export const FORMAT_NAMES = [...EXPORT_FORMAT_NAMES, "gpx"] as const;

/** Options of `vbg export`. */
export const exportOptions = {
  format: optional(output.oneOf<typeof FORMAT_NAMES[number]>({
    name: "format",
    default: "csv",
    choices: FORMAT_NAMES,
    help:
      "Without it: by the ending of -out (.csv, .parquet, .pcap, .log: candump, .jsonl or .json: canboat, .gpx), else csv. " +
      "csv, parquet: a row for each message. pcap, candump: the CAN frames of the messages. canboat: lines of JSON as " +
      "canboat's analyzer prints them. gpx: the track of each voyage, of all messages of the time.",
  })),
  out: output.text({
    name: "out",
    placeholder: "FILE|DIR",
    help:
      "File; or directory (created if missing; a new one ends with a slash) for a table of each PGN, with its fields as " +
      "columns. Files appear only when all are complete. Default: standard output.",
  }),
  force: output.boolean({ name: "force", help: "Overwrite existing files." }),
  quiet: { ...serverOptions.quiet, help: "Do not report progress and results on standard error." },
  from: optional(when("from", {
    default: { kind: "ago", ms: 0 },
    help:
      "Time of the first message: RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago: 90s, 2h, P1D. Without it: the " +
      "first one.",
  })),
  to: optional(when("to", {
    default: { kind: "ago", ms: 0 },
    help: "Time of the last message, in the same forms. Without it: the last one.",
  })),
  intervalMs: optional(time.duration({
    name: "interval",
    default: 0,
    minMs: 1,
    help:
      "Keep only the first message of each bus, source and PGN in each interval of this length. Evaluated after all filters.",
  })),
  ...filterOptions,
  where: {
    ...whereOptions.where,
    group: filterOptions.pgn.group,
    help:
      "Only messages that match, such as 'wind_speed > 15 kn and src.manufacturer == \"Garmin\"'. A number without a unit is " +
      "in the unit of the JSON.",
  },
  boat: { ...serverOptions.boat, help: "Boat of an object store. Without it: the only one.", group: "Recordings" },
  storeEndpoint: { ...storeEndpointOption, group: "Recordings" },
  config: {
    ...serverOptions.config,
    group: "Recordings",
    help: `${serverOptions.config.help} Only its exclude-pgn and exclude-name count.`,
  },
  ...programOptions,
};

/** Settings of `vbg export`. */
export type ExportSettings = SettingsOf<typeof exportOptions>;

/** Rules over several settings. */
export const exportChecks: readonly Check<ExportSettings>[] = [
  ...filterChecks,
  ...whereChecks,
];
