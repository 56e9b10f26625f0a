/**
 * `vbg values`: the last message of each kind from each device.
 *
 * @module
 */
import type { DecodedLastValue, Filter, LastValues } from "@vessel/gateway/client";
import {
  filterChecks,
  filterOf,
  filterOptions,
  labelsOptions,
  outputOptions,
  serverChecks,
  serverOptions,
  unitsOf,
  unitsOptions,
} from "../../client/client_options.ts";
import { atChecks, atOptions, timeOf } from "../../client/time_option.ts";
import { runOnServer, type ServerContext, writeJson, writeJsonLine } from "../../client/server_command.ts";
import { pollServer, watch } from "../../client/server_watch.ts";
import { EXIT, type Program, type ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import { refuse, type SettingsOf } from "../../settings/options.ts";
import { newValues, valuesText } from "./values_text.ts";

const flags = flagGroup("Output");

const options = {
  ...serverOptions,
  ...filterOptions,
  ...outputOptions,
  decode: flags.boolean({
    name: "decode",
    default: true,
    help: "Show the fields of the payloads; JSON also has the payloads. -decode=false is the same as -raw.",
  }),
  raw: flags.boolean({ name: "raw", help: "Show only the payloads, in hex." }),
  watch: flags.boolean({
    name: "watch",
    help: "Continue until Ctrl-C. On a terminal: update the values each second. JSON: each second a line for each " +
      "device with new values.",
  }),
  ...unitsOptions,
  ...labelsOptions,
  ...atOptions,
  ...programOptions,
};

/** Name, operands and settings of `vbg values`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg values",
  summary: "shows the newest message of each kind from each device; times are UTC",
  options,
  checks: [
    ...serverChecks,
    ...filterChecks,
    ...atChecks,
    refuse(
      ["raw", "decode"],
      ({ raw, decode }, isGiven) => raw && decode && isGiven("decode") && "Cannot use both -raw and -decode",
    ),
  ],
};

type Values = LastValues<DecodedLastValue>[];

/** Runs `vbg values`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    interrupted: ({ watch }) => watch ? EXIT.ok : EXIT.interrupted,
    run: async (settings, server) => {
      const { output, json, client, signal } = server;
      const isDecoded = settings.decode && !settings.raw;
      const filter: Filter = filterOf(settings, server.exclusions);
      await server.doubtFilter(filter);
      const source = settings.at ? client.at(timeOf(settings.at, server.clock.wallUs() / 1000)) : client;
      const get = async (): Promise<Values> =>
        isDecoded
          ? await source.decodedValues(filter, { signal, labels: json && settings.labels })
          : await source.values(filter, { signal });
      const units = unitsOf(settings, output);
      const text = async () => valuesText(await get(), { width: output.columns, color: output.hasColor, units });
      if (settings.watch) return json ? await printNew(server, get) : await watch(server, text);
      await (json ? writeJson(output, await get()) : output.write(await text() + "\n"));
    },
  });
}

async function printNew({ output, status, signal }: ServerContext, get: () => Promise<Values>): Promise<never> {
  let before: Values = [];
  return await pollServer({ signal }, {
    poll: async () => {
      const now = await get();
      for (const device of newValues(now, before)) await writeJsonLine(output, device);
      before = now;
    },
    onFailure: (error) => status.write(`${error.message}\n`),
  });
}
