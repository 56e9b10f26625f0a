import type { RetryOptions } from "@vessel/gateway/client";
import {
  filterChecks,
  filterOptions,
  labelsOptions,
  outputOptions,
  serverChecks,
  serverOptions,
  unitsOptions,
} from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import { storeEndpointOption } from "../../settings/store_endpoint.ts";
import { type Check, refuse, type SettingsOf, warn } from "../../settings/options.ts";
import { doubtWhere, readWhere, type WhereChoice } from "./where.ts";

const server = flagGroup("Server");
const output = flagGroup("Output");
const session = flagGroup("Session on the server");
const recording = flagGroup("Recording");
const recordings = flagGroup("Recordings");
const MAX_RECONNECT_DELAY_MS = 3_600_000;
const MIN_BUFFER_MS = 1000;
const MIN_ACK_MS = 100;
const CLIENT_ID = /^[\w-]{1,64}$/;

/** Option of the filter by expressions. */
export const whereOptions = {
  where: output.structured<WhereChoice | undefined>({
    name: "where",
    placeholder: "EXPRESSION",
    default: undefined,
    help:
      "Show only frames that match, such as 'wind_speed > 15 kn and src.manufacturer == \"Garmin\"'. A number without " +
      "a unit is in the unit of the JSON. Evaluated after all other filters; hidden frames are still recorded and " +
      "acknowledged.",
    parseText: readWhere,
    format: (value) => value?.source,
  }),
};

/** Checks of the filter by expressions. */
export const whereChecks: readonly Check<SettingsOf<typeof whereOptions>>[] = [
  warn(["where"], ({ where }) => where && doubtWhere(where)),
];

/** Options of the shown frames. */
export const viewOptions = {
  decode: output.boolean({
    name: "decode",
    help: "Show the fields of known payloads. Text output shows them instead of the payload.",
  }),
  changes: output.boolean({
    name: "changes",
    help: "Show only changes beyond the tolerance of a field, and devices that stop sending a PGN.",
  }),
  ...whereOptions,
  ...unitsOptions,
  ...labelsOptions,
};

/** Option of the time between connection attempts. */
export const reconnectOptions = {
  reconnectDelayMs: optional(server.duration({
    name: "reconnect-delay",
    default: 2000,
    minMs: 1,
    maxMs: MAX_RECONNECT_DELAY_MS,
    help: "Time between two attempts to reconnect. Without it: 1s at first, doubling up to 30s.",
  })),
};

/** How a lost connection is retried. */
export function retryOf({ reconnectDelayMs: ms }: SettingsOf<typeof reconnectOptions>): RetryOptions {
  return ms === undefined ? {} : { firstMs: ms, capMs: ms, jitter: 0 };
}

const recordedOptions = {
  file: optional(recordings.text({
    name: "file",
    placeholder: "FILE",
    help: "Recording to show; the same as the argument FILE.",
  })),
  inspect: recordings.boolean({
    name: "inspect",
    help: "Show the blocks of journal files instead of frames; the same as vbg inspect FILE.",
  }),
  speed: recordings.number({
    name: "speed",
    default: 0,
    max: 1e6,
    help: "1: the recorded speed, with its pauses. 10: ten times faster. 0: as fast as possible.",
  }),
  startUs: recordings.time({
    name: "start",
    help: "Skip frames before this time in every recording. RFC 3339, such as 2024-06-01T12:00:00Z.",
  }),
};

/** Options of `vbg dump`. */
export const dumpOptions = {
  ...serverOptions,
  storeEndpoint: storeEndpointOption,
  reconnect: server.boolean({
    name: "reconnect",
    default: true,
    help: "Reconnect after a lost connection, and search for the boat again. Off: end with exit code 1.",
  }),
  ...reconnectOptions,
  ...recordedOptions,
  ...filterOptions,
  bufferTimeoutMs: optional(session.duration({
    name: "buffer-timeout",
    default: MIN_BUFFER_MS,
    minMs: MIN_BUFFER_MS,
    help:
      "Read a session that the server keeps for this time while this command does not run: the next run continues " +
      "without missing or repeated frames. Ctrl-C does not delete the session.",
  })),
  clientId: optional(session.text({
    name: "client-id",
    placeholder: "ID",
    help: "Id of the session: 1 to 64 letters, digits, hyphens or underscores. Without it: the name of this machine.",
    validate: (id) =>
      CLIENT_ID.test(id)
        ? undefined
        : `Cannot use the client id "${id}": expected 1 to 64 letters, digits, hyphens or underscores`,
  })),
  ackIntervalMs: session.duration({
    name: "ack-interval",
    default: 5000,
    minMs: MIN_ACK_MS,
    help: "Time between two acknowledgements of the frames that were written.",
  }),
  journal: optional(recording.text({
    name: "journal",
    placeholder: "DIR",
    help: "Record every received frame to this directory, regardless of -where and -changes, with numbers of its own.",
  })),
  ...viewOptions,
  ...outputOptions,
  ...programOptions,
};

/** Settings of `vbg dump`. */
export type DumpSettings = SettingsOf<typeof dumpOptions>;

/** Rules over several settings. */
export const dumpChecks: readonly Check<DumpSettings>[] = [
  ...serverChecks,
  ...filterChecks,
  ...whereChecks,
  refuse(
    ["clientId", "bufferTimeoutMs"],
    ({ clientId, bufferTimeoutMs }) =>
      clientId !== undefined && bufferTimeoutMs === undefined &&
      "Cannot use a client id without -buffer-timeout: it is the id of a session",
  ),
];
