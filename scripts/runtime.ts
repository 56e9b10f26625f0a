import { runProgram } from "./script.ts";

/** The Deno of releases: the newest whose packages for x64 and arm64 are both on npm. */
export const DENO_VERSION = "2.9.5";

/** Released architectures by Debian's name, with the names of Deno's npm packages and targets. */
export const ARCHITECTURES = {
  amd64: { npm: "x64", target: "x86_64-unknown-linux-gnu" },
  arm64: { npm: "arm64", target: "aarch64-unknown-linux-gnu" },
} as const;

/** Debian's name of a released architecture. */
export type Architecture = keyof typeof ARCHITECTURES;

/**
 * Downloads the pinned Deno for an architecture with npm, which checks its digest, and caches it in `folder`.
 *
 * @returns the path of the program
 * @throws {Error} npm failed; the message contains its output
 */
export async function fetchRuntime(architecture: Architecture, folder: string): Promise<string> {
  const cached = `${folder}/deno-${DENO_VERSION}-${architecture}`;
  if (await exists(cached)) return cached;
  await Deno.mkdir(folder, { recursive: true });
  const stage = await Deno.makeTempDir({ dir: folder });
  try {
    const name = `@deno/linux-${ARCHITECTURES[architecture].npm}-glibc@${DENO_VERSION}`;
    const packed = await runProgram("npm", ["pack", "--silent", "--pack-destination", stage, name], { cwd: stage });
    await runProgram("tar", ["-xzf", `${stage}/${packed.trim()}`, "-C", stage, "package/deno"]);
    await Deno.chmod(`${stage}/package/deno`, 0o755);
    await Deno.rename(`${stage}/package/deno`, cached);
    return cached;
  } finally {
    await Deno.remove(stage, { recursive: true });
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch {
    return false;
  }
}
