import { RECORDING_FORMATS } from "@vessel/gateway";
import { programOptions } from "../../settings/common_options.ts";
import { journalOptions } from "../../settings/journal_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import { type Check, type Option, refuse, type SettingsOf } from "../../settings/options.ts";

const input = flagGroup("Input");
const output = flagGroup("Output");
const DIRECTORY = "Output into a directory";

/** Options of `vbg convert`. */
export const convertOptions = {
  format: input.oneOf({
    name: "format",
    default: "auto",
    choices: ["auto", ...RECORDING_FORMATS],
    help: "Format of all inputs; auto: detected for each one. candump: log, screen and old form. ydwg: RAW of Yacht " +
      "Devices gateways. csv: of Actisense and canboat. ebl: binary log of Actisense. ikonvert: of Digital Yacht. " +
      "n2k-ascii: lines of Actisense. actisense: binary serial protocol of Actisense. mxpgn: $MXPGN sentences of " +
      "ShipModul. pcdin: $PCDIN sentences of SeaSmart.Net.",
  }),
  startUs: input.time({
    name: "start-time",
    help:
      "Start of the first input if it has no dates: the day for times of day, else the time of the first message. " +
      "RFC 3339, such as 2024-06-01T12:00:00Z. Without it: 1970-01-01, with a note. Further inputs without dates " +
      "continue at the end of the previous one.",
  }),
  out: output.text({
    name: "out",
    placeholder: "FILE|DIR",
    help:
      "Output: one file (.lpj), or a directory (created if missing) for files that are rotated and named like those of " +
      "a boat server. Files appear only when they are complete.",
  }),
  force: output.boolean({ name: "force", help: "Overwrite existing files." }),
  compression: output.oneOf({
    name: "compression",
    default: "zstd",
    choices: ["zstd", "none"],
    help: "Compression of blocks.",
  }),
  blockBytes: asHere(journalOptions.journalBlockBytes, { name: "block-size", group: "Output" }),
  json: output.boolean({
    name: "json",
    help: "Print the summary as JSON on standard output instead of as text on standard error.",
  }),
  prefix: asHere(journalOptions.journalPrefix, { name: "prefix", group: DIRECTORY }),
  rotateDurationMs: asHere(journalOptions.journalRotateDurationMs, { name: "rotate-duration", group: DIRECTORY }),
  rotateBytes: asHere(journalOptions.journalRotateBytes, { name: "rotate-size", group: DIRECTORY }),
  ...programOptions,
};

/** Settings of `vbg convert`. */
export type ConvertSettings = SettingsOf<typeof convertOptions>;

/** Rules over several settings. */
export const convertChecks: readonly Check<ConvertSettings>[] = [
  refuse(["out"], ({ out }) => out === "" && "Missing output: expected -out FILE.lpj or DIR"),
];

/** A journal setting of the boat server as a setting of this command. */
function asHere<T>(option: Option<T>, words: { name: string; group: string }): Option<T> {
  return { ...option, aliases: [], keys: [], inEnvironment: false, reloadable: false, ...words };
}
