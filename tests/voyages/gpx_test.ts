import assert from "node:assert/strict";
import { gpxOf, type Track, type TrackPoint } from "../../src/voyages/mod.ts";
import { GPXPY, readGpx } from "../support/gpx.ts";
import { Random } from "../support/random.ts";

const START_MS = Date.UTC(2026, 6, 1);

async function textOf(
  tracks: Iterable<Track> | AsyncIterable<Track>,
  options: Parameters<typeof gpxOf>[1] = {},
): Promise<string> {
  return (await Array.fromAsync(gpxOf(tracks, options))).join("");
}

/** Points of a random way, half a minute apart but for some gaps. */
function randomPoints(random: Random, count: number): TrackPoint[] {
  let timeMs = START_MS;
  return Array.from({ length: count }, () => {
    timeMs += random.chance(0.02) ? 600_000 : 30_000;
    return { latitude: 180 * random.next() - 90, longitude: 360 * random.next() - 180, timeMs };
  });
}

Deno.test("a track is written with its points, and begins a segment where points are missing", async () => {
  const points = [0, 30, 151, 271].map((seconds, i) => ({
    latitude: 54.5 + i / 10,
    longitude: -10.25,
    timeMs: START_MS + seconds * 1000,
  }));
  const lines = (await textOf([{ name: "A & B <1>", points }])).split("\n");
  assert.deepEqual(lines, [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<gpx version="1.1" creator="Vessel Bus Gateway" xmlns="http://www.topografix.com/GPX/1/1">',
    "<trk><name>A &amp; B &lt;1&gt;</name><trkseg>",
    '<trkpt lat="54.5000000" lon="-10.2500000"><time>2026-07-01T00:00:00.000Z</time></trkpt>',
    '<trkpt lat="54.6000000" lon="-10.2500000"><time>2026-07-01T00:00:30.000Z</time></trkpt>',
    "</trkseg><trkseg>",
    '<trkpt lat="54.7000000" lon="-10.2500000"><time>2026-07-01T00:02:31.000Z</time></trkpt>',
    '<trkpt lat="54.8000000" lon="-10.2500000"><time>2026-07-01T00:04:31.000Z</time></trkpt>',
    "</trkseg></trk>",
    "</gpx>",
    "",
  ]);
});

Deno.test("tracks without points are left out", async () => {
  const empty = await textOf([]);
  assert.equal(await textOf([{ name: "a", points: [] }, { name: "b", points: [] }]), empty);
});

Deno.test("tracks are read while they are written: little text is held at a time", async () => {
  const total = 2000;
  let read = 0;
  async function* points(): AsyncGenerator<TrackPoint> {
    for (let i = 0; i < total; i++) {
      read++;
      yield await Promise.resolve({ latitude: 1, longitude: 2, timeMs: START_MS + i * 1000 });
    }
  }
  let written = 0;
  for await (const piece of gpxOf([{ name: "long", points: points() }])) {
    assert.ok(piece.length < 20_000);
    written += piece.split("<trkpt").length - 1;
    assert.ok(read - written < 200, `${read} read, ${written} written`);
  }
  assert.equal(written, total);
});

Deno.test("gpxpy reads the same tracks, segments, points and times", GPXPY, async () => {
  const random = new Random(21);
  const names = ["Kiel ⇄ Marstal", "a\u0000b\ud800", "<![CDATA[x]]>", ""];
  const given = names.map((name) => ({ name, points: randomPoints(random, 300) }));
  const { creator, tracks } = await readGpx(await textOf(given, { maxGapMs: 120_000 }));
  assert.equal(creator, "Vessel Bus Gateway");
  assert.deepEqual(tracks.map(({ name }) => name ?? ""), ["Kiel ⇄ Marstal", "ab\ufffd", "<![CDATA[x]]>", ""]);
  for (const [i, { segments }] of tracks.entries()) {
    const { points } = given[i]!;
    const gaps = points.filter((point, at) => point.timeMs - (points[at - 1] ?? point).timeMs > 120_000).length;
    assert.ok(gaps > 0);
    assert.equal(segments.length, gaps + 1);
    const expected = points.map((
      { latitude, longitude, timeMs },
    ) => [Number(latitude.toFixed(7)), Number(longitude.toFixed(7)), timeMs]);
    assert.deepEqual(segments.flat(), expected);
  }
});
