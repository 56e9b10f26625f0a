import { EXPORT_FORMAT_NAMES, type ExportFormatName } from "@vessel/gateway/export";
import { filterChecks, filterOptions, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import { type Check, refuse, type SettingsOf } from "../../settings/options.ts";
import { storeEndpointOption } from "../../settings/store_endpoint.ts";
import { whereChecks, whereOptions } from "../dump/options.ts";

const output = flagGroup("Output");
const time = flagGroup("Time");

/** Options of `vbg export`. */
export const exportOptions = {
  format: optional(output.oneOf<ExportFormatName>({
    name: "format",
    default: "csv",
    choices: EXPORT_FORMAT_NAMES,
    help:
      "Without it: by the ending of -out (.csv, .parquet, .pcap, .log: candump, .jsonl or .json: canboat), else csv. csv, " +
      "parquet: a row for each message. pcap, candump: the CAN frames of the messages. canboat: lines of JSON as canboat's " +
      "analyzer prints them.",
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
  fromUs: time.time({ name: "from", help: "Skip messages before this time. RFC 3339, such as 2024-06-01T12:00:00Z." }),
  toUs: time.time({ name: "to", help: "Skip messages after this time." }),
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
  refuse(
    ["toUs", "fromUs"],
    ({ fromUs = -Infinity, toUs = Infinity }) => fromUs > toUs && "Cannot export: -to is before -from",
  ),
];
