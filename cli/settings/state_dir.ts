import { keptFolder } from "./common_options.ts";
import { type DirectoryLock, errorText, lockDirectory } from "@vessel/gateway/base";

/** Directory of the demo's state inside the state directory, separate from a real boat's. */
export const DEMO_STATE = "demo";

/** True for the default state directory, which a demo must not use. */
export function isDefaultStateDir(path: string): boolean {
  return path === keptFolder(Deno.env.toObject(), "vbg");
}

/** Creates a temporary directory for a demo. */
export async function temporaryDemoFolder(): Promise<string> {
  return await Deno.makeTempDir({ prefix: "vbg-demo-" });
}

/**
 * Creates the state directory if missing, and locks it for this process until disposed.
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
