/** How Deno refuses a special file to a program that has not all permissions. */
const SPECIAL_FILE = /^Requires all access to (".*"), run again/;

/** What an error says; of what is thrown and is none, its text. */
export function errorText(error: unknown): string {
  const [, special] = error instanceof Error ? SPECIAL_FILE.exec(error.message) ?? [] : [];
  // Deno's advice would be flags that who runs an installed program does not type.
  if (special !== undefined) {
    return `this program may not open ${special}: files of /dev, /proc and /sys need all permissions of Deno`;
  }
  return error instanceof Error ? error.message : String(error);
}
