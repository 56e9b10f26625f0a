/**
 * `vbg completion`: prints a script that completes the commands and flags of all programs in a shell.
 *
 * @module
 */
import { boatProgram } from "../../boat.ts";
import { cloud } from "../../cloud.ts";
import type { CommandFile, CommandSet } from "../../program/dispatch.ts";
import { type Program, runOnce, SettingsError } from "../../program/program.ts";
import { programOptions, type ProgramSettings } from "../../settings/common_options.ts";
import { bashCompletion, fishCompletion, zshCompletion } from "./scripts.ts";
import { completionOfProgram, completionOfSet } from "./table.ts";

const SCRIPTS = new Map([["bash", bashCompletion], ["zsh", zshCompletion], ["fish", fishCompletion]]);

const program: Program<ProgramSettings> = {
  name: "vbg completion",
  summary: "prints the completion script of vbg, vbg-boat and vbg-cloud for a shell. In its start-up file: " +
    'eval "$(vbg completion bash)", eval "$(vbg completion zsh)" after compinit, or vbg completion fish | source',
  options: programOptions,
  positionals: [...SCRIPTS.keys()].join("|"),
};

/** The command for a client. The client is an argument, since its table contains this command. */
export function completionCommand(client: CommandSet): CommandFile {
  return {
    program,
    run: (context) =>
      runOnce(program, {
        context,
        run: async (_settings, [shell = "", ...others]) => {
          const script = SCRIPTS.get(shell);
          if (script === undefined || others.length > 0) {
            const [given, known] = [[shell, ...others].join(" "), [...SCRIPTS.keys()].join(", ")];
            throw new SettingsError(`Cannot complete for "${given}": expected one of ${known}`);
          }
          const places = await Promise.all([
            completionOfSet(client),
            completionOfProgram(boatProgram),
            completionOfSet(cloud),
          ]);
          context.print(script(places.flat()).trimEnd());
        },
      }),
  };
}
