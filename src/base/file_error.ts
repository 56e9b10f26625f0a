/** Deno's error when a program without all permissions opens a special file. */
const SPECIAL_FILE = /^Requires all access to (".*"), run again/;

const FILE_EXISTS = /^File exists \(os error \d+\): mkdir/;

/** Message of an error, or the text of any other thrown value. */
export function errorText(error: unknown): string {
  const [, special] = error instanceof Error ? SPECIAL_FILE.exec(error.message) ?? [] : [];
  // Deno advises flags that the user of an installed program cannot pass.
  if (special !== undefined) {
    return `this program may not open ${special}: files of /dev, /proc and /sys need all permissions of Deno`;
  }
  // What `mkdir` finds there is a file: a directory that exists is no error.
  return error instanceof Error ? error.message.replace(FILE_EXISTS, "Not a directory: mkdir") : String(error);
}

/** An operation on a file or directory failed; the message names the action, the path and the reason. */
export class FileError extends Error {
  /** `FileError`. */
  override name = "FileError";
  /** The file or directory. */
  readonly path: string;
  /** State after a failed write: `unknown` if the file may hold the new content, now or after a crash. */
  readonly content: "untouched" | "unknown";

  /**
   * Creates an error about one path.
   *
   * @param action what failed, such as `write`
   */
  constructor(
    action: string,
    { path, cause, content = "untouched" }: { path: string; cause: unknown; content?: "untouched" | "unknown" },
  ) {
    super(`Cannot ${action} "${path}": ${errorText(cause)}`, { cause });
    this.path = path;
    this.content = content;
  }
}

/** Whether the path exists, as a file of any kind. @throws {FileError} it cannot be determined */
export async function pathExists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return false;
    throw new FileError("inspect", { path, cause: error });
  }
}
