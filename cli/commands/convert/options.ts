import { RECORDING_FORMATS, type RecordingFormat } from "@vessel/gateway";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { journalOptions } from "../../settings/journal_options.ts";
import { boolean, oneOf, readTimestamp, structured, text } from "../../settings/option_types.ts";
import type { Check, Option, Options } from "../../settings/options.ts";

/** Settings of `vbg convert`. */
export interface ConvertSettings extends ProgramSettings {
  out: string;
  force: boolean;
  format: RecordingFormat | "auto";
  startTime: Date | undefined;
  prefix: string;
  rotateDurationMs: number;
  rotateBytes: number;
  compression: "none" | "zstd";
  blockBytes: number;
  json: boolean;
}

const INPUT = "Input";
const OUTPUT = "Output";
const DIRECTORY = "Output into a directory";
/** Settings that only the command line has. */
const here = { key: [], environment: false } as const;

/** Options of `vbg convert`. */
export const convertOptions: Options<ConvertSettings> = {
  format: oneOf({
    name: "format",
    ...here,
    default: "auto",
    choices: ["auto", ...RECORDING_FORMATS],
    help: "Format of all inputs; auto: detected for each one. candump: log, screen and old form. ydwg: RAW of Yacht " +
      "Devices gateways. csv: of Actisense and canboat. ebl: binary log of Actisense. ikonvert: of Digital Yacht. " +
      "n2k-ascii: lines of Actisense. actisense: binary serial protocol of Actisense.",
    group: INPUT,
  }),
  startTime: structured<Date | undefined>({
    name: "start-time",
    ...here,
    placeholder: "TIME",
    default: undefined,
    help:
      "Start of the first input if it has no dates: the day for times of day, else the time of the first message. " +
      "RFC 3339, such as 2024-06-01T12:00:00Z. Without it: 1970-01-01, with a note. Further inputs without dates " +
      "continue at the end of the previous one.",
    group: INPUT,
    parse: (value) => readTime(String(value)),
    parseText: readTime,
    format: (value) => value?.toISOString(),
  }),
  out: text({
    name: "out",
    ...here,
    placeholder: "FILE|DIR",
    default: "",
    help:
      "Output: one file (.lpj), or a directory (created if missing) for files that are rotated and named like those of " +
      "a boat server. Files appear only when they are complete.",
    group: OUTPUT,
  }),
  force: boolean({
    name: "force",
    ...here,
    default: false,
    help: "Overwrite existing files.",
    group: OUTPUT,
  }),
  compression: oneOf({
    name: "compression",
    ...here,
    default: "zstd",
    choices: ["zstd", "none"],
    help: "Compression of blocks.",
    group: OUTPUT,
  }),
  blockBytes: asHere(journalOptions.journalBlockBytes, { name: "block-size", group: OUTPUT }),
  json: boolean({
    name: "json",
    ...here,
    default: false,
    help: "Print the summary as JSON on standard output instead of as text on standard error.",
    group: OUTPUT,
  }),
  prefix: asHere(journalOptions.journalPrefix, { name: "prefix", group: DIRECTORY }),
  rotateDurationMs: asHere(journalOptions.journalRotateDurationMs, { name: "rotate-duration", group: DIRECTORY }),
  rotateBytes: asHere(journalOptions.journalRotateBytes, { name: "rotate-size", group: DIRECTORY }),
  ...programOptions(),
};

/** Rules over several settings. */
export const convertChecks: readonly Check<ConvertSettings>[] = [
  {
    settings: ["out"],
    severity: "error",
    test: ({ out }) => out === "" ? "Missing output: expected -out FILE.lpj or DIR" : undefined,
  },
];

/** A journal setting of the boat server as a setting of this command. */
function asHere<T>(option: Option<T>, words: { name: string; group: string }): Option<T> {
  return { ...option, aliases: [], keys: [], inEnvironment: false, reloadable: false, ...words };
}

function readTime(value: string): Date {
  return new Date(readTimestamp(value) / 1000);
}
