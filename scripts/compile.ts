/**
 * Makes executables of the programs: `deno task compile [-portable] [-out DIR] [-target TARGET ...] [-deno PATH]`.
 *
 * By default `deno compile` makes them for every supported system; it downloads a runtime for each. `-portable` makes
 * self-extracting files with the local runtime instead, for the system of that runtime.
 *
 * @module
 */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { VERSION } from "../src/version.ts";
import { LOADED_BY_ADDRESS, makeBundle } from "./compile/bundle.ts";
import { writeAllPortable } from "./compile/portable.ts";
import { type Program, PROGRAMS } from "./programs.ts";
import { runScript, scriptArgs } from "./script.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
/** Level of gzip: a file is packed once and downloaded often. */
const PORTABLE_LEVEL = 9;
/** Supported systems. */
export const TARGETS: readonly string[] = [
  "x86_64-unknown-linux-gnu",
  "aarch64-unknown-linux-gnu",
  "x86_64-apple-darwin",
  "aarch64-apple-darwin",
  "x86_64-pc-windows-msvc",
];
/** The programs for a system: the servers only run on Linux. */
export function programsFor(target: string): Program[] {
  return PROGRAMS.filter(({ isServer }) => !isServer || target.includes("linux"));
}

/** Command line of `deno` that compiles a program for a system. */
export function compileArgs(program: Program, { target, path }: { target: string; path: string }): string[] {
  const included = LOADED_BY_ADDRESS.flatMap((file) => ["--include", file]);
  const flags = [
    ...program.permissions,
    "--quiet",
    "--no-check",
    "--frozen",
    "--exclude-unused-npm",
    ...program.runtimeFlags,
  ];
  return ["compile", ...flags, ...included, "--target", target, "--output", path, `cli/${program.file}`];
}

/** Error message for a failed compilation. */
export function explainFailure(stderr: string, target: string): string {
  // deno-lint-ignore no-control-regex -- colours of a terminal
  const plain = stderr.replaceAll(/\x1b\[\d+m/g, "").trim();
  const url = /https:\/\/\S+denort\S+?\.zip/.exec(plain)?.[0];
  if (url === undefined) return `Cannot compile for ${target}: ${plain}`;
  return `Cannot download the runtime for ${target} (${url}): compile on a machine that can, or run deno task compile ` +
    "--portable, which downloads nothing";
}

/**
 * Compiles the programs for these systems. Returns the paths of the executables.
 *
 * @throws {Error} the compilation failed; see {@linkcode explainFailure}
 */
export async function compileAll(out: string, targets: readonly string[]): Promise<string[]> {
  const paths: string[] = [];
  for (const target of targets) {
    for (const program of programsFor(target)) {
      const path = `${out}/${program.name}-${VERSION}-${target}${target.includes("windows") ? ".exe" : ""}`;
      const args = compileArgs(program, { target, path });
      const { success, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT, stdout: "null" }).output();
      if (!success) throw new Error(explainFailure(new TextDecoder().decode(stderr), target));
      paths.push(path);
    }
  }
  return paths;
}

/** Makes the portable files of all programs with a runtime. Returns their paths. */
export async function makePortables(
  out: string,
  { runtime, target, level }: { runtime: string; target: string; level: number },
): Promise<string[]> {
  const bundle = await Deno.makeTempDir({ prefix: "vbg_bundle_" });
  try {
    await makeBundle(bundle);
    return await writeAllPortable(out, { runtime, bundle, target, level });
  } finally {
    await Deno.remove(bundle, { recursive: true });
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: scriptArgs(),
    options: {
      out: { type: "string", default: `${ROOT}dist` },
      target: { type: "string", multiple: true, default: [...TARGETS] },
      portable: { type: "boolean", default: false },
      deno: { type: "string", default: Deno.execPath() },
    },
  });
  await Deno.mkdir(values.out, { recursive: true });
  const portable = { runtime: values.deno, target: Deno.build.target, level: PORTABLE_LEVEL };
  const paths = values.portable
    ? await makePortables(values.out, portable)
    : await compileAll(values.out, values.target);
  for (const path of paths) console.log(path);
}

if (import.meta.main) await runScript("compile", main);
