import assert from "node:assert/strict";
import type { ClientFrame, Device, QuantitySources } from "../../src/client/mod.ts";
import { QUANTITIES, readQuantities } from "../../src/quantities/mod.ts";
import { recordedTrack } from "../../web/views/now/feed.ts";
import { NowModel } from "../../web/views/now/model.ts";
import {
  decodedOf,
  orderTiles,
  preferSetting,
  rowOf,
  tileLabel,
  valueParts,
  valueText,
} from "../../web/views/now/tiles.ts";

const START_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const NAME_A = "0xc0789d00e7e0b32a";
const NAME_B = "0xc0789d00e7e0b32b";

const ts = (ms: number) => new Date(START_MS + ms).toISOString();

function device(src: number, name: string): Device {
  return { src, name, first_seen: ts(0), last_seen: ts(0), packet_count: 0, byte_count: 0 };
}

function frame(atMs: number, { pgn, src = 1, ...rest }: Pick<ClientFrame, "pgn" | "decoded"> & { src?: number }) {
  return { seq: 1, ts: ts(atMs), prio: 2, dst: 255, data: "", pgn, src, ...rest };
}

/** A key for each row. */
function keysOf() {
  return QUANTITIES.flatMap((row) => {
    const words = Object.values(row.words ?? {})[0];
    const parts = row.key.includes("{fluid_type}") ? words ?? [] : ["0", "1"];
    return parts.map((part) => ({
      row,
      key: row.key.replace("{fluid_type}", part.replaceAll(" ", "_")).replace(/\{\w+source\}/, "main_cabin")
        .replaceAll(/\{\w+\}/g, row.key.includes("{fluid_type}") ? "1" : part),
    }));
  });
}

Deno.test("every quantity of the server's list is read back under its key with its value", () => {
  for (const { row, key } of keysOf()) {
    const value = row.also === undefined ? row.unit === undefined ? "word" : 1.5 : { latitude: 1, longitude: 2 };
    const found = readQuantities(row.pgn, decodedOf(row, { key, value })).find((each) => each.key === key);
    assert.deepEqual(found?.value, value, key);
    assert.equal(rowOf(key, row.pgn)?.pgn, row.pgn);
  }
  assert.equal(rowOf("depth", 129025), undefined);
});

Deno.test("values have the units of the preference, and the unit is apart from the number", () => {
  const text = (key: string, value: number | string, system: "nautical" | "metric" | "si" = "nautical") => {
    const row = QUANTITIES.find((each) => rowOf(key, each.pgn) === each);
    assert.ok(row, key);
    const { value: big, unit } = valueParts(valueText({ key, row }, { value, details: undefined, system }));
    return `${big}|${unit}`;
  };
  assert.equal(text("sog", 3.24), "6.3|kn");
  assert.equal(text("sog", 3.24, "metric"), "11.7|km/h");
  assert.equal(text("sog", 3.24, "si"), "3.24|m/s");
  assert.equal(text("heading.magnetic", 0.1), "005.7°|M");
  assert.equal(text("cog.true", 4.9397), "283.0°|T");
  assert.equal(text("wind.apparent.angle", 5.3), "56°|port");
  assert.equal(text("temperature.sea.0", 288.11), "15.0|°C");
  assert.equal(text("rate_of_turn", 0.01), "0.6|°/s");
  assert.equal(text("pressure.atmospheric.0", 101_157), "1011.6|hPa");
  assert.equal(text("gear.0", "Forward"), "Forward|");
  assert.equal(text("depth", -0.4), "-0.4|m");
});

Deno.test("a position is one text, and numbers without a unit have none", () => {
  const row = rowOf("position", 129025);
  assert.ok(row);
  const value = { latitude: 54.5, longitude: -10.25 };
  const text = valueText({ key: "position", row }, { value, details: undefined, system: "nautical" });
  assert.deepEqual(valueParts(text), { value: "54°30.000′N 010°15.000′W", unit: "" });
  assert.deepEqual(valueParts("0.77"), { value: "0.77", unit: "" });
});

Deno.test("tiles stand in the order of the categories, the most important ones first, each engine by itself", () => {
  const keys = ["rudder.0", "tank.fuel.0.level", "engine.10.speed", "engine.2.speed", "gear.2", "sog", "depth.offset"];
  const all = [...keys, "depth", "position", "gnss.hdop"].flatMap((key) => {
    const row = QUANTITIES.find((each) => rowOf(key, each.pgn) === each);
    return row ? [{ key, row }] : [];
  }).sort((a, b) => QUANTITIES.indexOf(a.row) - QUANTITIES.indexOf(b.row));
  const { main, rest } = orderTiles(all);
  assert.deepEqual(main, ["position", "sog", "depth"]);
  assert.deepEqual(rest.map(({ title, keys }) => [title, ...keys]), [
    ["Navigation", "gnss.hdop", "depth.offset"],
    ["Engine 2", "engine.2.speed", "gear.2"],
    ["Engine 10", "engine.10.speed"],
    ["Tanks", "tank.fuel.0.level"],
    ["Steering", "rudder.0"],
  ]);
  assert.equal(tileLabel({ key: "engine.2.speed", label: "Engine 2 speed" }), "Speed");
  assert.equal(
    tileLabel({ key: "temperature.engine_room.0", label: "Engine room temperature" }),
    "Engine room temperature",
  );
  assert.equal(preferSetting("depth", NAME_A), `-preferred-source depth=${NAME_A}`);
});

