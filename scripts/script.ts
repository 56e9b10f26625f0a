/** Helpers of scripts: command lines, exit codes, child processes. */

/** The arguments of this script. Flags may have one dash, like those of the programs. */
export function scriptArgs(): string[] {
  return Deno.args.map((arg) => arg.replace(/^-(?=[a-z])/, "--"));
}

/** Runs a script and exits. An error is printed as one line after the script's name, with exit code 1. */
export async function runScript(name: string, main: () => Promise<void>): Promise<never> {
  try {
    await main();
    Deno.exit(0);
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
}

/**
 * Runs a program. Returns its standard output.
 *
 * @throws {Error} it failed; the message contains its standard error
 */
export async function runProgram(program: string, args: string[], options: Deno.CommandOptions = {}): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { ...options, args }).output();
  const text = new TextDecoder();
  if (!success) throw new Error(`Cannot run ${program}: ${text.decode(stderr).trim()}`);
  return text.decode(stdout);
}
