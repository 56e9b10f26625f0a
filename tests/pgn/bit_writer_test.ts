import assert from "node:assert/strict";
import { readRaw } from "../../src/pgn/field.ts";
import { BitWriter } from "../../src/pgn/bit_writer.ts";
import { Random } from "../support/random.ts";
import { definitionsOf, type Field, isGroup, knownPgns } from "../../src/pgn/model.ts";
import { rangeOf } from "../../src/pgn/field.ts";

Deno.test("bits are written lowest first, a byte that was begun ends with ones", () => {
  const writer = new BitWriter();
  writer.raw(5, 3);
  assert.equal(writer.take().toHex(), "fd");
  writer.raw(-2, 8);
  assert.equal(writer.take().toHex(), "f5ff");
  assert.equal(writer.bit, 11);
  writer.align(0);
  writer.raw(0x0123_4567_89ab_cdefn, 64);
  assert.equal(writer.take().toHex(), "f507efcdab8967452301");
  assert.equal(new BitWriter().take().length, 0);
});

Deno.test("what is written at any width and place is read back", () => {
  const random = new Random(5);
  for (let round = 0; round < 300; round++) {
    const writer = new BitWriter();
    const written = Array.from({ length: random.int(60) }, () => {
      const bits = random.between(1, 64);
      const signed = random.chance(0.5);
      const raw = signed ? BigInt.asIntN(bits, random.bits64()) : BigInt.asUintN(bits, random.bits64());
      const bit = writer.bit;
      writer.raw(bits > 48 ? raw : Number(raw), bits);
      return { bit, bits, signed, raw };
    });
    const payload = writer.take();
    for (const { bit, bits, signed, raw } of written) {
      assert.equal(BigInt(readRaw({ payload, bit }, { bits, signed })), raw, `${bits} bits at ${bit}`);
    }
  }
});

function fieldOf(pgn: number, name: string): Field {
  const items = definitionsOf(pgn).flatMap(({ items }) => items).flatMap((item) =>
    isGroup(item) ? item.fields : [item]
  );
  return items.find((field) => field.name === name)!;
}

Deno.test("a range has the unit of its field, no rounding noise and no codes for what is not available", () => {
  const expected: [number, string, number, number][] = [
    [130306, "wind_speed", 0, 655.34],
    [127250, "deviation", -3.2768, 3.2766],
    [127252, "heave", -327.68, 327.64],
    [65013, "real_power", -2_000_000_000, 2_294_967_294],
    [127501, "indicators", 0, 3],
    [129540, "sats_in_view", 0, 255],
    [129029, "latitude", -922.3372036854776, 922.3372036854776],
    [129038, "raim", 0, 1],
  ];
  for (const [pgn, name, min, max] of expected) assert.deepEqual(rangeOf(fieldOf(pgn, name)), { min, max }, name);
});

Deno.test("texts, bytes, floats, dates and labels have no range of numbers", () => {
  const others = [[126996, "model_id"], [60160, "data"], [130321, "salinity"], [129033, "date"]] as const;
  for (const [pgn, name] of [...others, [130306, "wind_reference"], [61184, "register"]] as const) {
    assert.equal(rangeOf(fieldOf(pgn, name)), undefined, name);
  }
});

Deno.test("of every field of every layout: the range is finite and not upside down", () => {
  for (const { id, items } of knownPgns().flatMap(definitionsOf)) {
    for (const field of items.flatMap((item) => isGroup(item) ? item.fields : [item])) {
      const range = rangeOf(field);
      if (range) assert.ok(range.min <= range.max && Number.isFinite(range.max - range.min), `${id}.${field.name}`);
    }
  }
});