const DEPTHS: QuantitySources = {
  ...{ quantity: "depth", category: "depth", label: "Depth", pgn: 128267, field: "depth", unit: "m" },
  preferred: NAME_B,
  by: "setting",
  sources: [
    { name: NAME_B, src: 2, pgn: 128267, value: 7, ts: ts(-500), age_ms: 500, interval_ms: 2000, stale: false },
    { name: NAME_A, src: 1, pgn: 128267, value: 4, ts: ts(-100), age_ms: 100, interval_ms: 1000, stale: false },
  ],
};

Deno.test("the server's newest values are there at once with its preference, and never replace newer ones", () => {
  const model = new NowModel();
  model.device(device(1, NAME_A));
  model.received(frame(0, { pgn: 128267, decoded: { depth: 5 } }));
  model.seed([DEPTHS]);
  const [depth] = model.list(START_MS + 100);
  assert.deepEqual(depth?.sources.map(({ value, intervalMs }) => [value, intervalMs]), [[7, 2000], [5, 1000]]);
  assert.equal(depth?.preferred?.device.name, NAME_B);
  assert.equal(depth?.isSet, true);
});

Deno.test("a value is stale after three intervals, then the other device is shown; the server's choice is followed", () => {
  const model = new NowModel();
  model.seed([DEPTHS]);
  const first = (atMs: number) => model.list(START_MS + atMs)[0];
  assert.equal(first(0)?.sources[0]?.value, 7);
  model.device(device(1, NAME_A));
  for (let atMs = 900; atMs <= 8900; atMs += 1000) model.received(frame(atMs, { pgn: 128267, decoded: { depth: 3 } }));
  assert.deepEqual([first(8900)?.sources[0]?.value, first(8900)?.preferred?.isStale], [3, false]);
  assert.equal(first(11_000)?.preferred?.isStale, false);
  assert.equal(first(12_000)?.preferred, undefined, "all are stale");
  assert.equal(first(12_000)?.sources[0]?.value, 3, "the newest one is shown");
  model.device(device(2, NAME_B));
  const to = { name: NAME_B, src: 2 };
  model.switched({ quantity: "depth", from: null, to, ts: ts(12_000), reason: "fresh" });
  model.received(frame(12_000, { pgn: 128267, src: 2, decoded: { depth: 8 } }));
  model.received(frame(12_100, { pgn: 128267, src: 1, decoded: { depth: 2 } }));
  assert.deepEqual([first(12_200)?.sources[0]?.value, first(12_200)?.isSet], [8, false]);
});

Deno.test("the own vessel has a true heading from variation, and no motion from stale values", () => {
  const model = new NowModel();
  assert.equal(model.own(START_MS), undefined);
  model.received(frame(0, { pgn: 129025, decoded: { latitude: 54.5, longitude: 10.3 } }));
  model.received(frame(0, { pgn: 127250, decoded: { heading: 1, heading_reference: "magnetic" } }));
  assert.equal(model.own(START_MS)?.heading, undefined, "no variation");
  model.received(frame(0, { pgn: 127258, decoded: { variation: 0.1 } }));
  model.received(frame(0, { pgn: 129026, decoded: { cog: 2, cog_reference: "true", sog: 3 } }));
  const own = model.own(START_MS);
  assert.deepEqual([own?.heading, own?.motion?.cog, own?.motion?.sog], [1.1, 2, 3]);
  const later = model.own(START_MS + 60_000);
  assert.deepEqual([later?.isStale, later?.heading, later?.motion], [true, undefined, undefined]);
  assert.equal(model.track.positions.length, 1);
});

Deno.test("the recorded track is that of one device, in pairs of latitude and longitude", () => {
  const part = { kind: "number", src: 2, name: NAME_A, min: null, avg: null, max: null, count: [1, 1] } as const;
  const series = [
    { ...part, field: "129025.latitude", time: [1000, 2000], last: [54, 55] },
    { ...part, field: "129025.longitude", time: [2000, 3000], last: [10, 11] },
    { ...part, name: NAME_B, field: "129025.latitude", time: [2000], last: [1] },
  ].map((each) => ({ ...each, count: [...each.count] }));
  const reply = { from: ts(0), to: ts(0), bucket_ms: 100, series };
  assert.deepEqual(recordedTrack(reply, { name: NAME_A, src: 2 }), [
    { position: { latitude: 55, longitude: 10 }, timeMs: 2100 },
  ]);
});
