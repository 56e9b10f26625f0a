import { fileURLToPath } from "node:url";

/** The checkout, with a slash at the end. */
export const ROOT: string = fileURLToPath(new URL("../../", import.meta.url));

/** A task of deno.json that runs a program: what comes before the program's file, and after it. */
export interface Task {
  /** Words between `deno run` and the file. */
  flags: string[];
  /** The program's file, such as `cli/cloud.ts`. */
  file: string;
  /** Words of the program. */
  words: string[];
}

/** The tasks of deno.json that run a file of `cli`, by name. */
export function programTasks(): Map<string, Task> {
  const { tasks }: { tasks: Record<string, { command: string }> } = JSON.parse(
    Deno.readTextFileSync(`${ROOT}deno.json`),
  );
  const found = new Map<string, Task>();
  for (const [name, { command }] of Object.entries(tasks)) {
    const [, flags, file, words] = /^deno run (.*?) ?\b(cli\/\w+\.ts) ?(.*)$/.exec(command) ?? [];
    if (file === undefined) continue;
    found.set(name, { flags: split(flags), file, words: split(words) });
  }
  return found;
}

/** Arguments of Deno that run a task as deno.json has it, with further words, wherever it is started. */
export function taskArgs(name: string, ...words: string[]): string[] {
  const task = programTasks().get(name);
  if (task === undefined) throw new Error(`deno.json has no task "${name}" that runs a program`);
  return ["run", "--quiet", "--no-check", ...task.flags, `${ROOT}${task.file}`, ...task.words, ...words];
}

function split(text = ""): string[] {
  return text.split(" ").filter((word) => word !== "");
}
