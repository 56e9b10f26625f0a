import { formatFlags, usageLine } from "../cli/help.ts";
import { COMMANDS } from "../cli/vbg.ts";

const INTRO = `<!-- Printed by scripts/docs.ts from the commands' own tables. Do not edit. -->

# vbg

The client of the Vessel Bus Gateway: one command for each thing to do with a boat's data. \`vbg help\` lists them, \`vbg COMMAND -help\` shows one's flags.

A flag is written \`-name value\`, \`-name=value\`, or with two dashes. A switch needs no value; \`-name=false\` turns it off. A flag given twice: the last one counts. A flag wins over its environment variable, where there is one. Durations: \`5m\`, \`1h30m\`, \`250ms\`, or ISO 8601 such as \`PT5M\`. Sizes: bytes, \`10GB\`, or \`512KiB\`. Exit code: 0 when all went well, 2 for a wrong command line, 1 for any other failure.`;

/** The reference page of `vbg`: a section for each command of its table. */
export async function vbgPage(): Promise<string> {
  const sections = await Promise.all(
    Object.values(COMMANDS).map(async ({ load }) => {
      const { program } = await load();
      const usage = usageLine(program).replace(/^Usage: /, "");
      return `## ${program.name}\n\n\`${usage}\` ${program.summary}.\n\n${formatFlags(program, { heading: "###" })}`;
    }),
  );
  return `${[INTRO, ...sections].join("\n\n")}\n`;
}
