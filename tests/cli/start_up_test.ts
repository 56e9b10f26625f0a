import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { needs } from "../support/needs.ts";

const RUN = needs({ permissions: ["run", "read"] });
const CLI = new URL("../../cli/", import.meta.url);
/** Commands that need no server's code. */
const LIGHT = [
  ...["alarms/alarms", "archive_s3/archive_s3", "doctor/doctor", "dump/dump", "inspect/inspect", "repair/repair"],
  ...["tail/tail", "read/values", "verify/verify"],
];
/** What only servers need; each brings hundreds of files. */
const HEAVY = ["src/http/mod.ts", "src/cloud/mod.ts", "src/replication/mod.ts"];

interface Module {
  specifier: string;
  dependencies?: { isDynamic?: boolean; code?: { specifier?: string } }[];
}

/** The files that are loaded, without those that are asked for later, by one of them. */
function loadedBy(file: string, modules: ReadonlyMap<string, Module>): Set<string> {
  const loaded = new Set([new URL(file, CLI).href]);
  // A set goes on with what is added to it meanwhile.
  for (const each of loaded) {
    for (const { isDynamic, code } of modules.get(each)?.dependencies ?? []) {
      if (!isDynamic && code?.specifier !== undefined) loaded.add(code.specifier);
    }
  }
  return loaded;
}

Deno.test("start: commands that need no server load nothing of the servers", RUN, async () => {
  // All commands are in it.
  const args = ["info", "--json", fileURLToPath(new URL("vbg.ts", CLI))];
  const { stdout } = await new Deno.Command(Deno.execPath(), { args }).output();
  const { modules }: { modules: Module[] } = JSON.parse(new TextDecoder().decode(stdout));
  const bySpecifier = new Map(modules.map((module) => [module.specifier, module]));
  for (const name of LIGHT) {
    const loaded = loadedBy(`commands/${name}.ts`, bySpecifier);
    assert.ok(loaded.size > 10, name);
    assert.deepEqual([...loaded].filter((each) => HEAVY.some((file) => each.endsWith(`/${file}`))), [], name);
  }
});
