import { formatDuration } from "@vessel/gateway/settings";
import {
  type ClientSettings,
  type FilterChoice,
  filterOptions,
  outputOptions,
  serverChecks,
  serverOptions,
} from "./client_options.ts";
import { programOptions } from "./common_options.ts";
import { boolean, duration, optional, structured, text } from "./option_types.ts";
import type { Check, Option, Options } from "./options.ts";
import { type LabelsChoice, labelsOptions, type UnitsChoice, unitsOptions } from "./units_options.ts";
import { doubtWhere, parseWhere, type Where } from "./where.ts";

/** What is shown of frames. */
export interface ViewSettings extends UnitsChoice, LabelsChoice {
  decode: boolean;
  changes: boolean;
  where: WhereChoice | undefined;
}

/** An expression as it was written and as it is used. */
export interface WhereChoice {
  source: string;
  where: Where;
}

/** Settings of `vbg dump`. */
export interface DumpSettings extends ClientSettings, FilterChoice, ViewSettings {
  /** How long the server keeps our place, ISO 8601; undefined: there is none. */
  bufferTimeout: string | undefined;
  /** Name of that place; undefined: made of the host's name. */
  clientId: string | undefined;
  ackIntervalMs: number;
  reconnect: boolean;
  /** Directory that frames are recorded to. */
  journal: string | undefined;
}

const VIEW = "Output";
const SESSION = "Place on the server";
const RECORDING = "Recording";
const MIN_BUFFER_MS = 1000;
const MIN_ACK_MS = 100;
const CLIENT_ID = /^[\w-]{1,64}$/;
/** What the command line alone gives. */
const here = { key: [], environment: false } as const;

/** Rows of ViewSettings. */
export function viewOptions(): Options<ViewSettings> {
  const group = VIEW;
  return {
    decode: boolean({
      name: "decode",
      ...here,
      default: false,
      help: "Show the fields of payloads that are known; for people in place of the payload.",
      group,
    }),
    changes: boolean({
      name: "changes",
      ...here,
      default: false,
      help: "Show only what changes more than the tolerance of its field, and who falls silent.",
      group,
    }),
    where: structured<WhereChoice | undefined>({
      name: "where",
      ...here,
      placeholder: "EXPRESSION",
      default: undefined,
      help:
        "Show only frames that match, such as 'wind_speed > 15 kn and src.manufacturer == \"Garmin\"'. A number without " +
        "a unit is in the unit of the JSON. " +
        "Evaluated after all other filters; what it hides is recorded and acknowledged nevertheless.",
      group,
      parse: (value) => readWhere(String(value)),
      parseText: readWhere,
      format: (value) => value?.source,
    }),
    ...unitsOptions(),
    ...labelsOptions(),
  };
}

/** Everything that can be set. */
export const dumpOptions: Options<DumpSettings> = {
  ...serverOptions(),
  reconnect: boolean({
    name: "reconnect",
    ...here,
    default: true,
    help: "Go on after a lost connection; the boat is looked for again. Off: it ends the command with exit code 1.",
    group: "Server",
  }),
  ...filterOptions(),
  bufferTimeout: isoDuration({
    name: "buffer-timeout",
    ...here,
    default: MIN_BUFFER_MS,
    minMs: MIN_BUFFER_MS,
    help:
      "Keep a place on the server for so long while this command is away: no frame is left out, and none comes twice " +
      "when it comes back. Ctrl-C leaves the place there.",
    group: SESSION,
  }),
  clientId: optional(text({
    name: "client-id",
    ...here,
    placeholder: "ID",
    default: "",
    help: "Name of the place: 1 to 64 letters, digits, hyphens or underscores. Without it: the name of this machine.",
    group: SESSION,
    validate: (id) =>
      CLIENT_ID.test(id)
        ? undefined
        : `Cannot use the client id "${id}": expected 1 to 64 letters, digits, hyphens or underscores`,
  })),
  ackIntervalMs: duration({
    name: "ack-interval",
    ...here,
    default: 5000,
    minMs: MIN_ACK_MS,
    help: "Time between two acknowledgements of what was written out.",
    group: SESSION,
  }),
  journal: optional(text({
    name: "journal",
    ...here,
    placeholder: "DIR",
    default: "",
    help: "Record every frame that comes to this directory, whatever -where and -changes show. Numbers are its own.",
    group: RECORDING,
  })),
  ...viewOptions(),
  ...outputOptions(),
  ...programOptions(),
};

/** Rules of ViewSettings. */
export const viewChecks: readonly Check<ViewSettings>[] = [
  { settings: ["where"], severity: "warning", test: ({ where }) => where && doubtWhere(where.source) },
];

/** Rules that look at several settings. */
export const dumpChecks: readonly Check<DumpSettings>[] = [
  ...serverChecks,
  ...viewChecks,
  {
    settings: ["clientId", "bufferTimeout"],
    severity: "error",
    test: ({ clientId, bufferTimeout }) =>
      clientId !== undefined && bufferTimeout === undefined
        ? "Cannot use a client id without -buffer-timeout: it names the place that this keeps"
        : undefined,
  },
];

function readWhere(source: string): WhereChoice {
  return { source, where: parseWhere(source) };
}

/** A time span that is kept as the text that servers are sent; nothing unless it is given. */
function isoDuration(words: Parameters<typeof duration>[0]): Option<string | undefined> {
  const option = optional(duration(words));
  const write = (ms: number | undefined) => ms === undefined ? undefined : formatDuration(ms);
  return {
    ...option,
    default: () => undefined,
    fromFlags: (values) => write(option.fromFlags(values)),
    fromEnvironment: (value) => write(option.fromEnvironment(value)),
    fromConfig: (value) => write(option.fromConfig(value)),
    format: (value) => value,
  };
}
