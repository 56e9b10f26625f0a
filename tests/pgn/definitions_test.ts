import assert from "node:assert/strict";
import { generateDefinitions } from "../../scripts/definitions.ts";
import definitions from "../../src/pgn/definitions.gen.json" with { type: "json" };
import { needs } from "../support/needs.ts";

Deno.test("definitions.gen.json is what the pinned package gives", needs({ permissions: ["read"] }), async () => {
  const committed = await Deno.readTextFile(new URL("../../src/pgn/definitions.gen.json", import.meta.url));
  assert.ok(await generateDefinitions() === committed, "stale: run deno task definitions");
});

Deno.test("definitions list every PGN once, in order, with a framing that is known", () => {
  const pgns = definitions.pgns.map(([pgn]) => Number(pgn));
  assert.ok(pgns.length > 300);
  assert.deepEqual(pgns, [...new Set(pgns)].sort((a, b) => a - b));
  for (const [pgn, type, description] of definitions.pgns) {
    assert.ok(["single", "fast", "iso"].includes(String(type)), `PGN ${pgn}: ${type}`);
    assert.ok(String(description).length > 0, `PGN ${pgn}`);
  }
});

Deno.test("definitions list every manufacturer code once, within 11 bits", () => {
  const codes = definitions.manufacturers.map(([code]) => Number(code));
  assert.equal(new Set(codes).size, codes.length);
  assert.ok(codes.every((code) => code >= 0 && code < 2 ** 11));
});
