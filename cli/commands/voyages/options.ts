import { serverChecks, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { storeEndpointOption } from "../../settings/store_endpoint.ts";
import { type When, when } from "../../client/time_option.ts";

const output = flagGroup("Output");

/** First time that a server is asked about, if none is given. */
export const DEFAULT_FROM: When = { kind: "ago", ms: 30 * 86_400_000 };

/** Options of `vbg voyages`. */
export const voyagesOptions = {
  ...serverOptions,
  storeEndpoint: storeEndpointOption,
  from: optional(when("from", {
    default: DEFAULT_FROM,
    help: "Voyages that end after this time: RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago: 12h, P30D. " +
      "Without it: 30 days ago; of files: all.",
  })),
  to: optional(when("to", {
    default: { kind: "ago", ms: 0 },
    help: "Voyages that begin before this time, in the same forms. Without it: now; of files: all.",
  })),
  format: output.oneOf<"table" | "json">({
    name: "format",
    default: "table",
    choices: ["table", "json"],
    help:
      "table: times in UTC, nautical miles, knots, hours of each engine, litres, wind as average/maximum, T true or A " +
      "apparent; positions on wide terminals. json: as GET /voyages, in SI units.",
  }),
  gpx: optional(output.text({
    name: "gpx",
    placeholder: "DIR",
    help: "Also write the track of each voyage to this directory, as GPX 1.1: a file each, named by its start.",
  })),
  ...programOptions,
};

/** Settings of `vbg voyages`. */
export type VoyagesSettings = SettingsOf<typeof voyagesOptions>;

/** Rules over several settings. */
export const voyagesChecks = serverChecks;
