/**
 * Generates the reference pages of docs/ from the programs' tables: `deno task docs`.
 *
 * @module
 */
import { boatProgram } from "../cli/boat.ts";
import { cloud } from "../cli/cloud.ts";
import { type CommandSet, loadCommands } from "../cli/program/dispatch.ts";
import { formatFlags, formatReference, usageLine } from "../cli/program/help.ts";
import { vbg } from "../cli/vbg.ts";
import { decodingPage } from "./decoding_page.ts";
import { limitsPage } from "./limits_page.ts";

const FLAGS =
  "A flag is written `-name value`, `-name=value`, or with two dashes. A switch needs no value; `-name=false` turns it off. A flag given twice: the last one counts. A flag wins over its environment variable, where there is one. Durations: `5m`, `1h30m`, `250ms`, or ISO 8601 such as `PT5M`. Sizes: bytes, `10GB`, or `512KiB`. Exit code: 0 when all went well, also when Ctrl-C ends what runs until then and when whoever read the output has gone (`| head`), 2 for a wrong command line, 130 for work that Ctrl-C interrupted, 1 for any other failure. A second Ctrl-C ends a command at once, with 130; a server ends within 5 seconds of the first, or of the end of its drain (`-drain-time`).";

/** The reference page of a program with commands: a section for each. `about` describes the program. */
async function commandsPage(set: CommandSet, about: string): Promise<string> {
  const { name } = set;
  const sections = (await loadCommands(set)).map(({ program }) => {
    const usage = usageLine(program).replace(/^Usage: /, "");
    return `## ${program.name}\n\n\`${usage}\` ${program.summary}.\n\n${formatFlags(program, { heading: "###" })}`;
  });
  const head = [
    "<!-- Printed by scripts/docs.ts from the commands' own tables. Do not edit. -->",
    `# ${name}`,
    `${about} \`${name} help\` lists the commands, \`${name} COMMAND -help\` shows one's flags.`,
    FLAGS,
  ];
  return `${[...head, ...sections].join("\n\n")}\n`;
}

/** Every page, by its path in the project. */
export const pages: Record<string, () => string | Promise<string>> = {
  "docs/boat.md": () => formatReference(boatProgram),
  "docs/decoding.md": decodingPage,
  "docs/limits.md": limitsPage,
  "docs/vbg-cloud.md": () => commandsPage(cloud, "For whoever runs a cloud that boats replicate to."),
  "docs/vbg.md": () =>
    commandsPage(vbg, "The client of the Vessel Bus Gateway: one command for each thing to do with a boat's data."),
};

if (import.meta.main) {
  let stale = false;
  for (const [path, print] of Object.entries(pages)) {
    const file = new URL(`../${path}`, import.meta.url);
    const page = await print();
    if (Deno.args.includes("--check")) {
      const committed = await Deno.readTextFile(file).catch(() => "");
      if (committed === page) continue;
      console.error(`${path} is stale: run deno task docs`);
      stale = true;
    } else {
      await Deno.mkdir(new URL(".", file), { recursive: true });
      await Deno.writeTextFile(file, page);
      console.log(`wrote ${path}`);
    }
  }
  if (stale) Deno.exit(1);
}
