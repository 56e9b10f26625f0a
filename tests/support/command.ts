import { runCloud } from "../../cli/cloud.ts";
import type { ProgramContext } from "../../cli/program/program.ts";
import { runVbg } from "../../cli/vbg.ts";
import { StatusLine } from "../../cli/program/status_line.ts";
import type { Output } from "../../cli/program/terminal.ts";

/** What a command answered. */
export interface CommandAnswer {
  code: number;
  /** Standard output. */
  out: string;
  /** Standard error, progress included. */
  err: string;
}

/** How a command is run. */
export interface CommandOptions {
  /** Whether its outputs are terminals; default: pipes. */
  isTerminal?: boolean;
  /** Characters of a line; default 120. */
  columns?: number;
  environment?: Record<string, string>;
  /** Ends it. */
  stopping?: AbortSignal;
}

/** Runs `vbg` with these words in this process. */
export function runCommand(args: readonly string[], options: CommandOptions = {}): Promise<CommandAnswer> {
  return runProgram(runVbg, { ...options, args });
}

/** Runs `vbg-cloud` with these words in this process. */
export function runCloudCommand(args: readonly string[], options: CommandOptions = {}): Promise<CommandAnswer> {
  return runProgram(runCloud, { ...options, args });
}

async function runProgram(
  run: (context: ProgramContext) => Promise<number>,
  { args, isTerminal = false, columns = 120, environment = {}, stopping = new AbortController().signal }:
    & CommandOptions
    & {
      args: readonly string[];
    },
): Promise<CommandAnswer> {
  const answer = { out: "", err: "" };
  const lines = {
    out: new StatusLine((text) => answer.out += text),
    err: new StatusLine((text) => answer.err += text),
  };
  const sink = (key: keyof typeof answer): Output => ({
    ...{ isTerminal, columns, hasColor: false },
    write: (text) => void (answer[key] += text),
    control: (text) => void (answer[key] += text),
    writeBytes: (bytes) => Promise.resolve(void (answer[key] += new TextDecoder().decode(bytes))),
    status: (text) => lines[key].show(text),
    flush: () => Promise.resolve(),
  });
  const code = await run({
    ...{ args, environment, stopping },
    print: (text) => answer.out += `${text}\n`,
    printError: (text) => answer.err += `${text}\n`,
    output: sink("out"),
    errors: sink("err"),
  });
  return { code, ...answer };
}
