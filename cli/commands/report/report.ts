/**
 * `vbg report`: a page and a zip file for a dealer.
 *
 * @module
 */
import { removeIfExists, writeAll } from "@vessel/gateway/base";
import type { BlackBoxEntry, Client } from "@vessel/gateway/client";
import { JOURNAL_FILE_MODE } from "@vessel/gateway/journal";
import { outputOptions, serverChecks, serverOptions } from "../../client/client_options.ts";
import { ifThere } from "../../client/if_there.ts";
import { runOnServer, writeJson } from "../../client/server_command.ts";
import type { Program, ProgramContext } from "../../program/program.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import type { SettingsOf } from "../../settings/options.ts";
import { collect, type ReportContent } from "./collect.ts";
import { pageOf, type PagePositions } from "./page.ts";
import { copyWithoutPositions, withoutPositions } from "./positions.ts";
import { ZipFile } from "./zip.ts";

const report = flagGroup("Report");

const options = {
  ...serverOptions,
  out: report.text({
    name: "o",
    placeholder: "DIR",
    default: ".",
    help: "Directory of the two files, vbg-report-TIME.html and .zip; created if it does not exist.",
  }),
  noPosition: report.boolean({
    name: "no-position",
    help:
      "Leave out every message that may tell a position: those with a latitude or longitude, those that cannot be decoded, " +
      "and those of makers' own definition. Texts with coordinates are withheld.",
  }),
  ...outputOptions,
  ...programOptions,
};

/** Name, operands and settings of `vbg report`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg report",
  summary: "writes a page and a zip file to send to a dealer: findings, devices, buses, health and the black box",
  options,
  checks: serverChecks,
};

/** Runs `vbg report`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnServer(program, {
    context,
    run: async ({ out, noPosition }, { client, label, clock, output, json, signal }) => {
      const takenAt = new Date(clock.wallUs() / 1000).toISOString();
      const content = await collect(client, { label, takenAt, signal });
      await Deno.mkdir(out, { recursive: true });
      const name = `vbg-report-${takenAt.replace(/\.\d+/, "").replaceAll(/[-:]/g, "")}`;
      const files = await writeReport(noPosition ? withoutPositions(content) : content, {
        ...{ client, signal, noPosition },
        paths: { page: `${out}/${name}.html`, zip: `${out}/${name}.zip` },
      });
      if (json) await writeJson(output, files);
      else await output.write(`Wrote ${files.page} and ${files.zip}\n`);
    },
  });
}

interface Target {
  client: Client;
  signal: AbortSignal;
  noPosition: boolean;
  paths: { page: string; zip: string };
}

/** Writes both files. After an error there is none. */
async function writeReport(content: ReportContent, target: Target): Promise<Target["paths"]> {
  const { paths } = target;
  const zip = await ZipFile.create(paths.zip, { mode: JOURNAL_FILE_MODE });
  const folder = await Deno.makeTempDir({ prefix: "vbg_report_" });
  try {
    const { events, positions } = await addBlackBox(zip, { content, target, folder });
    const page = pageOf({ ...content, events }, positions);
    await zip.addText("report.html", page);
    const { doctor, health, devices, alerts } = content;
    const lists = { doctor, health, devices, alerts, blackbox: events };
    for (const [name, list] of Object.entries(lists)) {
      if (list !== undefined) await zip.addText(`${name}.json`, JSON.stringify(list, null, 2));
    }
    await zip.end();
    await Deno.writeTextFile(paths.page, page, { createNew: true, mode: JOURNAL_FILE_MODE });
    return paths;
  } catch (error) {
    zip.abandon();
    await removeIfExists(paths.zip);
    throw error;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Adds the files of the black box. Those that are deleted meanwhile are not in the report. */
async function addBlackBox(
  zip: ZipFile,
  { content, target: { client, signal, noPosition }, folder }: {
    content: ReportContent;
    target: Target;
    folder: string;
  },
): Promise<{ events: BlackBoxEntry[]; positions: PagePositions }> {
  const events: BlackBoxEntry[] = [];
  const removed = new Map<string, number>();
  const path = `${folder}/original.lpj`;
  for (const event of content.events) {
    const { name } = event;
    if (await ifThere(download(client.blackBoxFile(name, { signal }), path)) === undefined) continue;
    events.push(event);
    if (!noPosition) {
      await zip.addFile(`blackbox/${name}`, (await Deno.open(path)).readable);
      continue;
    }
    const copy = await copyWithoutPositions(path, { directory: folder, name });
    removed.set(name, copy.removed);
    if (copy.kept === 0) continue;
    await zip.addFile(`blackbox/${name}`, (await Deno.open(`${folder}/${name}`)).readable);
    await Deno.remove(`${folder}/${name}`);
  }
  return { events, positions: noPosition ? { kind: "removed", removed } : { kind: "included" } };
}

async function download(pieces: AsyncIterable<Uint8Array>, path: string): Promise<string> {
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  for await (const piece of pieces) await writeAll(file, piece);
  return path;
}
