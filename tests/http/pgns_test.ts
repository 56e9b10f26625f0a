import assert from "node:assert/strict";
import type { PgnDescription, PgnSummary } from "../../src/pgn/mod.ts";
import { TestBoat } from "../support/boat.ts";

Deno.test("/pgns lists every PGN that is described, ascending, with name, framing and number of layouts", async () => {
  await using boat = await TestBoat.start();
  const pgns = await boat.get<PgnSummary[]>("/pgns");
  assert.ok(pgns.length > 200);
  const numbers = pgns.map(({ pgn }) => pgn);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  for (const { pgn, description, framing, layouts } of pgns) {
    assert.ok(description !== "" && layouts >= 1, `PGN ${pgn}`);
    assert.match(framing, /^(single|fast|either)$/);
  }
  const position = pgns.find(({ pgn }) => pgn === 129025);
  assert.deepEqual(Object.keys(position ?? {}), ["pgn", "description", "framing", "interval_ms", "layouts"]);
  assert.deepEqual([position?.framing, position?.interval_ms, position?.layouts], ["single", 100, 1]);
  assert.equal(pgns.find(({ pgn }) => pgn === 129029)?.framing, "fast");
  assert.equal(pgns.find(({ pgn }) => pgn === 127510)?.framing, "either");
});

Deno.test("/pgns/{pgn} describes the very fields that a frame of it is decoded to", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events("?decode=true");
  const wind = await boat.get<PgnDescription>("/pgns/130306");
  boat.say({ pgn: 130306, data: Uint8Array.fromHex("012602393002ffff") });
  await events.atLeast(1);
  const { decoded } = JSON.parse(events.texts[0] ?? "");
  assert.deepEqual(decoded, { sid: 1, wind_speed: 5.5, wind_angle: 1.2345, wind_reference: "apparent" });
  const [layout] = wind.layouts;
  assert.deepEqual(layout?.fields.map(({ name }) => name), Object.keys(decoded));
  const [, speed, , reference] = layout?.fields ?? [];
  const { tolerance: _, ...rest } = { tolerance: 0, ...speed };
  const expected = { name: "wind_speed", type: "number", unit: "m/s", bits: 16, min: 0, max: 655.34, resolution: 0.01 };
  assert.deepEqual(rest, expected);
  assert.ok(reference?.type === "enum" && reference.labels?.["2"] === "apparent");
});

Deno.test("every PGN of the list has a description of its own, and both agree", async () => {
  await using boat = await TestBoat.start();
  for (const summary of await boat.get<PgnSummary[]>("/pgns")) {
    const { layouts, ...head } = await boat.get<PgnDescription>(`/pgns/${summary.pgn}`);
    assert.deepEqual({ ...head, layouts: layouts.length }, summary);
  }
});

Deno.test("a PGN that nobody has described is 404", async () => {
  await using boat = await TestBoat.start();
  for (const pgn of ["0", "1", "262144", "4294967295"]) {
    const reply = await boat.raw(`/pgns/${pgn}`);
    assert.equal(reply.status, 404);
    assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
    const problem = JSON.parse(await reply.text());
    assert.deepEqual([problem.status, problem.title], [404, "Not Found"]);
    assert.equal(problem.detail, `PGN ${pgn} is not described: see /pgns`);
  }
});
