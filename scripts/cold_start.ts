/**
 * Measures the first start of the demo on a machine that has Deno alone: time until it answers, packages, megabytes of the
 * cache. Prints one line: `deno run -A scripts/cold_start.ts`.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const PORTS = ["-port", "0", "-cloud-port", "0"];
/** Ways to start it. The task downloads all packages of the lock file, the program those that it imports. */
const STARTS: Readonly<Record<string, readonly string[]>> = {
  "deno task demo": ["task", "--quiet", "--cwd", ROOT, "demo", ...PORTS],
  "deno run cli/demo.ts": ["run", "--quiet", "--no-check", "-A", `${ROOT}cli/demo.ts`, ...PORTS],
};
/** After that a start is given up. */
const PATIENCE_MS = 120_000;
const LISTENING = /"listening","url":"(http:[^"]+)"/;

/** Starts the demo with an empty cache. Answers what it took, in words. */
async function measure(args: readonly string[]): Promise<string> {
  const cache = await Deno.makeTempDir({ prefix: "vbg_cold_" });
  const beganMs = performance.now();
  const env = { DENO_DIR: cache, DENO_NO_UPDATE_CHECK: "1" };
  const child = new Deno.Command(Deno.execPath(), { args: [...args], env, stdout: "null", stderr: "piped" }).spawn();
  const late = setTimeout(() => stop(child), PATIENCE_MS);
  try {
    const answered = await answer(child.stderr);
    const seconds = ((performance.now() - beganMs) / 1000).toFixed(1);
    const megabytes = Math.round(await bytesBelow(cache) / 1e6);
    return answered ? `${seconds} s, ${await packagesIn(`${cache}/npm`)} packages, ${megabytes} MB` : "did not start";
  } finally {
    clearTimeout(late);
    stop(child);
    await child.status;
    await Deno.remove(cache, { recursive: true });
  }
}

/** Waits for the first answer of the boat server that logs its address; false if it ends before. */
async function answer(log: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<boolean> {
  let text = "";
  for await (const part of log.pipeThrough(new TextDecoderStream()).values({ preventCancel: true })) {
    text += part;
    const url = LISTENING.exec(text)?.[1];
    if (url !== undefined) return (await fetch(`${url}/livez`)).ok;
  }
  return false;
}

function stop(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGTERM");
  } catch {
    // It has ended.
  }
}

async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    bytes += isDirectory ? await bytesBelow(path) : (await Deno.stat(path)).size;
  }
  return bytes;
}

/** Folders of versions, `REGISTRY/NAME/VERSION` and `REGISTRY/@SCOPE/NAME/VERSION`. */
async function packagesIn(folder: string): Promise<number> {
  let count = 0;
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) count += /^\d/.test(name) ? 1 : await packagesIn(`${folder}/${name}`);
  }
  return count;
}

if (import.meta.main) {
  const results: string[] = [];
  for (const [name, args] of Object.entries(STARTS)) results.push(`${name} ${await measure(args)}`);
  // deno-lint-ignore no-console -- the result
  console.log(`cold start: ${results.join("; ")}`);
}
