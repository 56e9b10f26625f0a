/**
 * `vbg values`: the newest value of everything.
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
import { type Asking, runOnServer, writeJson, writeJsonLine } from "../../client/server_command.ts";
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
      help: "Show the fields of the payloads, in JSON beside them; -decode=false is -raw.",
      group: OUTPUT,
    }),
    raw: boolean({ name: "raw", ...here, help: "Show the payloads alone, as hex.", group: OUTPUT }),
    watch: boolean({
      name: "watch",
      ...here,
      help: "Go on: on a terminal the values are shown anew each second. As JSON: a line each second for each device " +
        "that has sent something, with what is new.",
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
export async function run(around: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    around,
    interrupted: ({ watch }) => watch ? EXIT.ok : EXIT.interrupted,
    run: async (settings, asking) => {
      const { output, json, client, signal } = asking;
      const isDecoded = settings.decode && !settings.raw;
      const filter: Filter = filterOf(settings, asking.exclusions);
      await asking.doubtFilter(filter);
      const get = async (): Promise<Values> =>
        isDecoded
          ? await client.decodedValues(filter, { signal, labels: json && settings.labels })
          : await client.values(filter, { signal });
      const units = unitsOf(settings, output);
      const text = async () => valuesText(await get(), { width: output.columns, color: output.hasColor, units });
      if (settings.watch) return json ? await tellNew(asking, get) : await watch(asking, text);
      await (json ? writeJson(output, await get()) : output.write(await text() + "\n"));
    },
  });
}

async function tellNew({ output, status, signal }: Asking, get: () => Promise<Values>): Promise<never> {
  let before: Values = [];
  return await pollServer({ signal }, {
    look: async () => {
      const now = await get();
      for (const device of newValues(now, before)) await writeJsonLine(output, device);
      before = now;
    },
    lost: (error) => status.write(`${error.message}\n`),
  });
}
