import assert from "node:assert/strict";
import { compileArgs, explainFailure, programsFor, TARGETS } from "../../scripts/compile.ts";
import { LOADED_BY_ADDRESS, repairBundle } from "../../scripts/compile/bundle.ts";

/** Files that are loaded by their address, besides the worker. */
const PACKAGES = LOADED_BY_ADDRESS.filter((path) => !path.endsWith("_worker.ts"))
  .map((path) => ({ name: path.replace(/^.*\/|\.ts$/g, ""), path: path.replace(/\.ts$/, "") }));
/** What the bundler writes where a repair is needed. */
const FILES: [string, string][] = [
  [
    "chunk-A.js",
    'new URL("./pack_worker.ts", import.meta.url);\nvar fn = map[path];\nawait import("./lib-B.js");\n' +
    PACKAGES.map(({ name }) => `new URL("./${name}.ts", import.meta.url);`).join("\n"),
  ],
  ["lib-B.js", "readFile(resolve(__dirname, 'x'));\nexport default require_lib();\n"],
];

Deno.test("servers are compiled for Linux alone, the client for every system", () => {
  for (const target of TARGETS) {
    const names = programsFor(target).map(({ name }) => name);
    assert.deepEqual(names, target.includes("linux") ? ["vbg-boat", "vbg-cloud", "vbg"] : ["vbg"]);
  }
});

Deno.test("what runs in a thread of its own is compiled in, and the runtime's flags are kept", () => {
  const [boat] = programsFor("x86_64-unknown-linux-gnu");
  assert.ok(boat);
  const words = compileArgs(boat, { target: "x86_64-unknown-linux-gnu", path: "/a b/vbg-boat" });
  for (const file of LOADED_BY_ADDRESS) assert.ok(words.join(" ").includes(`--include ${file}`), file);
  assert.deepEqual(words.slice(-5), [
    "--target",
    "x86_64-unknown-linux-gnu",
    "--output",
    "/a b/vbg-boat",
    "cli/main_boat.ts",
  ]);
  assert.ok(words.includes("--v8-flags=--max-semi-space-size=4"));
});

Deno.test("a runtime that cannot be downloaded is told with what to do instead; other failures in their own words", () => {
  const url = "https://dl.deno.land/release/v2.9.5/denort-x86_64-unknown-linux-gnu.zip";
  const stderr =
    `\x1b[32mDownload\x1b[0m ${url}\nerror: Setting up base binary.\n sending request for url (${url}): dns`;
  assert.equal(
    explainFailure(stderr, "x86_64-unknown-linux-gnu"),
    `Cannot download the runtime for x86_64-unknown-linux-gnu (${url}): compile on a machine that can, or run ` +
      "deno task compile --portable, which downloads nothing",
  );
  assert.equal(explainFailure("error: no space\n", "any"), "Cannot compile for any: error: no space");
});

Deno.test("a bundle's worker, package files and late packages are found again", () => {
  const repaired = repairBundle(new Map(FILES));
  assert.equal(
    repaired.get("chunk-A.js"),
    'new URL("./src/journal/block/pack_worker.js", import.meta.url);\nvar fn = map[path] ?? map[path + ".js"];\n' +
      'await import("./lib-B.js").then(({ default: all }) => ({ ...all, default: all }));\n' +
      PACKAGES.map(({ path }) => `new URL("./${path}.js", import.meta.url);`).join("\n"),
  );
  assert.equal(
    repaired.get("lib-B.js"),
    "readFile(resolve(import.meta.dirname, 'x'));\nexport default require_lib();\n",
  );
});

Deno.test("a bundler that writes something else is noticed", () => {
  for (const lost of ["./pack_worker.ts", "./mqtt_package.ts", "__dirname", "map[path]", 'import("./lib-B.js")']) {
    const files = new Map(FILES.map(([name, text]) => [name, text.replace(lost, "")]));
    assert.throws(() => repairBundle(files), /^Error: Cannot repair the bundle: nothing to do where /, lost);
  }
});
