import { type Clock, systemClock } from "@vessel/gateway/base";
import type { Filter } from "@vessel/gateway/client";
import {
  errorsOf,
  EXIT,
  type InterruptedCode,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stopSignalOf,
} from "../program/program.ts";
import type { Output } from "../program/terminal.ts";
import { doubtBuses } from "../settings/filter_names.ts";
import type { Environment } from "../settings/options.ts";
import { type ChoiceParts, chooseServer, type ChosenServer, discoverOnNetwork } from "./boat_choice.ts";
import { loadClientConfig } from "./client_config.ts";
import { type ClientSettings, wantsJson } from "./client_options.ts";
import { advised } from "./server_advice.ts";

/** The chosen server and the outputs of a command that uses it. */
export interface ServerContext extends ChosenServer {
  output: Output;
  /** For failures and notes on missing data. */
  errors: Output;
  /** For connections, retries and progress; silent with `-quiet`. */
  status: Output;
  /** Whether JSON is printed. */
  json: boolean;
  /** Words of the command line that are not flags. */
  words: readonly string[];
  /** Ends the command. */
  signal: AbortSignal;
  environment: Environment;
  clock: Clock;
  /** Prints a message on standard error. */
  note: (text: string) => void;
  /** Warns about a bus of the filter that the server does not know. */
  doubtFilter(filter: Filter): Promise<void>;
}

/** Runs a command that uses a server, and returns the exit code. Adds advice to errors of the server. */
export async function runOnServer<S extends ClientSettings>(
  program: Program<S>,
  { context, run, checkWords, clientOptions, interrupted = EXIT.interrupted }: {
    context: ProgramContext;
    run: (settings: S, server: ServerContext) => Promise<void>;
    /** Checks the words before a server is searched for. @throws {SettingsError} */
    checkWords?: (words: readonly string[]) => void;
    clientOptions?: (settings: S) => ChoiceParts["options"];
    /** Exit code after Ctrl-C. Default: {@linkcode EXIT.interrupted}; commands that run until Ctrl-C use 0. */
    interrupted?: InterruptedCode<S>;
  },
): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted,
    run: async (settings, words) => {
      checkWords?.(words);
      const options = clientOptions?.(settings);
      const server = await serverContextOf(settings, {
        context,
        name: program.name,
        words,
        ...(options && { options }),
      });
      await run(settings, server).catch((error) => {
        throw advised(error);
      });
    },
  });
}

/** Chooses the server that the settings name. `signal` defaults to {@linkcode stopSignalOf}. */
export async function serverContextOf(
  settings: ClientSettings,
  { context, name, words = [], signal = stopSignalOf(context), ...parts }:
    & { context: ProgramContext; name: string; words?: readonly string[] }
    & Pick<ChoiceParts, "signal" | "options">,
): Promise<ServerContext> {
  const { environment } = context;
  const note = (text: string) => context.printError(`${name}: ${text}`);
  const [output, errors] = [outputOf(context), errorsOf(context)];
  const config = await loadClientConfig({ path: settings.config, environment });
  const discover = discoverOnNetwork;
  const server = await chooseServer(settings, { config, discover, environment, signal, note, ...parts });
  const doubtFilter = async (filter: Filter) => {
    const doubt = await doubtBuses(filter, { client: server.client, signal });
    if (doubt !== undefined) note(doubt);
  };
  const json = wantsJson(settings, output);
  const status = settings.quiet ? silent(errors) : errors;
  const outputs = { output, errors, status, json, note, doubtFilter };
  return { ...server, ...outputs, words, signal, environment, clock: systemClock };
}

/** An output that discards everything. */
function silent({ columns }: Output): Output {
  const flush = () => Promise.resolve();
  const writeBytes = () => Promise.resolve();
  return { isTerminal: false, hasColor: false, columns, write() {}, writeBytes, status() {}, control() {}, flush };
}

/** Prints a value as JSON: indented on a terminal, else on one line. */
export function writeJson(output: Output, value: unknown): Promise<void> | void {
  return output.write(JSON.stringify(value, null, output.isTerminal ? 2 : 0) + "\n");
}

/** Prints a value as one line of JSON. */
export function writeJsonLine(output: Output, value: unknown): Promise<void> | void {
  return output.write(JSON.stringify(value) + "\n");
}
