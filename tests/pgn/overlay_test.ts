import assert from "node:assert/strict";
import { framingOf, manufacturerCode } from "../../src/pgn/mod.ts";
import { FRAMING_CORRECTIONS, MANUFACTURER_ALIASES } from "../../src/pgn/overlay.ts";
import definitions from "../../src/pgn/definitions.gen.json" with { type: "json" };

Deno.test("every framing correction is in force, told once and says why", () => {
  const all = FRAMING_CORRECTIONS.flatMap(({ pgns }) => pgns);
  assert.equal(new Set(all).size, all.length);
  for (const { pgns, framing, reason } of FRAMING_CORRECTIONS) {
    for (const pgn of pgns) assert.equal(framingOf(pgn), framing, `PGN ${pgn}`);
    assert.ok(reason.length > 10, `PGN ${pgns}`);
  }
});

Deno.test("every manufacturer alias is lower case, no name of another and leads to a registered code", () => {
  const [, table] = definitions.tables.find(([name]) => name === "MANUFACTURER_CODE")!;
  const names = new Map(
    Object.entries<string>(JSON.parse(table!)).map(([code, name]) => [name.toLowerCase(), Number(code)]),
  );
  const codes = new Set(names.values());
  for (const [alias, code] of Object.entries(MANUFACTURER_ALIASES)) {
    assert.equal(alias, alias.toLowerCase());
    assert.ok(codes.has(code), alias);
    assert.ok(!names.has(alias), `${alias} is a name in the definitions`);
    assert.equal(manufacturerCode(alias), code);
  }
});
