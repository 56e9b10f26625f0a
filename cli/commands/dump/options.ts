import type { RetryOptions } from "@vessel/gateway/client";
import { formatDuration } from "@vessel/gateway/base";
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
import { boolean, duration, number, optional, readTimestamp, structured, text } from "../../settings/option_types.ts";
import type { Check, Option, Options } from "../../settings/options.ts";
import { type LabelsChoice, labelsOptions, type UnitsChoice, unitsOptions } from "../../client/units_options.ts";
import { doubtWhere, parseWhere, type Where } from "../../where/mod.ts";

/** What is shown of frames. */
export interface ViewSettings extends UnitsChoice, LabelsChoice {
  decode: boolean;
  changes: boolean;
  where: WhereChoice | undefined;
}

/** An expression as written and as compiled. */
export interface WhereChoice {
  source: string;
  where: Where;
}

/** Settings of `vbg dump`. */
export interface DumpSettings extends ClientSettings, FilterChoice, ViewSettings {
  /** How long the server keeps the session, ISO 8601; undefined: no session. */
  bufferTimeout: string | undefined;
  /** Id of the session; undefined: derived from the host name. */
  clientId: string | undefined;
  ackIntervalMs: number;
  reconnect: boolean;
  /** Time between two connection attempts; undefined: the client's default. */
  reconnectDelayMs: number | undefined;
  /** A recording; undefined: given as an operand, or none. */
  file: string | undefined;
  /** Show what is in a journal file in place of its frames. */
  inspect: boolean;
  /** Factor of the recorded speed; 0: as fast as possible. */
  speed: number;
  /** Skip earlier frames of a recording, microseconds since 1970. */
  start: number | undefined;
  /** Directory that frames are recorded to. */
  journal: string | undefined;
}

const VIEW = "Output";
const SESSION = "Session on the server";
const RECORDING = "Recording";
const RECORDED = "Recordings";
const MAX_RECONNECT_DELAY_MS = 3_600_000;
const MIN_BUFFER_MS = 1000;
const MIN_ACK_MS = 100;
const CLIENT_ID = /^[\w-]{1,64}$/;
/** Settings that only the command line has. */
const here = { key: [], environment: false } as const;

/** Rows of ViewSettings. */
export function viewOptions(): Options<ViewSettings> {
  const group = VIEW;
  return {
    decode: boolean({
      name: "decode",
      ...here,
      default: false,
      help: "Show the fields of known payloads. Text output shows them instead of the payload.",
      group,
    }),
    changes: boolean({
      name: "changes",
      ...here,
      default: false,
      help: "Show only changes beyond the tolerance of a field, and devices that stop sending a PGN.",
      group,
    }),
    where: structured<WhereChoice | undefined>({
      name: "where",
      ...here,
      placeholder: "EXPRESSION",
      default: undefined,
      help:
        "Show only frames that match, such as 'wind_speed > 15 kn and src.manufacturer == \"Garmin\"'. A number without " +
        "a unit is in the unit of the JSON. Evaluated after all other filters; hidden frames are still recorded and " +
        "acknowledged.",
      group,
      parse: (value) => readWhere(String(value)),
      parseText: readWhere,
      format: (value) => value?.source,
    }),
    ...unitsOptions(),
    ...labelsOptions(),
  };
}

/** Row of the time between connection attempts. */
export function reconnectOptions(): Options<Pick<DumpSettings, "reconnectDelayMs">> {
  return {
    reconnectDelayMs: optional(duration({
      name: "reconnect-delay",
      ...here,
      default: 2000,
      minMs: 1,
      maxMs: MAX_RECONNECT_DELAY_MS,
      help: "Time between two attempts to reconnect. Without it: 1s at first, doubling up to 30s.",
      group: "Server",
    })),
  };
}

/** How a lost connection is retried. */
export function retryOf({ reconnectDelayMs: ms }: Pick<DumpSettings, "reconnectDelayMs">): RetryOptions {
  return ms === undefined ? {} : { firstMs: ms, capMs: ms, jitter: 0 };
}

/** Rows of options for recordings. */
function recordedOptions(): Options<Pick<DumpSettings, "file" | "inspect" | "speed" | "start">> {
  const group = RECORDED;
  return {
    file: optional(text({
      name: "file",
      ...here,
      placeholder: "FILE",
      default: "",
      help: "Recording to show; the same as the argument FILE.",
      group,
    })),
    inspect: boolean({
      name: "inspect",
      ...here,
      default: false,
      help: "Show the blocks of journal files instead of frames; the same as vbg inspect FILE.",
      group,
    }),
    speed: number({
      name: "speed",
      ...here,
      default: 0,
      max: 1e6,
      help: "1: the recorded speed, with its pauses. 10: ten times faster. 0: as fast as possible.",
      group,
    }),
    start: structured<number | undefined>({
      name: "start",
      ...here,
      placeholder: "TIME",
      default: undefined,
      help: "Skip frames before this time in every recording. RFC 3339, such as 2024-06-01T12:00:00Z.",
      group,
      parse: (value) => readTimestamp(String(value)),
      parseText: readTimestamp,
      format: (value) => value === undefined ? undefined : new Date(value / 1000).toISOString(),
    }),
  };
}

/** Options of `vbg dump`. */
export const dumpOptions: Options<DumpSettings> = {
  ...serverOptions(),
  reconnect: boolean({
    name: "reconnect",
    ...here,
    default: true,
    help: "Reconnect after a lost connection, and search for the boat again. Off: end with exit code 1.",
    group: "Server",
  }),
  ...reconnectOptions(),
  ...recordedOptions(),
  ...filterOptions(),
  bufferTimeout: isoDuration({
    name: "buffer-timeout",
    ...here,
    default: MIN_BUFFER_MS,
    minMs: MIN_BUFFER_MS,
    help:
      "Read a session that the server keeps for this time while this command does not run: the next run continues " +
      "without missing or repeated frames. Ctrl-C does not delete the session.",
    group: SESSION,
  }),
  clientId: optional(text({
    name: "client-id",
    ...here,
    placeholder: "ID",
    default: "",
    help: "Id of the session: 1 to 64 letters, digits, hyphens or underscores. Without it: the name of this machine.",
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
    help: "Time between two acknowledgements of the frames that were written.",
    group: SESSION,
  }),
  journal: optional(text({
    name: "journal",
    ...here,
    placeholder: "DIR",
    default: "",
    help: "Record every received frame to this directory, regardless of -where and -changes, with numbers of its own.",
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

/** Rules over several settings. */
export const dumpChecks: readonly Check<DumpSettings>[] = [
  ...serverChecks,
  ...filterChecks,
  ...viewChecks,
  {
    settings: ["clientId", "bufferTimeout"],
    severity: "error",
    test: ({ clientId, bufferTimeout }) =>
      clientId !== undefined && bufferTimeout === undefined
        ? "Cannot use a client id without -buffer-timeout: it is the id of a session"
        : undefined,
  },
];

function readWhere(source: string): WhereChoice {
  return { source, where: parseWhere(source) };
}

/** A duration kept as text, as sent to the server; undefined unless given. */
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
