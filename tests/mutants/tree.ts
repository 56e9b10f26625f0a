import type { Mutant } from "./list.ts";

/** Folders whose code is mutated. */
const CODE_FOLDERS = ["src", "cli"];

/** Texts of the code and paths of the test files; paths begin at the root of the repository. */
export interface Tree {
  code: ReadonlyMap<string, string>;
  tests: readonly string[];
}

/** Reads a checkout. @param root its directory, with a slash at the end */
export function readTree(root: string): Tree {
  const code = CODE_FOLDERS.flatMap((folder) => [...filesOf(root, folder)]).filter((path) => path.endsWith(".ts"));
  return {
    code: new Map(code.map((path) => [path, Deno.readTextFileSync(root + path)])),
    tests: [...filesOf(root, "tests")].filter((path) => path.endsWith("_test.ts")),
  };
}

/** Paths of the code files that contain a text, one for each occurrence. */
export function findCode(text: string, { code }: Tree): string[] {
  return [...code].flatMap(([path, content]) => Array.from({ length: content.split(text).length - 1 }, () => path));
}

/** Paths of the test files that end with a name. */
export function findTests(name: string, { tests }: Tree): string[] {
  return tests.filter((path) => path.endsWith(`/${name}`));
}

/** What is wrong with the list, one line for each fault. */
export function faultsOf(mutants: readonly Mutant[], tree: Tree): string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  for (const { name, find, replace, tests } of mutants) {
    if (names.has(name)) faults.push(`"${name}": the name is used twice`);
    names.add(name);
    if (find === replace) faults.push(`"${name}": it changes nothing`);
    faults.push(...notUnique(`"${name}": text ${JSON.stringify(find)}`, findCode(find, tree)));
    if (tests.length === 0) faults.push(`"${name}": it names no test file`);
    for (const test of tests) faults.push(...notUnique(`"${name}": test file ${test}`, findTests(test, tree)));
  }
  return faults;
}

function notUnique(what: string, paths: readonly string[]): string[] {
  if (paths.length === 1) return [];
  return [`${what}: ${paths.length === 0 ? "not found" : `found ${paths.length} times: ${paths.join(", ")}`}`];
}

function* filesOf(root: string, folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(root + folder)) {
    const path = `${folder}/${name}`;
    if (!isDirectory) yield path;
    else if (name !== "node_modules") yield* filesOf(root, path);
  }
}
