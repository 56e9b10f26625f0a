import assert from "node:assert/strict";
import { needs } from "./support/needs.ts";
import { handWrittenPages } from "./support/pages.ts";
import { readSource, type Source } from "./support/source.ts";
import {
  type FileFinding,
  folderOf,
  foldersWithoutFace,
  forbiddenImports,
  IMPORT_TABLE,
  importCycles,
  sharedPackages,
} from "./support/tidy_imports.ts";
import { LOADED_BY_ADDRESS } from "../scripts/compile/bundle.ts";
import { type Rule, RULES } from "./support/tidy_rules.ts";

const ROOT = new URL("../", import.meta.url);
const FOLDERS = ["src", "cli", "web", "scripts", "tests"];
const READ = needs({ permissions: ["read"] });

/** A rule that needs all files, with files that break it once each and files that do not. */
interface WholeRule {
  claim: string;
  find: (sources: readonly Source[]) => Iterable<FileFinding>;
  bad: Record<string, string>[];
  good: Record<string, string>[];
}

const WHOLE_RULES: readonly WholeRule[] = [
  {
    claim: "imports follow the table, through mod.ts",
    find: forbiddenImports,
    bad: [
      { "src/base/a.ts": `import { b } from "../frame/mod.ts";` },
      { "src/http/a.ts": `import { b } from "../frame/name.ts";` },
      { "src/http/a.ts": `import type { b } from "../integrations/mod.ts";` },
      { "src/http/a.ts": `const b = await import("../boat/mod.ts");` },
      { "src/boat/a.ts": `export * from "../http/streams/sse.ts";` },
      { "src/new/a.ts": `import { b } from "../base/mod.ts";` },
      { "src/http/a.ts": `import b from "../../deno.json" with { type: "json" };` },
      { "src/http/a.ts": `import { b } from "@vessel/gateway";` },
      { "cli/a.ts": `import { b } from "../src/base/mod.ts";` },
      { "web/a.tsx": `import { b } from "../src/client/mod.ts";` },
      { "web/a.tsx": `import { b } from "@vessel/gateway/journal";` },
      { "mod.ts": `export * from "./src/http/streams/sse.ts";` },
    ],
    good: [
      {
        "src/http/a.ts":
          `import { b } from "./b.ts";\nimport { c } from "../broker/mod.ts";\nimport { d } from "hono";`,
      },
      { "src/boat/a.ts": `import { b } from "../http/mod.ts";\nimport { d } from "../version.ts";` },
      { "cli/a.ts": `import { b } from "@vessel/gateway/frame";\nimport { c } from "./c.ts";` },
      { "web/a.tsx": `import { b } from "@vessel/gateway/client";\nimport { c } from "./c.ts";` },
      { "mod.ts": `export * from "./src/boat/mod.ts";\nexport * from "./src/frame/mod.ts";` },
      { "tests/a_test.ts": `import { b } from "../src/http/sse.ts";` },
    ],
  },
  {
    claim: "no files import each other in a ring",
    find: importCycles,
    bad: [
      { "src/a/a.ts": `import { b } from "./b.ts";`, "src/a/b.ts": `import type { a } from "./a.ts";` },
      {
        "src/a/a.ts": `export * from "./b.ts";`,
        "src/a/b.ts": `import "./c.ts";`,
        "src/a/c.ts": `import { a } from "./a.ts";`,
      },
    ],
    good: [{ "src/a/a.ts": `import "./b.ts";\nimport "./c.ts";`, "src/a/b.ts": `import "./c.ts";`, "src/a/c.ts": "" }],
  },
  {
    claim: "each package is imported by one folder",
    find: (sources) => [...sharedPackages(sources)].slice(0, 1),
    bad: [
      { "src/http/a.ts": `import { a } from "hono";`, "src/cloud/a.ts": `import { b } from "hono/ws";` },
      { "src/http/a.ts": `import "npm:@x/y@1";`, "cli/a.ts": `await import("@x/y");` },
      { "src/http/a.ts": `import "zod";`, "cli/commands/send/a.ts": `import "zod";` },
    ],
    good: [{
      "src/http/a.ts": `import "hono";\nimport "node:fs";`,
      "src/http/b.ts": `import "hono/ws";`,
      "src/can/b.ts": `import "node:fs";`,
      "tests/b.ts": `import "hono";`,
    }, { "src/http/a.ts": `import "zod";`, "cli/commands/mcp/a.ts": `import "zod";` }],
  },
  {
    claim: "every folder of src has a mod.ts",
    find: foldersWithoutFace,
    bad: [{ "src/a/b.ts": "" }],
    good: [{ "src/a/b.ts": "", "src/a/mod.ts": "", "src/version.ts": "" }],
  },
];

/** All TypeScript files of the repository. */
function readRepository(): Source[] {
  const sources: Source[] = [readSource("mod.ts", Deno.readTextFileSync(new URL("mod.ts", ROOT)))];
  const visit = (folder: string): void => {
    for (const { name, isDirectory } of Deno.readDirSync(new URL(folder + "/", ROOT))) {
      const path = `${folder}/${name}`;
      if (isDirectory && name !== "node_modules") visit(path);
      if (/\.tsx?$/.test(name)) sources.push(readSource(path, Deno.readTextFileSync(new URL(path, ROOT))));
    }
  };
  FOLDERS.forEach(visit);
  return sources;
}

