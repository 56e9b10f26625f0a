import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inFolder } from "../support/folder.ts";
import { allowed, environment, needs } from "../support/needs.ts";
import { importsOf, readSource } from "../support/source.ts";
import { resolveImport } from "../support/tidy_imports.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const NEEDS = needs({ permissions: ["env", "read", "run", "write"] });
/** Tests that take no time without their program; with VBG_TEST_FULL=1 all programs that CI installs. */
const FEW = ["groff", "avahi-browse", "dbus-daemon"];
/** What tests of the folder `vcan` need is needed by the file that runs them. */
const RUNS_VCAN = "tests/flows/vcan_test.ts";
/** It reads all sources, and this one would start itself. */
const NOT_RUN = ["tests/tidy_test.ts", "tests/scripts/optional_programs_test.ts"];

function programs(): string[] {
  if (environment("VBG_TEST_FULL") !== "1" || !allowed("read")) return FEW;
  const script = Deno.readTextFileSync(join(ROOT, ".ci/run"));
  return [...script.matchAll(/\[([\w.+-]+)\]=/g)].map(([, name = ""]) => name).concat("s3rver");
}

function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(join(ROOT, folder))].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`) : name.endsWith(".ts") ? [`${folder}/${name}`] : []
  );
}

/** The texts of tests and of everything in `tests` that they import, by path. */
function testTexts(): Map<string, string> {
  const files = new Map(filesBelow("tests").map((path) => [path, Deno.readTextFileSync(join(ROOT, path))]));
  const textOf = (path: string, seen: Set<string>): string => {
    const text = files.get(path);
    if (text === undefined || seen.has(path)) return "";
    seen.add(path);
    const imported = importsOf(readSource(path, text)).flatMap(({ specifier }) => resolveImport(path, specifier) ?? []);
    const run = path === RUNS_VCAN ? [...files.keys()].filter((each) => each.startsWith("tests/vcan/")) : [];
    return [text, ...[...imported, ...run].map((each) => textOf(each, seen))].join("\n");
  };
  const tests = [...files.keys()].filter((path) => path.endsWith("_test.ts") && !NOT_RUN.includes(path));
  return new Map(tests.map((path) => [path, textOf(path, new Set())]));
}

/** Fills a folder with links to all programs of PATH but one. */
async function linkOthers(folder: string, missing: string): Promise<void> {
  // The one of PATH may be a script of npm, which needs Node.
  await Deno.symlink(Deno.execPath(), join(folder, "deno"));
  const linked = new Set(["deno", missing]);
  for (const from of (environment("PATH") ?? "").split(":")) {
    for (const { name } of await Array.fromAsync(Deno.readDir(from)).catch(() => [])) {
      if (linked.has(name)) continue;
      linked.add(name);
      await Deno.symlink(join(from, name), join(folder, name));
    }
  }
}

for (const program of programs()) {
  Deno.test(
    `tests that use ${program} skip where it is missing, and the others of their files pass`,
    NEEDS,
    () =>
      inFolder(async (folder) => {
        await linkOthers(folder, program);
        const files = [...testTexts()].filter(([, text]) => text.includes(`"${program}"`)).map(([path]) => path);
        const env = { PATH: folder, VBG_TEST_REQUIRE: "", VBG_TEST_FULL: "", NO_COLOR: "1" };
        const args = ["test", "-A", "--no-check", "--permit-no-files", ...files];
        const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT, env }).output();
        const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        assert.equal(code, 0, `${out}${err}`);
      }),
  );
}
