/**
 * `vbg voyages`: lists the voyages of a boat.
 *
 * @module
 */
import { systemClock } from "@vessel/gateway/base";
import { gpxOf, trackFileName, type VoyageReport } from "@vessel/gateway/voyages";
import { advised } from "../../client/server_advice.ts";
import { serverContextOf, writeJson } from "../../client/server_command.ts";
import {
  EXIT,
  outputOf,
  type Program,
  type ProgramContext,
  runOnce,
  stopSignalOf,
  UsageError,
} from "../../program/program.ts";
import { isStoreUrl } from "../../settings/store_endpoint.ts";
import { timeOf, type When } from "../../client/time_option.ts";
import { DEFAULT_FROM, voyagesChecks, voyagesOptions, type VoyagesSettings } from "./options.ts";
import { reportText } from "./report_text.ts";

/** Name, operands and settings of `vbg voyages`. */
export const program: Program<VoyagesSettings> = {
  name: "vbg voyages",
  summary:
    "lists when a boat was under way, at anchor and in port, with distance, speeds, engine hours, fuel and wind " +
    "of each voyage: of a server, or of files as vbg dump reads them",
  options: voyagesOptions,
  checks: voyagesChecks,
  positionals: "[FILE|DIR|URL ...]",
};

/** Voyages, and how to get the track of each. */
interface Found {
  report: VoyageReport;
  /** GPX of the voyage with this index, in pieces. */
  gpx: (index: number) => AsyncIterable<string> | Promise<readonly string[]>;
}

/** Runs `vbg voyages`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnce(program, {
    context,
    interrupted: EXIT.interrupted,
    run: async (settings, paths) => {
      const problem = findProblem(settings, paths);
      if (problem !== undefined) throw new UsageError(problem);
      try {
        const found = await (paths.length > 0 ? ofFiles(settings, { paths, context }) : ofServer(settings, context));
        await print(settings, { found, context });
      } catch (error) {
        throw advised(error);
      }
    },
  });
}

function findProblem({ server, boat, cloud, storeEndpoint }: VoyagesSettings, paths: readonly string[]) {
  if (paths.length === 0) {
    return storeEndpoint === "" ? undefined : "Cannot use -store-endpoint without the URL of an object store";
  }
  const flags = {
    "-server": server,
    "-boat": paths.every(isStoreUrl) ? undefined : boat,
    "-cloud": cloud || undefined,
  };
  const [flag] = Object.entries(flags).find(([, value]) => value !== undefined) ?? [];
  return flag === undefined ? undefined : `Cannot use ${flag} with files: they are read without a server`;
}

async function print(
  { format, gpx }: VoyagesSettings,
  { found: { report, gpx: gpxOfVoyage }, context }: { found: Found; context: ProgramContext },
): Promise<void> {
  const output = outputOf(context);
  if (gpx !== undefined) {
    await Deno.mkdir(gpx, { recursive: true });
    for (const [i, { start }] of report.voyages.entries()) {
      using file = await Deno.open(`${gpx}/${trackFileName(start)}`, { write: true, create: true, truncate: true });
      const writer = file.writable.getWriter();
      const encoder = new TextEncoder();
      for await (const text of await gpxOfVoyage(i)) await writer.write(encoder.encode(text));
      await writer.close();
    }
  }
  if (format === "json") await writeJson(output, report);
  else await output.write(reportText(report, { width: output.columns, color: output.hasColor }) + "\n");
}

async function ofServer({ from, to, ...settings }: VoyagesSettings, context: ProgramContext): Promise<Found> {
  const server = await serverContextOf({ ...settings, json: settings.format === "json" }, {
    context,
    name: program.name,
  });
  const { client, signal, clock } = server;
  const nowMs = clock.wallUs() / 1000;
  const report = await client.voyages({
    from: timeOf(from ?? DEFAULT_FROM, nowMs),
    ...(to !== undefined && { to: timeOf(to, nowMs) }),
  }, { signal });
  const gpx = async (index: number) => [await client.voyageTrack(report.voyages[index]?.start ?? "", { signal })];
  return { report, gpx };
}

async function ofFiles(
  { from, to, boat, storeEndpoint: endpoint }: VoyagesSettings,
  { paths, context }: { paths: readonly string[]; context: ProgramContext },
): Promise<Found> {
  const { findVoyages } = await import("./offline.ts");
  const nowMs = systemClock.wallUs() / 1000;
  const msOf = (time: When | undefined) => time === undefined ? undefined : Date.parse(timeOf(time, nowMs));
  const { report, tracks } = await findVoyages({
    paths,
    store: { boat, endpoint },
    note: (text: string) => context.printError(`${program.name}: ${text}`),
    signal: stopSignalOf(context),
  }, { fromMs: msOf(from), toMs: msOf(to) });
  return { report, gpx: (index) => gpxOf(tracks.slice(index, index + 1)) };
}
