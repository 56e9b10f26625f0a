/** Command lines of scripts. */

/** The words of this script's command line: flags may have one dash, as those of the programs. */
export function scriptWords(): string[] {
  return Deno.args.map((word) => word.replace(/^-(?=[a-z])/, "--"));
}

/** Runs a script and ends the process: what is thrown is one line behind the script's name, and exit code 1. */
export async function runScript(name: string, main: () => Promise<void>): Promise<never> {
  try {
    await main();
    Deno.exit(0);
  } catch (error) {
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
    Deno.exit(1);
  }
}
