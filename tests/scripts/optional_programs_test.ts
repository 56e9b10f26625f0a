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
/** Not needed where the kernel has virtual CAN buses. */
const FOR_NO_VCAN = ["linux.uml", "insmod"];
/** It reads all sources, and this one would start itself. */
const NOT_RUN = ["tests/tidy_test.ts", "tests/scripts/optional_programs_test.ts"];

function programs(): string[] {
  if (environment("VBG_TEST_FULL") !== "1" || !allowed("read")) return FEW;
  const script = Deno.readTextFileSync(join(ROOT, ".ci/run"));
  const named = [...script.matchAll(/\[([\w.+-]+)\]=/g)].map(([, name = ""]) => name);
  return [...named, "s3rver"];
}

function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(join(ROOT, folder))].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${folder}/${name}`) : name.endsWith(".ts") ? [`${folder}/${name}`] : []
  );
}

/** A TypeScript file of `tests` or `scripts` without its comments, and the files that it imports or starts. */
interface Module {
  text: string;
  uses: string[];
}

function readModules(): Map<string, Module> {
  const paths = [...filesBelow("tests"), ...filesBelow("scripts")];
  const inVcan = paths.filter((path) => path.startsWith("tests/vcan/"));
  return new Map(paths.map((path) => {
    const source = readSource(path, Deno.readTextFileSync(join(ROOT, path)));
    const imported = importsOf(source).flatMap(({ specifier, kind }) =>
      kind === "type" ? [] : resolveImport(path, specifier) ?? []
    );
    const text = source.comments.reduce((rest, comment) => rest.replace(comment.text, () => ""), source.text);
    return [path, { text, uses: path === RUNS_VCAN ? [...imported, ...inVcan] : imported }];
  }));
}

let allModules: Map<string, Module> | undefined;

/** Test files that name a program in a list or a call, themselves or in what they import. */
function testsNaming(program: string): string[] {
  const modules = allModules ??= readModules();
  const pattern = new RegExp(`[[(,]\\s*"${program.replaceAll(/[.+]/g, "\\$&")}"`);
  const names = (path: string, seen: Set<string>): boolean => {
    const module = modules.get(path);
    if (module === undefined || seen.has(path)) return false;
    seen.add(path);
    return pattern.test(module.text) || module.uses.some((each) => names(each, seen));
  };
  return [...modules.keys()].filter((path) =>
    path.endsWith("_test.ts") && !NOT_RUN.includes(path) && names(path, new Set())
  );
}

/** Fills a folder with links to all programs of PATH but one. */
async function linkOthers(folder: string, missing: string): Promise<void> {
  // Other users, whom tests start programs as, look in it, too.
  await Deno.chmod(folder, 0o755);
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
        const files = testsNaming(program);
        assert.notEqual(files.length, 0, `no test names ${program}`);
        const env = { PATH: folder, VBG_TEST_REQUIRE: "", VBG_TEST_FULL: "", NO_COLOR: "1" };
        const args = ["test", "-A", "--no-check", ...files];
        const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args, cwd: ROOT, env }).output();
        const [out = "", err = ""] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
        assert.equal(code, 0, `${out}${err}`);
        const isTold = FOR_NO_VCAN.includes(program) || out.includes(`program "${program}"`);
        assert.ok(isTold, `no test says that it skips itself:\n${out}`);
      }),
  );
}
