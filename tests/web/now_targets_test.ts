import assert from "node:assert/strict";
import { lengthOf, moved, vectorBetween, vectorOf } from "../../web/views/now/geometry.ts";
import { TargetTable, targetTitle } from "../../web/views/now/targets.ts";

const KIEL = { latitude: 54.5, longitude: 10.3 };
const START_MS = 1_800_000_000_000;
const MINUTE_MS = 60_000;

/** A report of a ship that moves to the east at 10 m/s, or as given. */
function report(mmsi: number, given: Record<string, number | string> = {}) {
  return { user_id: mmsi, ...KIEL, sog: 10, cog: Math.PI / 2, ...given };
}

function seen(table: TargetTable, nowMs: number) {
  return table.nearest(KIEL, { nowMs, max: 500 }).shown;
}

Deno.test("a target has its name from static data in either order, without fill and unseen characters", () => {
  for (const order of [[0, 1], [1, 0]]) {
    const table = new TargetTable();
    const messages = [
      () => table.observe(129038, report(211000001), START_MS),
      () => table.observe(129794, { user_id: 211000001, name: "ANNA\u202e@@@@JUNK" }, START_MS),
    ];
    for (const index of order) messages[index]?.();
    const [shown] = seen(table, START_MS);
    assert.equal(shown?.target.name, "ANNA\ufffd");
    assert.equal(shown?.target.station, "class A");
  }
  assert.equal(targetTitle({ name: undefined, mmsi: 2_110_001 }), "MMSI 002110001");
});

Deno.test("names of class B and of aids to navigation are read, and the class is that of the position report", () => {
  const table = new TargetTable();
  table.observe(129809, { user_id: 1, name: "WINDSPIEL" }, START_MS);
  table.observe(129039, report(1), START_MS);
  table.observe(129041, { user_id: 992111111, ...KIEL, aton_name: "KIEL LT" }, START_MS);
  table.observe(129040, { ...report(3), name: "ERNA", true_heading: 1 }, START_MS);
  const found = seen(table, START_MS).map(({ target }) => target)
    .sort((a, b) => a.mmsi - b.mmsi).map(({ name, station, heading }) => [name, station, heading]);
  assert.deepEqual(found, [
    ["WINDSPIEL", "class B", undefined],
    ["ERNA", "class B", 1],
    ["KIEL LT", "aid to navigation", undefined],
  ]);
});

Deno.test("a fresh target is where course and speed have brought it, a stale one where it was last reported", () => {
  const table = new TargetTable();
  table.observe(129038, report(1), START_MS);
  const [fresh] = seen(table, START_MS + 20_000);
  assert.ok(Math.abs((fresh?.rangeM ?? 0) - 200) < 1, `${fresh?.rangeM}`);
  assert.equal(fresh?.isStale, false);
  const [stale] = seen(table, START_MS + 31_000);
  assert.deepEqual([stale?.isStale, stale?.rangeM, stale?.ageMs], [true, 0, 31_000]);
});

Deno.test("a target is removed after six of its intervals, and not before ten minutes", () => {
  const table = new TargetTable();
  table.observe(129038, report(1), START_MS);
  table.observe(129038, report(2, { sog: 0, nav_status: "at_anchor" }), START_MS);
  table.observe(129039, report(3, { sog: 0.2 }), START_MS);
  const left = (minutes: number) => seen(table, START_MS + minutes * MINUTE_MS).map(({ target }) => target.mmsi);
  assert.deepEqual(seen(table, START_MS + 5 * MINUTE_MS).map(({ isStale }) => isStale), [true, false, false]);
  assert.deepEqual(left(9.9), [1, 2, 3]);
  assert.deepEqual(left(10.1), [2, 3]);
  assert.deepEqual(left(18.1), []);
});

Deno.test("only the nearest targets are shown, the rest is counted, and memory is bounded", () => {
  const table = new TargetTable();
  for (let mmsi = 1; mmsi <= 3000; mmsi++) {
    const position = moved(KIEL, vectorOf(mmsi, 10 * mmsi));
    table.observe(129038, { user_id: mmsi, ...position, sog: 0, cog: 0 }, START_MS + mmsi);
  }
  const { shown, notShown } = table.nearest(KIEL, { nowMs: START_MS + 3000, max: 500 });
  assert.equal(shown.length, 500);
  assert.equal(notShown, 1500, "2000 are kept, those that reported last");
  assert.deepEqual(shown.slice(0, 3).map(({ target }) => target.mmsi), [1001, 1002, 1003]);
  assert.ok(shown.every(({ rangeM, position }) => Math.abs(lengthOf(vectorBetween(KIEL, position)) - rangeM) < 1e-6));
});

Deno.test("own reports, impossible positions and older reports change nothing; a clock set back does not freeze targets", () => {
  const table = new TargetTable();
  table.observe(129038, report(1, { ais_transceiver_info: "own_information" }), START_MS);
  table.observe(129038, report(2, { latitude: 91 }), START_MS);
  table.observe(129038, { user_id: 3, sog: 1 }, START_MS);
  table.observe(129025, report(4), START_MS);
  assert.deepEqual(seen(table, START_MS), []);
  table.observe(129038, report(5, { sog: 0, cog: 0 }), START_MS);
  table.observe(129038, report(5, { latitude: 50 }), START_MS - 1000);
  assert.equal(seen(table, START_MS)[0]?.position.latitude, KIEL.latitude);
  const backMs = START_MS - 60 * MINUTE_MS;
  table.observe(129038, report(5, { latitude: 54.6, sog: 0 }), backMs);
  assert.equal(seen(table, backMs)[0]?.position.latitude, 54.6);
});
