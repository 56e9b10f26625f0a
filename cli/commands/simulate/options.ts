import { BOAT_DEFAULTS, SIMULATION_PORT, type Slot } from "@vessel/gateway";
import { errorText, formatAddress, MAX_PORT } from "@vessel/gateway/base";
import { authOptions } from "../../settings/auth_options.ts";
import { boatOptions } from "../../settings/boat_options.ts";
import { programOptions, runOptions } from "../../settings/common_options.ts";
import { connectionOptions } from "../../settings/connection_options.ts";
import { journalOptions } from "../../settings/journal_options.ts";
import { flagGroup, optional } from "../../settings/option_types.ts";
import { type Check, refuse, type SettingsOf, warn } from "../../settings/options.ts";
import { sessionOptions } from "../../settings/session_options.ts";
import { doubtSlots, readSlots } from "../../settings/slots.ts";

const replay = flagGroup("Replay");
const network = flagGroup("Network");
/** Keys of slots are written as in the JSON of the API. */
const SLOTS = { path: "slots", joint: "_" } as const;

/** Options of `vbg simulate`. */
export const simulateOptions = {
  file: optional(replay.text({
    name: "file",
    placeholder: "FILE",
    help: "Recording to play: a journal (.lpj), or what vbg convert reads.",
  })),
  dir: optional(replay.text({
    name: "dir",
    placeholder: "DIR",
    help: "Directory of journal files (.lpj) to play, in the order of their names.",
  })),
  speed: replay.number({
    name: "speed",
    default: 1,
    max: 1e6,
    help: "1: the recorded speed, with its pauses. 10: ten times faster. 0: as fast as clients read.",
  }),
  startUs: replay.time({
    name: "start",
    help: "Skip frames before this time. RFC 3339, such as 2024-06-01T12:00:00Z.",
  }),
  loop: replay.boolean({ name: "loop", help: "Start again at the end. Sequence numbers continue." }),
  exitWhenDone: replay.boolean({
    name: "exit-when-done",
    help:
      "Exit after the replay, as soon as clients have read all of it: 0 if all was played, else 1. Waits for sessions " +
      "without a connected client until they expire.",
  }),
  slots: replay.structured<readonly Slot[]>({
    name: "slots",
    placeholder: "JSON",
    default: [],
    help: 'Sessions that begin with the first frame played: [{"id": "x", "buffer_timeout": "1m", "filter": ' +
      '{"pgn": [127250]}}]. Filters have pgn, exclude_pgn, manufacturer, instance, name, exclude_name, bus.',
    parse: (value) => readSlots(value, SLOTS),
    parseText: (value) => readSlots(readJson(value), SLOTS),
    format: (slots) => slots.length === 0 ? undefined : slots.map(({ id }) => id).join(","),
  }),
  deviceIdleTimeoutMs: {
    ...boatOptions.deviceIdleTimeoutMs,
    help: "A device silent for longer, in the time of the recording, is removed. 0: never.",
    group: "Replay",
  },
  listen: {
    ...boatOptions.listen,
    help: "Address of the HTTP server: 127.0.0.1:8090, [::1]:8090, or :8090 for all addresses. Overrides -port.",
  },
  port: network.integer({
    name: "port",
    environment: true,
    default: SIMULATION_PORT,
    max: MAX_PORT,
    help: "Port of the HTTP server on all addresses. 0: any free port; the log says which.",
  }),
  allowOrigins: {
    ...authOptions.allowOrigins,
    help: "Other origins whose web pages may use sessions, such as http://localhost:3000; *: all. Any page may read " +
      "everything else.",
  },
  ...connectionOptions({ most: BOAT_DEFAULTS.mostConnections }),
  maxStreams: boatOptions.maxStreams,
  streamBufferBytes: boatOptions.streamBufferBytes,
  streamMemoryBytes: sessionOptions.streamMemoryBytes,
  maxBodyBytes: sessionOptions.maxBodyBytes,
  bodyTimeoutMs: sessionOptions.bodyTimeoutMs,
  maxHistory: journalOptions.maxHistory,
  maxSeriesPoints: journalOptions.maxSeriesPoints,
  maxSeriesScan: journalOptions.maxSeriesScan,
  maxHistoryRequests: sessionOptions.maxHistoryRequests,
  maxSessions: sessionOptions.maxSessions,
  maxSessionsPerOwner: sessionOptions.maxSessionsPerOwner,
  maxBufferDurationMs: sessionOptions.maxBufferDurationMs,
  ringFrames: boatOptions.ringFrames,
  maxValues: boatOptions.maxValues,
  ...runOptions,
  ...programOptions,
};

/** Settings of `vbg simulate`. */
export type SimulateSettings = SettingsOf<typeof simulateOptions>;

/** Rules that look at several settings. */
export const simulateChecks: readonly Check<SimulateSettings>[] = [
  warn(["slots"], ({ slots }) => doubtSlots(slots)),
  refuse(["file", "dir"], ({ file, dir }) => {
    if (file !== undefined && dir !== undefined) return "Cannot play -file and -dir: expected one of them";
    return file === undefined && dir === undefined ? "Missing recording: expected -file or -dir" : undefined;
  }),
  warn(
    ["exitWhenDone", "loop"],
    ({ exitWhenDone, loop }) => exitWhenDone && loop && "Not used: with -loop the replay never ends",
  ),
  warn(
    ["port", "listen"],
    ({ listen }, isGiven) =>
      listen !== undefined && isGiven("port") && `Not used: -listen ${formatAddress(listen)} overrides it`,
  ),
];

function readJson(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch (error) {
    throw new RangeError(`Cannot read the slots: ${errorText(error)}`);
  }
}
