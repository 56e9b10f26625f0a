import { parseDuration } from "@vessel/gateway/base";
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
import {
  boolean,
  duration,
  durationText,
  integer,
  list,
  optional,
  readTimestamp,
  structured,
} from "../../settings/option_types.ts";
import type { Check, Option, Options } from "../../settings/options.ts";
import { type LabelsChoice, labelsOptions, type UnitsChoice, unitsOptions } from "../../client/units_options.ts";

/** An absolute time, or a time before now. */
export type When = { kind: "at"; text: string } | { kind: "ago"; ms: number };

/** Settings of `vbg history`. */
export interface HistorySettings extends ClientSettings, FilterChoice, UnitsChoice, LabelsChoice {
  from: When;
  to: When | undefined;
  /** Milliseconds. */
  interval: number | undefined;
  limit: number;
  src: readonly string[];
  decode: boolean;
}

const TIME = "Time";
const DEFAULT_LIMIT = 10_000;
const MAX_ADDRESS = 255;
/** Settings that only the command line has. */
const here = { key: [], environment: false } as const;

/** Everything that can be set. */
export const historyOptions: Options<HistorySettings> = {
  ...serverOptions(),
  from: when("from", {
    default: { kind: "ago", ms: 3_600_000 },
    help: "Time of the first message: RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago: 90s, 2h, P1D.",
  }),
  to: optional(when("to", {
    default: { kind: "ago", ms: 0 },
    help: "Time of the last message, in the same forms. Without it: now.",
  })),
  interval: optional(duration({
    name: "interval",
    ...here,
    default: 0,
    minMs: 1,
    help: "Keep only the first message of each bus, source and PGN in each interval of this length.",
    group: TIME,
  })),
  limit: integer({
    name: "limit",
    ...here,
    default: DEFAULT_LIMIT,
    min: 1,
    help: "Most messages; the server limits it with -history-max-limit.",
    group: TIME,
  }),
  ...filterOptions(),
  src: list({
    name: "src",
    ...here,
    placeholder: "N",
    default: [],
    commas: true,
    help: "Only these source addresses.",
    group: "Frames",
    validate: (text) =>
      /^\d+$/.test(text) && Number(text) <= MAX_ADDRESS
        ? undefined
        : `Cannot read the address "${text}": expected a number from 0 to ${MAX_ADDRESS}`,
  }),
  ...outputOptions(),
  decode: boolean({
    name: "decode",
    ...here,
    default: false,
    help: "Show the fields of the payloads; JSON also has the payloads.",
    group: "Output",
  }),
  ...unitsOptions(),
  ...labelsOptions(),
  ...programOptions(),
};

/** Rules over several settings. */
export const historyChecks: readonly Check<HistorySettings>[] = [...serverChecks, ...filterChecks];

/** The time as a parameter of a request. */
export function timeOf(when: When, nowMs: number): string {
  return when.kind === "at" ? when.text : new Date(nowMs - when.ms).toISOString();
}

function when(name: string, { default: standard, help }: { default: When; help: string }): Option<When> {
  return structured<When>({
    name,
    ...here,
    placeholder: "TIME",
    default: standard,
    help,
    group: TIME,
    parse: (value) => readWhen(String(value)),
    parseText: readWhen,
    format: (value) => value.kind === "at" ? value.text : durationText(value.ms),
  });
}

function readWhen(text: string): When {
  if (/^\d{4}-/.test(text)) {
    readTimestamp(text);
    return { kind: "at", text };
  }
  try {
    return { kind: "ago", ms: parseDuration(text) };
  } catch {
    const forms = "RFC 3339, such as 2024-06-01T12:00:00Z, or how long ago, such as 2h";
    throw new RangeError(`Cannot read the time "${text}": expected ${forms}`);
  }
}
