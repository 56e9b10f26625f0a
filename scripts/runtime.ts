import { runProgram } from "./run_program.ts";

/** The Deno that the project is developed, tested and released with: the newest whose packages for x64 and arm64 are both on npm. */
export const DENO_VERSION = "2.9.5";

/** Debian's names of the architectures that there are packages for, with those of Deno's npm packages and of its targets. */
export const ARCHITECTURES = {
  amd64: { npm: "x64", target: "x86_64-unknown-linux-gnu" },
  arm64: { npm: "arm64", target: "aarch64-unknown-linux-gnu" },
} as const;

/** Debian's name of an architecture that a release is for. */
export type Architecture = keyof typeof ARCHITECTURES;

/**
 * Gets the pinned Deno for an architecture from the npm registry, and keeps it in `folder`: npm checks the package's digest.
 *
 * @returns the program's path
 * @throws {Error} npm cannot get it, with its words
 */
export async function fetchRuntime(architecture: Architecture, folder: string): Promise<string> {
  const kept = `${folder}/deno-${DENO_VERSION}-${architecture}`;
  if (await exists(kept)) return kept;
  await Deno.mkdir(folder, { recursive: true });
  const stage = await Deno.makeTempDir({ dir: folder });
  try {
    const name = `@deno/linux-${ARCHITECTURES[architecture].npm}-glibc@${DENO_VERSION}`;
    const packed = await runProgram("npm", ["pack", "--silent", "--pack-destination", stage, name], { cwd: stage });
    await runProgram("tar", ["-xzf", `${stage}/${packed.trim()}`, "-C", stage, "package/deno"]);
    await Deno.chmod(`${stage}/package/deno`, 0o755);
    await Deno.rename(`${stage}/package/deno`, kept);
    return kept;
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
