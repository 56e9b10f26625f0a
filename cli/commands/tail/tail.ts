/**
 * `vbg tail`: follows the frames of a boat, and first shows the last ones.
 *
 * @module
 */
import { errorText } from "@vessel/gateway/base";
import {
  ApiError,
  type Client,
  type ClientFrame,
  type Filter,
  type Reading,
  type StreamEvent,
} from "@vessel/gateway/client";
import {
  filterChecks,
  filterOf,
  filterOptions,
  outputOptions,
  serverChecks,
  serverOptions,
  unitsOf,
} from "../../client/client_options.ts";
import { runOnServer, type ServerContext } from "../../client/server_command.ts";
import { EXIT, type Program, type ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { LiveView } from "../dump/live.ts";
import { reconnectOptions, retryOf, viewOptions, whereChecks } from "../dump/options.ts";
import { DumpView } from "../dump/view.ts";
import { lastFrames } from "./history.ts";

const frames = flagGroup("Frames");

const MAX_LAST = 100_000;

const options = {
  ...serverOptions,
  ...reconnectOptions,
  ...filterOptions,
  last: frames.integer({
    name: "last",
    default: 0,
    max: MAX_LAST,
    help: "Number of recorded frames to show first: the newest that match the filter, at most one day old.",
  }),
  ...viewOptions,
  ...outputOptions,
  ...programOptions,
};

type TailSettings = SettingsOf<typeof options>;

/** Name, operands and settings of `vbg tail`. */
export const program: Program<TailSettings> = {
  name: "vbg tail",
  summary: "follows the frames of a boat until Ctrl-C, optionally after the last recorded ones",
  options,
  checks: [...serverChecks, ...filterChecks, ...whereChecks],
};

/** Runs `vbg tail`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    interrupted: EXIT.ok,
    clientOptions: (settings) => ({ retry: retryOf(settings) }),
    run: tail,
  });
}

async function tail(settings: TailSettings, server: ServerContext): Promise<void> {
  const { client, output, json, note, signal, serverText, exclusions } = server;
  const units = unitsOf(settings, output);
  const view = new DumpView({ ...settings, where: settings.where?.where, output, json, units });
  const filter = filterOf(settings, exclusions);
  const live = new LiveView({ client, view, note, isQuiet: settings.quiet, serverText, filter });
  const events = client.subscribe(filter, { devices: true }).events();
  const following = settings.last === 0
    ? events
    : withRecorded(events, { client, filter, count: settings.last, signal, note });
  await live.run(following, signal);
}

interface RecordedStart {
  client: Client;
  filter: Filter;
  count: number;
  signal: AbortSignal;
  note: (text: string) => void;
}

/**
 * The same events, with recorded frames after the first connection. Live frames wait meanwhile, so that no frame is
 * missing or shown twice.
 */
function withRecorded(events: Reading<StreamEvent>, last: RecordedStart): Reading<StreamEvent> {
  const joined = join(events, last);
  const reading: Reading<StreamEvent> = {
    next: () => joined.next(),
    return: async () => {
      await events.return();
      return await joined.return();
    },
    [Symbol.asyncIterator]: () => reading,
  };
  return reading;
}

async function* join(events: Reading<StreamEvent>, last: RecordedStart): AsyncGenerator<StreamEvent, void, undefined> {
  let shown: ClientFrame | undefined;
  let isJoined = false;
  for await (const event of events) {
    if (event.type === "frame" && shown && event.frame.seq <= shown.seq) continue;
    // After the first newer frame, smaller numbers belong to a new epoch.
    if (event.type === "frame" || event.type === "new_epoch") shown = undefined;
    yield event;
    if (event.type !== "connected" || isJoined) continue;
    isJoined = true;
    for (const frame of await recorded(last)) {
      shown = frame;
      yield { type: "frame", frame };
    }
  }
}

async function recorded({ client, filter, count, signal, note }: RecordedStart): Promise<ClientFrame[]> {
  try {
    const frames = await lastFrames(client, { count, filter, nowMs: await newestMs(client, signal), signal });
    if (frames === undefined) note("the server has no journal: only new frames are shown");
    return frames ?? [];
  } catch (error) {
    signal.throwIfAborted();
    note(`cannot read the last frames: ${errorText(error)}`);
    return [];
  }
}

/** Time of the newest frame by the server's clock; our own clock for a cloud, and before the first frame. */
async function newestMs(client: Client, signal: AbortSignal): Promise<number> {
  try {
    const { last_frame_at: last } = await client.health({ signal });
    return last === null ? Date.now() : Date.parse(last);
  } catch (error) {
    if (error instanceof ApiError) return Date.now();
    throw error;
  }
}