/** The repository, read once for all tests. */
let repository: Source[] | undefined;
function sourcesOfRepository(): Source[] {
  return repository ??= readRepository();
}

function inFile({ where, find }: Rule, source: Source): FileFinding[] {
  return where(source.path) ? [...find(source)].map((finding) => ({ path: source.path, ...finding })) : [];
}

function expectNone(findings: FileFinding[]): void {
  const text = findings.map(({ path, line, what }) => `${path}:${line} ${what}`).join("\n");
  assert.equal(text, "", `\n${text}`);
}

function sourcesOf(files: Record<string, string>): Source[] {
  return Object.entries(files).map(([path, text]) => readSource(path, text));
}

for (const rule of RULES) {
  Deno.test(`tidy: ${rule.claim}`, READ, () => {
    expectNone(sourcesOfRepository().flatMap((source) => inFile(rule, source)));
  });
  Deno.test(`tidy sees when this is broken: ${rule.claim}`, () => {
    assert.ok(rule.bad.length > 0 && rule.good.length > 0);
    for (const [path, text] of rule.bad) assert.equal(inFile(rule, readSource(path, text)).length, 1, text);
    for (const [path, text] of rule.good) expectNone(inFile(rule, readSource(path, text)));
  });
}

for (const { claim, find, bad, good } of WHOLE_RULES) {
  Deno.test(`tidy: ${claim}`, READ, () => expectNone([...find(sourcesOfRepository())]));
  Deno.test(`tidy sees when this is broken: ${claim}`, () => {
    for (const files of bad) assert.equal([...find(sourcesOf(files))].length, 1, JSON.stringify(files));
    for (const files of good) expectNone([...find(sourcesOf(files))]);
  });
}

Deno.test("tidy: the import table has no ring and names no folder that it does not have", () => {
  const rank = Object.keys(IMPORT_TABLE);
  for (const [folder, allowed] of Object.entries(IMPORT_TABLE)) {
    for (const other of allowed) {
      assert.ok(rank.includes(other), `${folder} → ${other}`);
      assert.ok(!IMPORT_TABLE[other]!.includes(folder), `${folder} ⇄ ${other}`);
    }
  }
});

Deno.test(
  "ARCHITECTURE.md says of every folder of src what may be imported, and marks at most eight as core",
  READ,
  () => {
    const text = Deno.readTextFileSync(new URL("ARCHITECTURE.md", ROOT));
    const listOf = (cell: string) => cell.split(", ").filter((word) => word !== "–");
    const parts = listOf(/^parts: (.*)$/m.exec(text)?.[1] ?? "");
    const rows = Array.from(
      text.matchAll(/^\| `src\/(\w+)` \| (.*) \| (.*) \|$/gm),
      ([, folder = "", what, cell = ""]) => ({
        ...{ folder, isCore: what?.startsWith("**core**") },
        may: listOf(cell).flatMap((word) => word === "parts" ? parts : [word]),
      }),
    );
    assert.deepEqual(rows.map(({ folder, may }) => [folder, may.toSorted()]), foldersOfSource());
    assert.ok(rows.filter(({ isCore }) => isCore).length <= 8);
  },
);

/** Folders of src that are there, in the order of the import table, each with what it may import. */
function foldersOfSource(): [string, string[]][] {
  const there = new Set(sourcesOfRepository().map(({ path }) => folderOf(path)));
  return Object.entries(IMPORT_TABLE).filter(([folder]) => there.has(folder))
    .map(([folder, allowed]) => [folder, allowed.toSorted()]);
}

Deno.test("ARCHITECTURE.md and the pages that are written by hand name only files that are there", READ, async () => {
  const missing: string[] = [];
  for (const page of await handWrittenPages()) {
    const text = await Deno.readTextFile(new URL(page, ROOT));
    const named = Array.from(
      text.matchAll(/`((?:src|cli|tests|scripts|docs|proto)\/[\w/.-]+\.\w+)`/g),
      ([, path]) => path ?? "",
    );
    const linked = Array.from(
      text.matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g),
      ([, path]) => new URL(path ?? "", new URL(page, ROOT)),
    );
    for (const place of [...named.map((path) => new URL(path, ROOT)), ...linked]) {
      if (!/FORMAT/.test(place.href) && !await pathExists(place)) missing.push(`${page}: ${place.pathname}`);
    }
  }
  assert.deepEqual(missing, []);
});

Deno.test("tidy looks at the whole repository", READ, () => {
  const paths = sourcesOfRepository().map(({ path }) => path);
  for (const path of ["mod.ts", "src/broker/ring.ts", "cli/boat.ts", "scripts/definitions.ts", "tests/tidy_test.ts"]) {
    assert.ok(paths.includes(path), path);
  }
  assert.ok(new Set(paths.map(folderOf)).size > 6);
});

async function pathExists(place: URL): Promise<boolean> {
  return await Deno.stat(place).then(() => true, () => false);
}

Deno.test("tidy: every file that a program loads by its address is handed out with it", READ, () => {
  const found = sourcesOfRepository().filter(({ path }) => /^(src|cli)\//.test(path)).flatMap(({ path, text }) =>
    [...text.matchAll(/new URL\("\.\/([\w/]+\.ts)", import\.meta\.url\)/g)]
      .map(([, name]) => `${path.slice(0, path.lastIndexOf("/"))}/${name}`)
  );
  assert.deepEqual(new Set(found), new Set(LOADED_BY_ADDRESS));
});
