/**
 * Writes a release into a directory: `deno task release [-out DIR] [-deno PATH]`.
 *
 * In it: the portable programs, Debian packages with and without a Deno, manual pages, the install script, and the sums of
 * all of them (SHA256SUMS, as `sha256sum -c` reads them).
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { makePortables } from "./compile.ts";
import { makeDeb, ownArchitecture } from "./deb.ts";
import { writeManPages } from "./man.ts";
import { runScript, scriptWords } from "./script.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const SUMS = "SHA256SUMS";

/** How a release is made. */
export interface ReleaseOptions {
  /** The Deno that programs and packages bring along. */
  runtime: string;
  /** How small: `best` for others, `fast` for a try. */
  packing: "best" | "fast";
}

/** Writes a release into a directory that is empty, or made. Answers the names of its files. */
export async function makeRelease(out: string, { runtime, packing }: ReleaseOptions): Promise<string[]> {
  await Deno.mkdir(out, { recursive: true });
  for await (const { name } of Deno.readDir(out)) {
    throw new Error(`Cannot write the release: "${out}" has "${name}" in it`);
  }
  await makePortables(out, { runtime, target: Deno.build.target, level: packing === "best" ? 9 : 1 });
  const compression = packing === "best" ? "xz" : "none";
  for (const deno of [runtime, undefined]) await makeDeb({ out, deno, arch: ownArchitecture(), compression });
  await writeManPages(out);
  await Deno.copyFile(`${ROOT}scripts/install.sh`, `${out}/install.sh`);
  return await writeSums(out);
}

/** Writes the sums of all files of a directory. Answers the files' names. */
export async function writeSums(out: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(out)) if (isFile && name !== SUMS) names.push(name);
  names.sort();
  const lines: string[] = [];
  for (const name of names) {
    const digest = await crypto.subtle.digest("SHA-256", await Deno.readFile(`${out}/${name}`));
    lines.push(`${new Uint8Array(digest).toHex()}  ${name}\n`);
  }
  await Deno.writeTextFile(`${out}/${SUMS}`, lines.join(""));
  return [...names, SUMS];
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: scriptWords(),
    options: {
      out: { type: "string", default: `${ROOT}dist/release` },
      deno: { type: "string", default: Deno.execPath() },
    },
  });
  for (const name of await makeRelease(values.out, { runtime: values.deno, packing: "best" })) {
    console.log(`${values.out}/${name}`);
  }
}

if (import.meta.main) await runScript("release", main);
