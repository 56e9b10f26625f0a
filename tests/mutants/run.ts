// Proves that the tests notice faults: applies each mutant of the list to a copy of the repository and runs its tests.
// `deno task mutants [NAME ...]`: only mutants whose name contains one of the texts. Exit code 1 when one is alive.

import { type Mutant, MUTANTS } from "./list.ts";
import { faultsOf, findCode, findTests, readTree, type Tree } from "./tree.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const LEFT_OUT = [".git", "node_modules", "dist"];
/** Longest run of one test file under a mutant; a mutant that only makes its tests hang counts as alive. */
const MUTANT_TIMEOUT_MS = 120_000;
/** Longest run of all test files together, without a mutant. */
const UNCHANGED_TIMEOUT_MS = 900_000;

/** `broken`: no test failed, and the run did not pass either: it timed out, or the code does not load. */
type Outcome = { kind: "passed" } | { kind: "failed"; test: string } | { kind: "broken"; output: string };

/** A copy of the repository. */
interface Copy {
  /** With a slash at the end. */
  directory: string;
  tree: Tree;
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (LEFT_OUT.includes(name)) continue;
    if (isDirectory) await copyFolder(`${from}/${name}`, `${to}/${name}`);
    else if (isFile) await Deno.copyFile(`${from}/${name}`, `${to}/${name}`);
  }
}

/** Runs test files until the first test fails. */
async function runTests(cwd: string, { paths, timeoutMs }: { paths: Iterable<string>; timeoutMs: number }) {
  const args = ["test", "-A", "--no-check", "--fail-fast", "--reporter=tap", ...paths];
  const signal = AbortSignal.timeout(timeoutMs);
  const env = { VBG_TEST_SLOW: "1" };
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd, signal, env }).output();
  const output = new TextDecoder().decode(stdout);
  const test = /^not ok \d+ - (.*)$/m.exec(output)?.[1];
  const outcome: Outcome = success
    ? { kind: "passed" }
    : test !== undefined && !signal.aborted
    ? { kind: "failed", test }
    : { kind: "broken", output: output + new TextDecoder().decode(stderr) };
  return outcome;
}

/** Applies a mutant, runs its tests, and restores the file. */
async function tryMutant({ find, replace, tests }: Mutant, { directory, tree }: Copy) {
  const [path = ""] = findCode(find, tree);
  const original = tree.code.get(path) ?? "";
  await Deno.writeTextFile(directory + path, original.replace(find, () => replace));
  const results: string[] = [];
  let isKilled = true;
  for (const name of tests) {
    const outcome = await runTests(directory, { paths: findTests(name, tree), timeoutMs: MUTANT_TIMEOUT_MS });
    isKilled &&= outcome.kind === "failed";
    results.push(`${name}: ${outcome.kind === "failed" ? outcome.test : outcome.kind}`);
  }
  await Deno.writeTextFile(directory + path, original);
  return { isKilled, results: results.join("; ") };
}

/** Returns how many mutants are alive. */
async function tryAll(mutants: readonly Mutant[], copy: Copy): Promise<number> {
  const paths = new Set(mutants.flatMap(({ tests }) => tests.flatMap((name) => findTests(name, copy.tree))));
  const unchanged = await runTests(copy.directory, { paths, timeoutMs: UNCHANGED_TIMEOUT_MS });
  if (unchanged.kind === "failed") throw new Error(`Without a mutant this test fails: ${unchanged.test}`);
  if (unchanged.kind === "broken") throw new Error(`Without a mutant the tests do not run:\n${unchanged.output}`);
  console.log("mutant | killed by | seconds");
  let alive = 0;
  for (const mutant of mutants) {
    const startMs = performance.now();
    const { isKilled, results } = await tryMutant(mutant, copy);
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    console.log(`${mutant.name} | ${isKilled ? "" : "ALIVE: "}${results} | ${seconds}`);
    if (!isKilled) alive++;
  }
  console.log(`${mutants.length - alive} killed, ${alive} alive`);
  return alive;
}

async function main(texts: readonly string[]): Promise<number> {
  const tree = readTree(ROOT);
  const faults = faultsOf(MUTANTS, tree);
  const mutants = MUTANTS.filter(({ name }) => texts.length === 0 || texts.some((text) => name.includes(text)));
  if (mutants.length === 0) faults.push("No mutant has such a name");
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) return 1;
  const directory = `${await Deno.makeTempDir({ prefix: "vbg-mutants-" })}/`;
  try {
    await copyFolder(ROOT, directory);
    return await tryAll(mutants, { directory, tree }) === 0 ? 0 : 1;
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await main(Deno.args));
