import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CLOCK_FILE } from "@vessel/gateway/journal";
import type { Environment } from "../../settings/options.ts";
import type { QueryJob } from "./job.ts";

/** The child's main module, its import map and its lock file. DuckDB is in these alone. */
const MODULE = new URL("./run_query.ts", import.meta.url);
const IMPORTS = new URL("duckdb_imports.json", MODULE);
const LOCK = new URL("duckdb_lock.json", MODULE);
const PACKAGE = "npm:";

/** Around a child. */
export interface Around {
  /** `DENO_DIR` in it is Deno's cache. */
  environment: Environment;
  /** Ends the child. */
  signal: AbortSignal;
}

/** How the child ended. */
export interface ChildEnd {
  /** Exit code; 0: the job is done. */
  code: number;
  /** Lines of standard error: warnings, and at the end the reason of a failure. */
  messages: string[];
}

/**
 * Runs a job in a Deno of its own, which may load native code and read only what the job reads.
 *
 * @param options.write gets what it prints
 * @throws the reason of `signal`, or what `write` throws; the child is ended then
 */
export async function runChild(
  job: QueryJob,
  { write, ...around }: { write: (text: string) => Promise<void> | void } & Around,
): Promise<ChildEnd> {
  const paths = job.paths.flatMap((path) => [path, join(dirname(path), CLOCK_FILE)]);
  const readable = paths.map((path) => path.replaceAll(",", ",,")).join(",");
  const permissions = ["--no-prompt", "--allow-ffi", ...(readable === "" ? [] : [`--allow-read=${readable}`])];
  await using child = start(["run", ...flags(), "--cached-only", ...permissions, pathOf(MODULE)], around);
  const input = new Blob([JSON.stringify(job)]).stream().pipeTo(child.process.stdin);
  const messages = new Response(child.process.stderr).text();
  for await (const text of child.process.stdout.pipeThrough(new TextDecoderStream())) await write(text);
  // It may end before it has read everything.
  await input.catch(() => {});
  const { code } = await child.process.status;
  around.signal.throwIfAborted();
  return { code, messages: (await messages).split("\n").filter((line) => line.trim() !== "") };
}

/** Downloads DuckDB into the cache of Deno, which checks it. @throws {Error} that failed */
export async function installPackage(around: Around): Promise<void> {
  const { imports }: { imports: Record<string, string> } = JSON.parse(await Deno.readTextFile(IMPORTS));
  const packages = Object.values(imports).filter((address) => address.startsWith(PACKAGE));
  await using child = start(["cache", ...flags(), ...packages], around);
  await child.process.stdin.close();
  const { success, stderr } = await child.process.output();
  around.signal.throwIfAborted();
  if (!success) throw new Error(`Cannot download DuckDB: ${lastLine(new TextDecoder().decode(stderr))}`);
}

function flags(): string[] {
  return ["--quiet", "--no-config", "--import-map", pathOf(IMPORTS), "--lock", pathOf(LOCK), "--frozen", "--no-check"];
}

function pathOf(url: URL): string {
  if (Deno.build.standalone || url.protocol !== "file:") {
    const installed = "the Debian package, a portable program, or the sources";
    throw new Error(`Cannot run DuckDB: it needs the runtime Deno, as in ${installed}`);
  }
  return fileURLToPath(url);
}

/** Starts a Deno that is ended when it is disposed of. */
function start(args: string[], { environment: { DENO_DIR }, signal }: Around) {
  // Its last line is what is reported: the reason, not a trace.
  const env = { NO_COLOR: "1", RUST_BACKTRACE: "0", ...(DENO_DIR !== undefined && { DENO_DIR }) };
  const streams = { stdin: "piped", stdout: "piped", stderr: "piped" } as const;
  const process = new Deno.Command(Deno.execPath(), { args, env, signal, ...streams }).spawn();
  return {
    process,
    async [Symbol.asyncDispose]() {
      try {
        process.kill();
      } catch {
        // It has ended.
      }
      await process.status;
    },
  };
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.replace(/^\s*(?:\d+: |error: )/, "") ?? "";
}
