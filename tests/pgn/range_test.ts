import assert from "node:assert/strict";
import { definitionsOf, type Field, isGroup, knownPgns } from "../../src/pgn/model.ts";
import { rangeOf } from "../../src/pgn/field.ts";

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
