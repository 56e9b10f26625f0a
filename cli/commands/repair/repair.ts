/**
 * `vbg repair`: writes the readable part of a damaged journal into complete files.
 *
 * @module
 */
import { errorText } from "@vessel/gateway/base";
import { BlockError, JOURNAL_DIRECTORY_MODE } from "@vessel/gateway/journal";
import { outputOptions } from "../../client/client_options.ts";
import { type Program, type ProgramContext, SettingsError } from "../../program/program.ts";
import { printable } from "../../program/terminal.ts";
import { programOptions } from "../../settings/common_options.ts";
import { flagGroup } from "../../settings/option_types.ts";
import { refuse, type SettingsOf } from "../../settings/options.ts";
import { count, type FoundFile, rangeText } from "../inspect/file.ts";
import { runOnFiles } from "../inspect/run.ts";
import { type RepairedFile, repairFile, type RepairOptions, RepairState } from "./file.ts";
import { repairHeader } from "./header.ts";

const flags = flagGroup("Output files");

const options = {
  out: flags.text({
    name: "out",
    placeholder: "DIR",
    help: "Directory of the new files, created if missing. Existing files are never overwritten.",
  }),
  ...outputOptions,
  ...programOptions,
};

/** Name, operands and settings of `vbg repair`. */
export const program: Program<SettingsOf<typeof options>> = {
  name: "vbg repair",
  summary:
    "copies the readable part of journal files (.lpj), or of all files of directories, to complete files of the same " +
    "names in another directory. Write-ahead logs become files of their own. Lost frames are reported, and declared " +
    "as gaps in the new journal. The input is never changed. Exit code 1: nothing of a file can be read",
  options,
  checks: [refuse(["out"], ({ out }) => out === "" && "Missing output directory: expected -out DIR")],
  positionals: "FILE|DIR ...",
};

/** Runs `vbg repair`. Returns the exit code. */
export async function run(context: ProgramContext): Promise<number> {
  return await runOnFiles(program, {
    context,
    hangUp: true,
    run: async ({ out: directory }, { found, output, json, onBytes }) => {
      await requireFreeNames(found, directory);
      const state = new RepairState();
      const files: RepairedFile[] = [];
      for (const file of found) files.push(await repairOne(file, { directory, name: file.name, state, onBytes }));
      await output.write(`${json ? formatJson(files) : files.map(describe).join("\n")}\n`);
      return files.every(({ out }) => out !== undefined);
    },
  });
}

/** Checks before writing that no output file exists. */
async function requireFreeNames(found: readonly FoundFile[], directory: string): Promise<void> {
  await Deno.mkdir(directory, { recursive: true, mode: JOURNAL_DIRECTORY_MODE });
  const taken = new Set<string>();
  for await (const { name } of Deno.readDir(directory)) taken.add(name);
  for (const { name } of found) {
    if (taken.has(name)) {
      throw new SettingsError(`Cannot write "${directory}/${name}": it exists, or two inputs have this name`);
    }
    taken.add(name);
  }
}

async function repairOne({ path, open }: FoundFile, options: RepairOptions): Promise<RepairedFile> {
  try {
    return await repairFile(await open(), options);
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    return await repairWithoutHeader(path, { ...options, why: errorText(error) });
  }
}

/** Repairs a file with a damaged header: the header is derived from the blocks. */
async function repairWithoutHeader(
  path: string,
  { why, ...options }: RepairOptions & { why: string },
): Promise<RepairedFile> {
  const copy = `${options.directory}/.${options.name}.damaged`;
  try {
    await Deno.copyFile(path, copy);
    const file = await repairHeader(copy);
    if (file) {
      const result = await repairFile(file, options);
      const lost = [{ what: `${why}: its header is derived from its blocks` }, ...result.lost];
      return { ...result, path, lost };
    }
    options.state.lose();
    return { path, out: undefined, blocks: 0, frames: 0, lost: [{ what: why }], missing: [] };
  } finally {
    await Deno.remove(copy).catch(() => {});
  }
}

function describe({ path, out, blocks, frames, lost, missing }: RepairedFile): string {
  const what = out === undefined ? "nothing of it can be read" : `${count(blocks, "block")}, ${count(frames, "frame")}`;
  return [
    `${path}: ${what}${lost.length === 0 ? ", nothing was lost" : ""}`,
    ...lost.map(({ offset, what }) => `  lost: ${offset === undefined ? "" : `byte ${offset}: `}${what}`),
    ...missing.map(({ first, last }) => `  missing: ${rangeText(first, last)} (${count(last - first + 1, "frame")})`),
    ...out === undefined ? [] : [`  written: ${out}`],
  ].map(printable).join("\n");
}

function formatJson(files: readonly RepairedFile[]): string {
  return JSON.stringify({ files: files.map(({ out, ...file }) => ({ ...file, out: out ?? null })) });
}
