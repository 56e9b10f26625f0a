import { errorText } from "./error_text.ts";
/** What could not be done with a file or directory; the message names the action, the path and the reason. */
export class FileError extends Error {
  /** `FileError`. */
  override name = "FileError";
  /** The file or directory. */
  readonly path: string;
  /** After a failed write: whether the file surely is as it was, or may hold what was written, now or after a crash. */
  readonly content: "untouched" | "unknown";

  /**
   * An error about one path.
   *
   * @param action what could not be done: `write`
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
