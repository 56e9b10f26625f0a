import { type DirectoryLock, errorText, lockDirectory } from "@vessel/gateway/settings";

/**
 * Takes the state directory for this process until it is disposed of, and makes it when it is missing.
 *
 * @throws {Error} another process holds it, or it cannot be made or written
 */
export async function openStateDir(path: string): Promise<DirectoryLock> {
  try {
    return await lockDirectory(path, { what: "state directory" });
  } catch (error) {
    const why = errorText(error);
    throw new Error(`${why}; -state-dir names another`, { cause: error });
  }
}
