import assert from "node:assert/strict";
import {
  approachOf,
  directionOf,
  isPosition,
  lengthOf,
  type Motion,
  moved,
  vectorBetween,
  vectorOf,
} from "../../web/views/now/geometry.ts";
import { bearingText, distanceText, onPlot, placeNames, rangeOf, untilText } from "../../web/views/now/scale.ts";
import { Track, TRACK_MS } from "../../web/views/now/track.ts";
import { Random } from "../support/random.ts";

const KIEL = { latitude: 54.5, longitude: 10.3 };
const NM = 1852;
const degrees = (radians: number) => radians / Math.PI * 180;
const radians = (angle: number) => angle / 180 * Math.PI;

Deno.test("a minute of latitude is a nautical mile to the north, and one of longitude is shorter to the east", () => {
  const north = vectorBetween(KIEL, { ...KIEL, latitude: KIEL.latitude + 1 / 60 });
  assert.ok(Math.abs(lengthOf(north) - NM) < 5 && degrees(directionOf(north)) < 0.001);
  const east = vectorBetween(KIEL, { ...KIEL, longitude: KIEL.longitude + 1 / 60 });
  assert.ok(Math.abs(lengthOf(east) - NM * Math.cos(radians(54.5))) < 5);
  assert.ok(Math.abs(degrees(directionOf(east)) - 90) < 0.01);
});

Deno.test("a vector from a position leads back by the vector between both, also over the date line", () => {
  const random = new Random(7);
  const next = () => random.next();
  for (let round = 0; round < 500; round++) {
    const from = { latitude: 140 * next() - 70, longitude: 360 * next() - 180 };
    const by = vectorOf(2 * Math.PI * next(), 50_000 * next());
    const to = moved(from, by);
    assert.ok(isPosition(to));
    const found = vectorBetween(from, to);
    assert.ok(Math.hypot(found.east - by.east, found.north - by.north) < 0.01, JSON.stringify({ from, by, found }));
  }
});

Deno.test("the closest point of approach is where stepping both vessels second by second finds it", () => {
  const random = new Random(11);
  const next = () => random.next();
  let approaching = 0;
  for (let round = 0; round < 200; round++) {
    const own: Motion = { position: KIEL, sog: 10 * next(), cog: 2 * Math.PI * next() };
    const position = moved(KIEL, vectorOf(2 * Math.PI * next(), 4000 * next()));
    const other: Motion = { position, sog: 10 * next(), cog: 2 * Math.PI * next() };
    const found = approachOf(own, other);
    const at = (seconds: number) =>
      lengthOf(vectorBetween(
        moved(own.position, vectorOf(own.cog, own.sog * seconds)),
        moved(other.position, vectorOf(other.cog, other.sog * seconds)),
      ));
    if (found.type === "opening") assert.ok(at(60) > at(0));
    if (found.type !== "approaching" || found.tcpaS > 7200) continue;
    approaching++;
    const stepped = Math.min(...Array.from({ length: Math.ceil(found.tcpaS) + 120 }, (_, second) => at(second)));
    assert.ok(Math.abs(stepped - found.cpaM) < 15, `${stepped} m by steps, ${found.cpaM} m`);
  }
  assert.ok(approaching > 50, `${approaching}`);
});

Deno.test("vessels that move alike have no closest point, and head-on ones meet", () => {
  const own = { position: KIEL, sog: 5, cog: 0 };
  const ahead = moved(KIEL, { east: 0, north: 1000 });
  assert.deepEqual(approachOf(own, { ...own, position: ahead }), { type: "constant" });
  assert.deepEqual(approachOf(own, { position: ahead, sog: 9, cog: 0 }), { type: "opening" });
  const meeting = approachOf(own, { position: ahead, sog: 5, cog: Math.PI });
  assert.ok(meeting.type === "approaching" && meeting.cpaM < 0.1 && Math.abs(meeting.tcpaS - 100) < 0.1);
});

Deno.test("north is up on the plot, and the outer ring has its radius in the preferred unit", () => {
  const range = rangeOf(5, "nautical");
  assert.deepEqual({ ...range, metres: 0 }, { metres: 0, text: "4 nm", halfText: "2 nm" });
  assert.deepEqual(onPlot({ east: 0, north: 4 * NM }, range), { x: 180, y: 24 });
  assert.deepEqual(onPlot({ east: 2 * NM, north: 0 }, range), { x: 258, y: 180 });
  assert.equal(rangeOf(99, "metric").text, "64 km");
  assert.equal(rangeOf(-1, "si").text, "200 m");
  assert.equal(distanceText(0.46 * NM, "nautical"), "0.46 nm");
  assert.equal(distanceText(99.6, "si"), "100 m");
  assert.equal(bearingText(radians(4.6), "nautical"), "005°T");
  assert.equal(bearingText(radians(359.7), "nautical"), "000°T");
  assert.deepEqual([45.2, 600].map(untilText), ["45 s", "10 min"]);
});

Deno.test("names on the plot stand beside their targets and do not cover each other: the nearer one goes first", () => {
  const at = (x: number, y: number) => ({ text: "ANNA", x, y });
  const places = placeNames([at(100, 100), at(104, 102), at(355, 50), at(100, 104), at(104, 98), at(102, 100)]);
  assert.deepEqual(places.map((each) => each && [each.x, each.y]), [
    [109, 91],
    [113, 118],
    [314, 41],
    [59, 95],
    [63, 114],
    undefined,
  ]);
  const [moved] = placeNames([at(100, 100)], [{ left: 90, right: 130, y: 95 }]);
  assert.deepEqual([moved?.x, moved?.y], [109, 116]);
  assert.equal(placeNames([at(100, 2)])[0]?.y, 18, "not cut off at the top");
});

Deno.test("the own track keeps half an hour in order, recorded positions first, and survives a clock set back", () => {
  const track = new Track();
  const at = (step: number) => moved(KIEL, { east: 0, north: 20 * step });
  track.add(at(100), 100_000);
  track.add(at(100.1), 101_000);
  track.add(at(101), 102_000);
  assert.equal(track.positions.length, 2, "a metre is no step");
  track.prepend([{ position: at(50), timeMs: 50_000 }, { position: at(100.5), timeMs: 101_500 }]);
  assert.deepEqual(track.positions, [at(50), at(100), at(101)]);
  track.add({ latitude: 91, longitude: 0 }, 103_000);
  assert.equal(track.positions.length, 3);
  track.add(at(102), 100_000 + TRACK_MS);
  assert.deepEqual(track.positions, [at(100), at(101), at(102)]);
  track.add(at(103), 50_000);
  assert.deepEqual(track.positions, [at(103)], "an hour back begins a track");
  for (let step = 0; step < 5000; step++) track.add(at(step), 60_000 + step * 100);
  assert.ok(track.positions.length <= 1500);
});
