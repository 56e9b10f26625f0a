import { type CommandSet, loadCommands } from "../cli/program/dispatch.ts";
import { formatFlags, usageLine } from "../cli/program/help.ts";

const FLAGS =
  "A flag is written `-name value`, `-name=value`, or with two dashes. A switch needs no value; `-name=false` turns it off. A flag given twice: the last one counts. A flag wins over its environment variable, where there is one. Durations: `5m`, `1h30m`, `250ms`, or ISO 8601 such as `PT5M`. Sizes: bytes, `10GB`, or `512KiB`. Exit code: 0 when all went well, also when Ctrl-C ends what runs until then and when whoever read the output has gone (`| head`), 2 for a wrong command line, 130 for work that Ctrl-C interrupted, 1 for any other failure. A second Ctrl-C ends a command at once, with 130; a server ends within 5 seconds of the first.";

/**
 * The reference page of a program that is a set of commands: a section for each.
 *
 * @param about what the program is, a sentence or two
 */
export async function commandsPage(set: CommandSet, about: string): Promise<string> {
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
