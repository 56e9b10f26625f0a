import assert from "node:assert/strict";
import { describePgn } from "../../src/pgn/mod.ts";
import { decode, encode } from "../../src/pgn/mod.ts";
import { fieldsOf, inputsOf } from "../../web/views/send_fields.ts";

Deno.test("what is typed into the form of a PGN is encoded by the server as it was meant", () => {
  const [layout] = describePgn(127250)?.layouts ?? [];
  assert.ok(layout);
  const inputs = inputsOf(layout);
  assert.deepEqual(inputs.map(({ name, unit }) => [name, unit]).slice(1, 4), [
    ["heading", "rad"],
    ["deviation", "rad"],
    ["variation", "rad"],
  ]);
  const reference = inputs.find(({ name }) => name === "heading_reference");
  assert.ok(reference?.choices?.includes("magnetic"), JSON.stringify(reference));
  const fields = fieldsOf(inputs, { heading: " 1,5 ", heading_reference: "magnetic", deviation: "" });
  assert.deepEqual(fields, { heading: 1.5, heading_reference: "magnetic" });
  const decoded = decode(127250, encode(127250, fields));
  assert.equal(decoded?.heading_reference, "magnetic");
  assert.equal(decoded?.heading, 1.5);
});

Deno.test("a form has no inputs for what the layout fixes, nor for lists", () => {
  for (const pgn of [126208, 65305, 130820]) {
    for (const layout of describePgn(pgn)?.layouts ?? []) {
      const fixed = layout.matches?.map(({ name }) => name) ?? [];
      const lists = layout.fields.filter(({ type }) => type === "group").map(({ name }) => name);
      for (const { name } of inputsOf(layout)) assert.ok(!fixed.includes(name) && !lists.includes(name), name);
    }
  }
});
