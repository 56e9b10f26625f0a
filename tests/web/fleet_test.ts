import assert from "node:assert/strict";
import { fleetMap, MAP_HEIGHT } from "../../web/views/fleet_map.ts";
import { ageText, countStates, rowOf, sortedRows } from "../../web/views/fleet_rows.ts";

function boat(id: string, rest: Partial<Parameters<typeof rowOf>[0]> = {}) {
  const last_seen = "2026-01-01T00:00:00Z";
  return rowOf({
    ...{ id, connected: true, cursor: 10, boat_head_seq: 10, holes: [], lag_seqs: 0, last_seen },
    ...rest,
  });
}

Deno.test("boats that need somebody stand first, and are found by a part of their id", () => {
  const rows = [
    boat("aurora"),
    boat("borealis", { connected: false, last_seen: null }),
    boat("Calypso", { holes: [{ start: 3, end: 8 }], lag_seqs: 7 }),
    boat("delphin", { lag_seqs: 50_000 }),
  ];
  assert.deepEqual(sortedRows(rows, "").map(({ id }) => id), ["Calypso", "borealis", "delphin", "aurora"]);
  assert.deepEqual(sortedRows(rows, " CAL").map(({ id, missing, holes }) => [id, missing, holes]), [["Calypso", 5, 1]]);
  assert.deepEqual(countStates(rows), { missing: 1, away: 1, behind: 1, live: 1 });
  assert.equal(rows[1]?.lastSeenMs, undefined);
});

Deno.test("ages are written in the largest fitting unit", () => {
  const ages = [-5, 59_400, 60_000, 3_599_000, 3_600_000, 2 * 86_400_000].map(ageText);
  assert.deepEqual(ages, ["0 s", "59 s", "1 min", "59 min", "1 h", "2 d"]);
});

Deno.test("every boat is within the plot, north up, in true proportions, also across the date line", () => {
  const map = fleetMap([
    { id: "a", latitude: -17, longitude: 179.5 },
    { id: "b", latitude: -16, longitude: -179.5 },
    { id: "c", latitude: -17, longitude: -179.5 },
  ]);
  assert.ok(map);
  const [a, b, c] = map.places;
  assert.ok(a && b && c && a.x < b.x && b.y < a.y);
  for (const { x, y } of map.places) assert.ok(x > 0 && x < 1 && y > 0 && y < MAP_HEIGHT);
  const ratio = (c.x - a.x) / (c.y - b.y);
  assert.ok(Math.abs(ratio - Math.cos(16.5 * Math.PI / 180)) < 0.01, `${ratio}`);
  assert.ok(map.meridians.some(({ text }) => /180°/.test(text)), JSON.stringify(map.meridians));
  assert.equal(fleetMap([]), undefined);
});

Deno.test("boats in one place are in the middle of the plot", () => {
  const map = fleetMap([{ id: "a", latitude: 54, longitude: 10 }, { id: "b", latitude: 54, longitude: 10 }]);
  assert.deepEqual(map?.places.map(({ x, y }) => [x, y]), [[0.5, MAP_HEIGHT / 2], [0.5, MAP_HEIGHT / 2]]);
  assert.equal(map?.step, 0.02);
});
