import { serverChecks, serverOptions } from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import { type Check, refuse, type SettingsOf } from "../../settings/options.ts";
import { when } from "../../client/time_option.ts";

const output = flagGroup("Output");
const program = flagGroup("Program");
const FORMATS = ["table", "csv", "json", "parquet"] as const;

/** A time before which nothing was recorded. */
const BEGINNING = { kind: "at", text: "" } as const;

/** Everything that can be set. */
export const queryOptions = {
  ...serverOptions,
  from: optional(when("from", {
    default: BEGINNING,
    help:
      "Time of the first message: RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago: 90s, 2h, P1D. Without it: " +
      "of files all, of a server the last hour. A condition on time in SQL does not make a query faster, this does.",
  })),
  to: optional(when("to", {
    default: { kind: "ago", ms: 0 },
    help: "Time of the last message, in the same forms. Without it: the last one.",
  })),
  format: optional(output.oneOf<(typeof FORMATS)[number]>({
    name: "format",
    default: "table",
    choices: FORMATS,
    help:
      "Format of the result. json: an object in each line. parquet: only with -out. Without it: table on a terminal, " +
      "else csv.",
  })),
  out: optional(output.text({
    name: "out",
    placeholder: "FILE",
    help: "Write the result to a file, which appears when it is complete. Default: standard output.",
  })),
  tables: output.boolean({
    name: "tables",
    help: "List the views of the recording with their columns, types and units, without a query.",
  }),
  filesAllowed: program.boolean({
    name: "allow-files",
    help: "Let SQL read and write files of this machine. Networks and extensions stay closed to it.",
  }),
  install: program.boolean({
    name: "install",
    help: "Download DuckDB from the npm registry, once, and exit: 140 MB on disk.",
  }),
  ...programOptions,
};

/** Settings of `vbg query`. */
export type QuerySettings = SettingsOf<typeof queryOptions>;

/** Rules over several settings. */
export const queryChecks: readonly Check<QuerySettings>[] = [
  ...serverChecks,
  refuse(
    ["format", "out"],
    ({ format, out }) => format === "parquet" && out === undefined && "Cannot print Parquet: expected -out FILE",
  ),
  refuse(
    ["format", "tables"],
    ({ format, tables }) =>
      format === "parquet" && tables && "Cannot list the views as Parquet: expected another -format",
  ),
];
