import assert from "node:assert/strict";
import {
  decode,
  describePayload,
  describePgn,
  type FieldDescription,
  type ItemDescription,
  listPgns,
} from "../../src/pgn/mod.ts";

/** Field or group of a PGN's only layout. */
function item(pgn: number, name: string): ItemDescription | undefined {
  return describePgn(pgn)?.layouts[0]?.fields.find((each) => each.name === name);
}

function everyField(): { pgn: number; layout: string; field: FieldDescription }[] {
  return [...listPgns()].flatMap(({ pgn }) =>
    (describePgn(pgn)?.layouts ?? []).flatMap(({ id, fields }) =>
      fields.flatMap((each): FieldDescription[] => "fields" in each ? each.fields : [each])
        .map((field) => ({ pgn, layout: id, field }))
    )
  );
}

Deno.test("a field is described with its unit, its step, and what its bits can tell without the codes for not available", () => {
  const { tolerance: _, ...latitude } = { tolerance: 0, ...item(129025, "latitude") };
  assert.deepEqual(latitude, {
    name: "latitude",
    type: "number",
    unit: "deg",
    bits: 32,
    min: -214.7483648,
    max: 214.7483646,
    resolution: 1e-7,
  });
});

Deno.test("greatest and least value are what a payload with these bits is decoded to", () => {
  const wind = (raw: number) => decode(130306, Uint8Array.of(1, raw & 0xff, raw >> 8, 0, 0, 2, 0xff, 0xff))?.wind_speed;
  const speed = item(130306, "wind_speed");
  assert.ok(speed && !("fields" in speed));
  assert.deepEqual([wind(0), wind(0xfffe)], [speed.min, speed.max]);
  assert.equal(wind(0xffff), null);
});

Deno.test("a list of objects is described as a group with the fields of each", () => {
  const satellites = item(129540, "satellites");
  assert.ok(satellites && "fields" in satellites);
  assert.equal(satellites.type, "group");
  assert.ok(satellites.count !== undefined && satellites.fields.length >= 4);
});

Deno.test("layouts of a proprietary PGN are told apart by what they match, each match with its label", () => {
  const layouts = describePgn(126720)?.layouts ?? [];
  assert.ok(layouts.length > 10);
  for (const { id, matches = [], fields } of layouts) {
    assert.ok(matches.length >= 1, id);
    assert.deepEqual([matches[0]?.bit, matches[0]?.bits], [0, 11], `${id} begins with its maker's code`);
    for (const { name, value, label } of matches) {
      if (name === undefined) continue;
      const field = fields.find((each) => each.name === name);
      assert.ok(field && !("fields" in field), `${id}: ${name}`);
      if (label !== undefined) assert.deepEqual(field.labels, { [value]: label }, `${id}: ${name}`);
    }
  }
});

/** Layouts that come behind one with the same discriminators in canboat, too, and so are never taken for a payload. */
const NEVER_REACHED = ["126720 maretronProprietaryConfiguration", "130820 bepMarineProprietaryPgn130820"];

Deno.test("no layout stands behind one that fits all of its payloads, but where canboat tells them in no way apart", () => {
  const hidden: string[] = [];
  for (const { pgn } of listPgns()) {
    const before: Set<string>[] = [];
    for (const { id, matches = [] } of describePgn(pgn)?.layouts ?? []) {
      const told = new Set(matches.map(({ bit, bits, value }) => `${bit} ${bits} ${value}`));
      if (before.some((each) => each.isSubsetOf(told))) hidden.push(`${pgn} ${id}`);
      before.push(told);
    }
  }
  assert.deepEqual(hidden, NEVER_REACHED);
});

Deno.test("a message is called after the layout that fits, and after its PGN when none does", () => {
  const [layout] = describePgn(126720)?.layouts ?? [];
  assert.equal(describePayload(126720, Uint8Array.of(0xff, 0xff, 0xff)), "Proprietary");
  assert.equal(describePgn(126720)?.description, "Proprietary");
  assert.notEqual(layout?.description, "Proprietary");
  const garmin = Uint8Array.of(229, 0x98, 0x61, 0x06);
  assert.equal(describePayload(126720, garmin), layout?.description);
  assert.equal(describePgn(65283)?.layouts.length, 1);
  assert.equal(describePayload(65283, Uint8Array.of(0xff, 0xff)), "Proprietary", "though another maker's is known");
  assert.equal(describePayload(129025, new Uint8Array(8)), describePgn(129025)?.description);
  assert.equal(describePayload(1, new Uint8Array(8)), undefined);
  assert.equal(describePgn(1), undefined);
});

Deno.test("variants of one thing are called by what they have in common", () => {
  assert.equal(describePgn(60416)?.description, "ISO Transport Protocol, Connection Management");
  assert.equal(describePgn(126208)?.description, "NMEA group function");
  assert.match(describePayload(126208, Uint8Array.of(1, 0, 0, 0)) ?? "", /^NMEA group function: /);
});

Deno.test("every field of every PGN has a name, an order of its range, and labels that are texts", () => {
  const fields = everyField();
  assert.ok(fields.length > 2000);
  for (const { pgn, layout, field: { name, bits, min, max, resolution, labels } } of fields) {
    const at = `PGN ${pgn} ${layout} ${name}`;
    assert.match(name, /^[a-z0-9_]+$/, at);
    if (bits !== undefined) assert.ok(Number.isInteger(bits) && bits >= 0, at);
    if (min !== undefined || max !== undefined) assert.ok(min !== undefined && max !== undefined && min < max, at);
    if (resolution !== undefined) assert.ok(resolution > 0, at);
    for (const label of Object.values(labels ?? {})) assert.ok(label !== "", at);
  }
});
