/**
 * `vbg simulate`: plays a recording through the server of a boat.
 *
 * @module
 */
import { errorText } from "@vessel/gateway/base";
import {
  ConvertError,
  convertRecordings,
  ReplayError,
  type Simulation,
  startSimulation,
  VERSION,
} from "@vessel/gateway";
import { listenAddress } from "../../settings/boat_options.ts";
import { formatReport } from "../convert/report.ts";
import { PERMISSIONS } from "../../program/permissions.ts";
import {
  EXIT,
  type ProgramContext,
  type Running,
  serve,
  type ServerProgram,
  SettingsError,
  type Starting,
} from "../../program/program.ts";
import { simulateChecks, simulateOptions, type SimulateSettings } from "./options.ts";
import { startAdvised } from "../../program/start_advice.ts";
import { urlOf } from "../../program/url_of.ts";

/** The command's name, words and settings. */
export const program: ServerProgram<SimulateSettings> = {
  name: "vbg simulate",
  version: VERSION,
  permissions: PERMISSIONS.vbg,
  summary: "plays a recording through the server of a boat; nothing can be sent",
  options: simulateOptions,
  checks: simulateChecks,
};

/** First bytes of a journal. */
const JOURNAL_MAGIC = "LPJ";

/** Runs the command until it is stopped, or until the replay is done. Answers the exit code. */
export async function run(around: ProgramContext): Promise<number> {
  return await serve(program, (settings, parts) => start(settings, { ...parts, around }), around);
}

/** What is played, and the directory to be removed afterwards where there is one. */
interface Recording {
  files: readonly string[];
  temporary?: string;
}

async function start(
  settings: SimulateSettings,
  { log, stopping, around }: Starting & { around: ProgramContext },
): Promise<Running<SimulateSettings>> {
  const recording = await open(settings, { stopping, around }).catch(asSettingsError);
  const removeTemporary = async () => {
    if (recording.temporary !== undefined) await Deno.remove(recording.temporary, { recursive: true });
  };
  try {
    const { file: _, dir: _dir, start: startUs, ...rest } = settings;
    const listen = listenAddress(settings);
    const simulation = await startSimulation({ ...rest, files: recording.files, startUs, listen, log })
      .catch(asSettingsError);
    log.info("listening", { url: urlOf(simulation.address) });
    return {
      reload: () => {},
      ...(settings.exitWhenDone && { done: finish(simulation) }),
      stop: async () => {
        await simulation.stop();
        await removeTemporary();
      },
    };
  } catch (error) {
    await removeTemporary();
    throw startAdvised(error);
  }
}

async function open(
  { file, dir }: SimulateSettings,
  { stopping, around }: { stopping: AbortSignal; around: ProgramContext },
): Promise<Recording> {
  if (dir !== undefined) return { files: [dir] };
  if (file === undefined) throw new ReplayError("There is nothing to play");
  if (await isJournal(file)) return { files: [file] };
  const temporary = await Deno.makeTempDir({ prefix: "vbg-simulate-" });
  try {
    const path = `${temporary}/recording.lpj`;
    const input = await Deno.open(file);
    const chunks = input.readable.pipeThrough(new TransformStream<Uint8Array>(), { signal: stopping });
    const summary = await convertRecordings([{ name: file, chunks }], { to: { kind: "file", path } });
    around.complain(formatReport(summary));
    if (summary.files.length === 0) throw new ReplayError(`Cannot play "${file}": it has no message`);
    return { files: [path], temporary };
  } catch (error) {
    await Deno.remove(temporary, { recursive: true });
    stopping.throwIfAborted();
    throw error;
  }
}

async function isJournal(path: string): Promise<boolean> {
  try {
    // What is read of a pipe is gone from it.
    if (!(await Deno.stat(path)).isFile) return false;
    using file = await Deno.open(path);
    const bytes = new Uint8Array(JOURNAL_MAGIC.length);
    await file.read(bytes);
    return new TextDecoder().decode(bytes) === JOURNAL_MAGIC;
  } catch (error) {
    throw new ReplayError(`Cannot play "${path}": ${errorText(error)}`);
  }
}

/** What cannot be played was named by a setting. */
function asSettingsError(error: unknown): never {
  const isSetting = error instanceof ReplayError || error instanceof ConvertError;
  throw isSetting ? new SettingsError(error.message, { cause: error }) : error;
}

/** Waits for the replay and for those who read it. */
async function finish({ replayed, drained }: Simulation): Promise<number> {
  const state = await replayed;
  if (state.kind === "ended") await drained();
  return state.kind === "ended" && state.damaged === 0 ? EXIT.ok : EXIT.failure;
}
