import assert from "node:assert/strict";
import { framingOf, manufacturerCode, manufacturerName } from "../../src/pgn/mod.ts";
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

Deno.test("manufacturers have the names of the canboat registry where the peer's table is wrong", () => {
  const expected = { 69: "ARKS", 137: "Maretron", 174: "Volvo Penta", 275: "Navico", 717: "Yacht Devices" };
  for (const [code, start] of Object.entries(expected)) {
    assert.ok(manufacturerName(Number(code)).startsWith(start), `${code}: ${manufacturerName(Number(code))}`);
  }
  assert.equal(new Set([1850, 1851, 1852, 1853, 1854, 1855].map(manufacturerName)).size, 6);
  assert.equal(manufacturerName(1851), "Raymarine");
  assert.equal(manufacturerName(1855), "Furuno");
});

Deno.test("a code that nobody has registered is named as unknown with its number", () => {
  assert.equal(manufacturerName(2047), "Unknown (2047)");
});

Deno.test("a manufacturer is found by name in any case, by code and by alias", () => {
  for (const text of ["Garmin", "garmin", "GARMIN", " Garmin ", "229"]) assert.equal(manufacturerCode(text), 229, text);
  for (const text of ["Victron", "victron", "VICTRON ENERGY", "358"]) assert.equal(manufacturerCode(text), 358, text);
  assert.equal(manufacturerCode("b&g"), 381);
  assert.equal(manufacturerCode("0"), 0);
  assert.equal(manufacturerCode(manufacturerName(2047)), 2047);
});

Deno.test("what is no manufacturer has no code", () => {
  for (const text of ["", "Nobody", "-1", "22.9", "0xe5", "12345", "Garmin Inc", "constructor", "__proto__"]) {
    assert.equal(manufacturerCode(text), undefined, text);
  }
});

Deno.test("every registered manufacturer is found again by the name shown for it", () => {
  const [, table] = definitions.tables.find(([name]) => name === "MANUFACTURER_CODE")!;
  const codes = Object.keys(JSON.parse(table!)).map(Number);
  assert.ok(codes.length > 250);
  for (const code of codes) assert.equal(manufacturerCode(manufacturerName(code)), code);
});
