import { keptFolder } from "./common_options.ts";
import { type DirectoryLock, errorText, lockDirectory } from "@vessel/gateway/base";

/** Folder inside the state directory that keeps the demo's state apart from a real boat's. */
export const DEMO_STATE = "demo";

/** Whether a state directory is the one without any settings, which is no place for the state of a demo. */
export function isDefaultStateDir(path: string): boolean {
  return path === keptFolder(Deno.env.toObject(), "vbg");
}

/** A new temporary folder of a demo. */
export async function temporaryDemoFolder(): Promise<string> {
  return await Deno.makeTempDir({ prefix: "vbg-demo-" });
}

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
