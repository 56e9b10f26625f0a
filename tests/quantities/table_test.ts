import assert from "node:assert/strict";
import { describePgn } from "../../src/pgn/mod.ts";
import { CATEGORIES, QUANTITIES, readQuantities } from "../../src/quantities/mod.ts";
import { decode } from "../../src/pgn/mod.ts";

Deno.test("every field, unit and label of the table is in the PGN's description", () => {
  for (const row of QUANTITIES) {
    const description = describePgn(row.pgn);
    const fields = new Map(description?.layouts.flatMap(({ fields }) => fields).map((field) => [field.name, field]));
    const at = `${row.pgn} ${row.key}`;
    const placeholders = Array.from(row.key.matchAll(/\{(\w+)\}/g), ([, name = ""]) => name);
    for (const name of [row.field, row.also, ...Object.keys(row.when ?? {}), ...placeholders]) {
      if (name !== undefined) assert.ok(fields.has(name), `${at}: ${name}`);
    }
    const field = fields.get(row.field);
    assert.equal(field && "unit" in field ? field.unit : undefined, row.unit, at);
    for (const [name, wanted] of Object.entries(row.when ?? {})) {
      const labels = fields.get(name);
      assert.ok(
        labels && "labels" in labels && Object.values(labels.labels ?? {}).includes(String(wanted)),
        `${at}: ${wanted}`,
      );
    }
    for (const [name, words] of Object.entries(row.words ?? {})) {
      const labels = fields.get(name);
      const known = Object.values((labels && "labels" in labels && labels.labels) || {});
      assert.deepEqual(
        words.map((each) => each.toLowerCase()),
        known.map((each) => each.toLowerCase()),
        `${at}: ${name}`,
      );
    }
    assert.ok(CATEGORIES.includes(row.category));
  }
});

/** Keys and values of a payload. */
function read(pgn: number, hex: string) {
  const decoded = decode(pgn, Uint8Array.fromHex(hex)) ?? {};
  return readQuantities(pgn, decoded).map(({ key, value }) => [key, value]);
}

Deno.test("a payload gives the quantities that it carries, by reference, type and instance", () => {
  assert.deepEqual(read(130306, "0064001027faffff"), [["wind.apparent.speed", 1], ["wind.apparent.angle", 1]]);
  assert.deepEqual(read(130306, "0064001027fbffff"), [["wind.true_boat.speed", 1], ["wind.true_boat.angle", 1]]);
  assert.deepEqual(read(127505, "10401f10270000ff"), [["tank.water.0.level", 32], ["tank.water.0.capacity", 1000]]);
  assert.deepEqual(read(130312, "000301407200ffff"), [["temperature.outside.3", 292.48]]);
  assert.deepEqual(read(127488, "0140380000ffffff"), [["engine.1.speed", 3600], ["engine.1.boost", 0]]);
  assert.deepEqual(read(127493, "00fcffffff0000ff")[0], ["gear.0", "Forward"]);
  assert.deepEqual(read(127250, "00102700000000fd"), [["heading.magnetic", 1]]);
  assert.deepEqual(read(128267, "00ffffffff0000ff"), [["depth", undefined], ["depth.offset", 0]]);
  assert.deepEqual(read(126992, "00f00000000000ff"), []);
});
