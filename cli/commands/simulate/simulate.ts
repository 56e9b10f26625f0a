/**
 * `vbg simulate`: plays a recording as a boat server.
 *
 * @module
 */
import {
  ConvertError,
  convertRecordings,
  ReplayError,
  type ServerLimits,
  type ServerOptions,
  type Simulation,
  type SimulationOptions,
  startSimulation,
} from "@vessel/gateway";
import { errorText } from "@vessel/gateway/base";
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
import { startAdvised, urlOf } from "../../program/server_start.ts";
import { listenAddress } from "../../settings/boat_options.ts";
import { definedOnly } from "../../settings/options.ts";
import { serverLimits, serverOptionsOf } from "../../settings/session_options.ts";
import { formatReport } from "../convert/report.ts";
import { simulateChecks, simulateOptions, type SimulateSettings } from "./options.ts";

/** Name, help and settings of the command. */
export const program: ServerProgram<SimulateSettings> = {
  name: "vbg simulate",
  permissions: PERMISSIONS.vbg,
  summary: "plays a recording as a boat server; sending is disabled",
  options: simulateOptions,
  checks: simulateChecks,
};

/** First bytes of a journal. */
const JOURNAL_MAGIC = "LPJ";

/** Runs the command until it is stopped, or until the replay is done, and returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await serve(program, (settings, parts) => start(settings, { ...parts, context }), context);
}

/** The files to play, and the temporary directory to remove afterwards. */
interface Recording {
  files: readonly string[];
  temporary?: string;
}

async function start(
  settings: SimulateSettings,
  { log, stopping, context }: Starting & { context: ProgramContext },
): Promise<Running<SimulateSettings>> {
  const recording = await open(settings, { stopping, context }).catch(asSettingsError);
  const removeTemporary = async () => {
    if (recording.temporary !== undefined) await Deno.remove(recording.temporary, { recursive: true });
  };
  try {
    const options = simulationOptions(settings, recording.files);
    const simulation = await startSimulation({ ...options, log }).catch(asSettingsError);
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

type OwnOptions = Omit<SimulationOptions, keyof ServerLimits | keyof ServerOptions>;

/** The library's options, without the log. */
export function simulationOptions(settings: SimulateSettings, files: readonly string[]): SimulationOptions {
  return {
    ...serverLimits(settings),
    ...serverOptionsOf(settings),
    ...definedOnly<OwnOptions>({
      files,
      startUs: settings.startUs,
      speed: settings.speed,
      loop: settings.loop,
      ringFrames: settings.ringFrames,
      maxValues: settings.maxValues,
      slots: settings.slots,
      listen: listenAddress(settings),
    }),
  };
}

async function open(
  { file, dir }: SimulateSettings,
  { stopping, context }: { stopping: AbortSignal; context: ProgramContext },
): Promise<Recording> {
  if (dir !== undefined) return { files: [dir] };
  if (file === undefined) throw new ReplayError("Missing recording");
  if (await isJournal(file)) return { files: [file] };
  const temporary = await Deno.makeTempDir({ prefix: "vbg-simulate-" });
  try {
    const path = `${temporary}/recording.lpj`;
    const input = await Deno.open(file);
    const chunks = input.readable.pipeThrough(new TransformStream<Uint8Array>(), { signal: stopping });
    const summary = await convertRecordings([{ name: file, chunks }], { to: { kind: "file", path } });
    context.printError(formatReport(summary));
    if (summary.files.length === 0) throw new ReplayError(`Cannot play "${file}": it has no messages`);
    return { files: [path], temporary };
  } catch (error) {
    await Deno.remove(temporary, { recursive: true });
    stopping.throwIfAborted();
    throw error;
  }
}

async function isJournal(path: string): Promise<boolean> {
  try {
    // Reading from a pipe would consume its bytes.
    if (!(await Deno.stat(path)).isFile) return false;
    using file = await Deno.open(path);
    const bytes = new Uint8Array(JOURNAL_MAGIC.length);
    await file.read(bytes);
    return new TextDecoder().decode(bytes) === JOURNAL_MAGIC;
  } catch (error) {
    throw new ReplayError(`Cannot play "${path}": ${errorText(error)}`);
  }
}

/** A recording that cannot be played is a wrong setting. */
function asSettingsError(error: unknown): never {
  const isSetting = error instanceof ReplayError || error instanceof ConvertError;
  throw isSetting ? new SettingsError(error.message, { cause: error }) : error;
}

/** Waits for the replay and for its readers; returns the exit code. */
async function finish({ replayed, drained }: Simulation): Promise<number> {
  const state = await replayed;
  if (state.kind === "ended") await drained();
  return state.kind === "ended" && state.damaged === 0 ? EXIT.ok : EXIT.failure;
}
