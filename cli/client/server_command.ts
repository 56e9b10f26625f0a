import type { Filter } from "@vessel/gateway/client";
import { type Clock, systemClock } from "@vessel/gateway/base";
import { chooseServer, type ChosenServer, discoverOnNetwork } from "./boat_choice.ts";
import { loadClientConfig } from "./client_config.ts";
import { type ClientSettings, wantsJson } from "./client_options.ts";
import { doubtBuses } from "../settings/filter_names.ts";
import type { Environment } from "../settings/options.ts";
import {
  errorsOf,
  EXIT,
  type InterruptedCode,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stoppedBy,
} from "../program/program.ts";
import { advised } from "./server_advice.ts";
import type { Output } from "../program/terminal.ts";

/** What a command that asks a server has. */
export interface Asking extends ChosenServer {
  output: Output;
  /** For what is not the answer: failures, and what is missing of it … */
  errors: Output;
  /** … and connections, retries and progress, which -quiet leaves out. */
  status: Output;
  /** Whether JSON is printed. */
  json: boolean;
  /** Words of the command line that are no flags. */
  words: readonly string[];
  /** Ends the command. */
  signal: AbortSignal;
  environment: Environment;
  clock: Clock;
  /** Reports a bus of a filter that the server does not seem to have. */
  doubtFilter(filter: Filter): Promise<void>;
}

/** Runs a command that asks a server. Answers the exit code; a refusal is told with what to do about it. */
export async function runOnServer<S extends ClientSettings>(
  program: Program<S>,
  { around, run, checkWords, interrupted = EXIT.interrupted }: {
    around: ProgramContext;
    run: (settings: S, asking: Asking) => Promise<void>;
    /** Looks at the words before a server is looked for. @throws {SettingsError} one is wrong */
    checkWords?: (words: readonly string[]) => void;
    /** Default: a question was not answered to its end. What goes on until Ctrl-C has 0. */
    interrupted?: InterruptedCode<S>;
  },
): Promise<number> {
  return await runOnce(program, {
    around,
    interrupted,
    run: async (settings, words) => {
      checkWords?.(words);
      const asking = { ...await askingOf(settings, { around, name: program.name }), words };
      try {
        await run(settings, asking);
        return EXIT.ok;
      } catch (error) {
        throw advised(error);
      } finally {
        await asking.output.flush();
      }
    },
  });
}

/** Chooses the server that the settings name. */
export async function askingOf(
  settings: ClientSettings,
  { around, name }: { around: ProgramContext; name: string },
): Promise<Omit<Asking, "words">> {
  const { environment } = around;
  const note = (text: string) => around.complain(`${name}: ${text}`);
  const [output, errors, signal] = [outputOf(around), errorsOf(around), stoppedBy(around)];
  const config = await loadClientConfig({ path: settings.config, environment });
  const server = await chooseServer(settings, { config, discover: discoverOnNetwork, environment, signal, note });
  const doubtFilter = async (filter: Filter) => {
    const doubt = await doubtBuses(filter, { client: server.client, signal });
    if (doubt !== undefined) note(doubt);
  };
  const json = wantsJson(settings, output);
  const status = settings.quiet ? silent(errors) : errors;
  return { ...server, output, errors, status, json, signal, environment, clock: systemClock, doubtFilter };
}

/** An output that shows nothing. */
function silent({ columns }: Output): Output {
  const flush = () => Promise.resolve();
  return { isTerminal: false, hasColor: false, columns, write() {}, status() {}, control() {}, flush };
}

/** Prints a value as JSON: for a person with line breaks, else as one line. */
export function writeJson(output: Output, value: unknown): Promise<void> | void {
  return output.write(JSON.stringify(value, null, output.isTerminal ? 2 : 0) + "\n");
}

/** Prints a value as a line of JSON: one of many. */
export function writeJsonLine(output: Output, value: unknown): Promise<void> | void {
  return output.write(JSON.stringify(value) + "\n");
}
