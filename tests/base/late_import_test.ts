import assert from "node:assert/strict";
import { importLate } from "../../src/base/mod.ts";
import { needs } from "../support/needs.ts";

const READ = needs({ permissions: ["read"] });

Deno.test("a file that is loaded late has its exports", READ, async () => {
  const { importLate: again } = await importLate<typeof import("../../src/base/mod.ts")>(
    new URL("../../src/base/mod.ts", import.meta.url),
  );
  assert.equal(again, importLate);
});

Deno.test("a file that cannot be loaded is told in one line, with what to do", READ, async () => {
  await assert.rejects(
    importLate(new URL("./not_there.ts", import.meta.url)),
    /^Error: Module not found .*; run "deno install" once with a connection to the internet, then restart$/,
  );
});
