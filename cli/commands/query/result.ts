import { basename, dirname } from "node:path";
import { writeAll } from "@vessel/gateway/base";
import type { Output } from "../../program/terminal.ts";
import { SettingsError } from "../../program/program.ts";

/** Where a result goes. */
export interface Result {
  /** Path that DuckDB may write to; undefined: standard output. */
  path: string | undefined;
  write(text: string): Promise<void> | void;
  /** The result is complete. */
  finish(): Promise<void>;
  /** Removes what is not complete. */
  abandon(): Promise<void>;
}

/** The result on standard output. */
export function printedResult(output: Output): Result {
  const done = () => Promise.resolve();
  return { path: undefined, write: (text) => output.write(text), finish: done, abandon: done };
}

/**
 * The result in a file. It has another name until it is complete.
 *
 * @param options.inputs files and directories that must not change
 * @throws {SettingsError} the file is one of the inputs, or in one
 */
export async function resultFile(path: string, { inputs }: { inputs: readonly string[] }): Promise<Result> {
  const directory = await Deno.realPath(dirname(path)).catch((error) => {
    throw new SettingsError(`Cannot write "${path}": ${error.message}`);
  });
  const target = `${directory}/${basename(path)}`;
  const real = await Deno.realPath(target).catch(() => target);
  for (const input of await Promise.all(inputs.map((each) => Deno.realPath(each)))) {
    if (real === input || dirname(real) === input || directory === input) {
      throw new SettingsError(`Cannot write "${path}": a journal is not changed, choose another place`);
    }
  }
  const unfinished = `${target}.part`;
  const file = await Deno.open(unfinished, { write: true, create: true, truncate: true });
  const encoder = new TextEncoder();
  return {
    path: unfinished,
    write: (text) => writeAll(file, encoder.encode(text)),
    finish: async () => {
      file.close();
      await Deno.rename(unfinished, target);
    },
    abandon: async () => {
      file.close();
      await Deno.remove(unfinished).catch(() => {});
    },
  };
}
