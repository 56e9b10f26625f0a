/**
 * Prints the manual pages of all programs from their own tables: `deno run -A scripts/man.ts [-out DIR]`.
 *
 * @module
 */
import { parseArgs } from "node:util";
import { boatProgram } from "../cli/boat.ts";
import { cloud } from "../cli/cloud.ts";
import { vbg } from "../cli/vbg.ts";
import { VERSION } from "../src/version.ts";
import { commandsManPage, programManPage } from "./man_page.ts";
import { runScript, scriptWords } from "./script.ts";

const related = (...pages: string[]) => ({ version: VERSION, related: pages });

/** Every page, by the name of its file. */
export const manPages: Record<string, () => string | Promise<string>> = {
  "vbg.1": () => commandsManPage(vbg, { section: 1, ...related("vbg-boat(8)", "vbg-cloud(8)") }),
  "vbg-boat.8": () => programManPage(boatProgram, { section: 8, ...related("vbg(1)", "vbg-cloud(8)") }),
  "vbg-cloud.8": () => commandsManPage(cloud, { section: 8, ...related("vbg(1)", "vbg-boat(8)") }),
};

/** Writes all pages into a folder. Answers their paths. */
export async function writeManPages(out: string): Promise<string[]> {
  await Deno.mkdir(out, { recursive: true });
  const paths: string[] = [];
  for (const [name, print] of Object.entries(manPages)) {
    paths.push(`${out}/${name}`);
    await Deno.writeTextFile(`${out}/${name}`, await print());
  }
  return paths;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: scriptWords(),
    options: { out: { type: "string", default: "dist/man" } },
  });
  for (const path of await writeManPages(values.out)) console.log(path);
}

if (import.meta.main) await runScript("man", main);
