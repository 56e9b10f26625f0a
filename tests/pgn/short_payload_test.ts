import assert from "node:assert/strict";
import { decode } from "../../src/pgn/mod.ts";
import { interpret, matchesPayload } from "../../src/pgn/interpret.ts";
import { definitionsOf, type Field, isGroup, knownPgns, widthOf } from "../../src/pgn/model.ts";
import { randomPayload } from "../support/payloads.ts";
import { Random } from "../support/random.ts";

/** Types of numbers and labels; others are empty texts, or are never null. */
const TYPES = new Set(["number", "pgn", "enum", "indirect", "hex", "date", "time", "float", "bits", "binary"]);

/** The fields before the first of variable width, with their offsets in bits. */
function fixedFields(items: ReturnType<typeof definitionsOf>[number]["items"]): { field: Field; bit: number }[] {
  const fields: { field: Field; bit: number }[] = [];
  let bit = 0;
  for (const item of items) {
    const width = isGroup(item) ? undefined : widthOf(item);
    if (isGroup(item) || width === undefined) break;
    fields.push({ field: item, bit });
    bit += width;
  }
  return fields;
}

/** Numbers of the fields that follow, and how long a following field is. */
function isCount({ items }: ReturnType<typeof definitionsOf>[number], { name }: Field): boolean {
  return items.some((item) => isGroup(item) ? item.count === name : item.by === name && item.type === "binary");
}

Deno.test("a field that begins behind the end of the payload is null, unless it is one bit, a count or a list", () => {
  const random = new Random(12);
  let checked = 0;
  for (const definition of knownPgns().flatMap(definitionsOf)) {
    const fields = fixedFields(definition.items).filter(({ field }) =>
      field.name !== undefined && TYPES.has(field.type) && field.bits !== 1 && field.repeat === undefined &&
      field.match === undefined && field.always === undefined && !isCount(definition, field)
    );
    const whole = randomPayload(random, definition);
    for (let length = 0; length <= whole.length; length++) {
      const payload = whole.slice(0, length);
      if (definitionsOf(definition.pgn).find((each) => matchesPayload(each, payload)) !== definition) continue;
      const [compiled, walked] = [decode(definition.pgn, payload), interpret(definition.pgn, payload)];
      assert.deepEqual(compiled, walked);
      for (const { field: { name = "" }, bit } of fields) {
        if (bit < length * 8 || compiled === undefined) continue;
        checked++;
        assert.equal(compiled[name], null, `${definition.pgn} ${definition.id} ${name}: ${payload.toHex()}`);
      }
    }
  }
  assert.ok(checked > 10_000, `${checked} values`);
});

Deno.test("a man-overboard message without a position has none", () => {
  const payload = Uint8Array.from([1, 2, 3, 4, 5]);
  const decoded = decode(127233, payload);
  assert.deepEqual([decoded?.latitude, decoded?.longitude], [null, null]);
});
