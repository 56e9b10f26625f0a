/**
 * `vbg values`: the last message of each kind from each device.
 *
 * @module
 */
import type { DecodedLastValue, Filter, LastValues } from "@vessel/gateway/client";
import { VERSION } from "@vessel/gateway/version";
import {
  type ClientSettings,
  filterChecks,
  type FilterChoice,
  filterOf,
  filterOptions,
  outputOptions,
  serverChecks,
  serverOptions,
} from "../../client/client_options.ts";
import { programOptions } from "../../settings/common_options.ts";
import { boolean } from "../../settings/option_types.ts";
import { EXIT, type Program, type ProgramContext } from "../../program/program.ts";
import { runOnServer, type ServerContext, writeJson, writeJsonLine } from "../../client/server_command.ts";
import { pollServer, watch } from "../../client/server_watch.ts";
import {
  type LabelsChoice,
  labelsOptions,
  type UnitsChoice,
  unitsOf,
  unitsOptions,
} from "../../client/units_options.ts";
import { newValues, valuesText } from "./values_text.ts";

/** Settings of `vbg values`. */
export interface ValuesSettings extends ClientSettings, FilterChoice, UnitsChoice, LabelsChoice {
  watch: boolean;
  decode: boolean;
  raw: boolean;
}

const OUTPUT = "Output";
/** Settings that only the command line has. */
const here = { key: [], environment: false, default: false } as const;

/** Name, operands and settings of `vbg values`. */
export const program: Program<ValuesSettings> = {
  name: "vbg values",
  version: VERSION,
  summary: "shows the newest message of each kind from each device; times are UTC",
  options: {
    ...serverOptions(),
    ...filterOptions(),
    ...outputOptions(),
    decode: boolean({
      name: "decode",
      ...here,
      default: true,
      help: "Show the fields of the payloads; JSON also has the payloads. -decode=false is the same as -raw.",
      group: OUTPUT,
    }),
    raw: boolean({ name: "raw", ...here, help: "Show only the payloads, in hex.", group: OUTPUT }),
    watch: boolean({
      name: "watch",
      ...here,
      help: "Continue until Ctrl-C. On a terminal: update the values each second. JSON: each second a line for each " +
        "device with new values.",
      group: OUTPUT,
    }),
    ...unitsOptions(),
    ...labelsOptions(),
    ...programOptions(),
  },
  checks: [
    ...serverChecks,
    ...filterChecks,
    {
      settings: ["raw", "decode"],
      severity: "error",
      test: ({ raw, decode }, isGiven) =>
        raw && decode && isGiven("decode") ? "Cannot use both -raw and -decode" : undefined,
    },
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
      const get = async (): Promise<Values> =>
        isDecoded
          ? await client.decodedValues(filter, { signal, labels: json && settings.labels })
          : await client.values(filter, { signal });
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
