import { type DirectoryLock, errorText, lockDirectory } from "@vessel/gateway/base";
import type { Environment } from "./options.ts";

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

/** State directory of a service: the one that systemd gives, else the user's, else one below `/var/lib`. */
export function keptFolder({ STATE_DIRECTORY, XDG_STATE_HOME, HOME }: Environment, name: string): string {
  // systemd lists several directories with colons between them.
  const [managed] = STATE_DIRECTORY?.split(":") ?? [];
  if (managed) return managed;
  // The XDG specification requires that relative paths are ignored.
  if (XDG_STATE_HOME?.startsWith("/")) return `${XDG_STATE_HOME}/${name}`;
  return HOME ? `${HOME}/.local/state/${name}` : `/var/lib/${name}`;
}
