import assert from "node:assert/strict";
import { boundFilter, type Filter, FilterError, MAX_FILTER_ENTRIES } from "../../src/filter/mod.ts";

const FULL = Array.from({ length: MAX_FILTER_ENTRIES }, (_, index) => index);

function refusedField(filter: Filter): string | undefined {
  try {
    boundFilter(filter);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof FilterError);
    return error.field;
  }
}

Deno.test("a filter has at most 256 entries in all its lists, and the list that passes them is named", () => {
  assert.deepEqual(boundFilter({ pgn: FULL }), { pgn: FULL });
  assert.equal(refusedField({ pgn: [...FULL, 256] }), "pgn");
  assert.equal(refusedField({ pgn: FULL, bus: ["can0"] }), "bus");
  assert.equal(refusedField({ pgn: FULL.slice(56), instance: FULL.slice(0, 57) }), "instance");
  assert.equal(refusedField({ exclude_name: FULL.map((id) => id.toString(16)), name: ["1"] }), "exclude_name");
});

Deno.test("an entry that says the same again is left out and does not count", () => {
  const twice = { pgn: [...FULL, ...FULL, 7] };
  assert.deepEqual(boundFilter(twice), { pgn: FULL });
  assert.deepEqual(
    boundFilter({
      pgn: [],
      manufacturer: ["Garmin", "GARMIN", "229", "garmin"],
      name: ["0x0A", "a", "A", "000000000000000a", "b"],
      bus: ["can0", "CAN0", "can0"],
    }),
    { pgn: [], manufacturer: ["Garmin", "229"], name: ["0x0A", "b"], bus: ["can0", "CAN0"] },
  );
});

Deno.test("a text in a filter has at most 128 characters", () => {
  assert.equal(refusedField({ manufacturer: ["m".repeat(128)] }), undefined);
  assert.equal(refusedField({ manufacturer: ["m".repeat(129)] }), "manufacturer");
  assert.equal(refusedField({ bus: ["can0", "b".repeat(129)] }), "bus");
});
