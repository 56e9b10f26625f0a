import assert from "node:assert/strict";
import { buildName } from "../../src/frame/mod.ts";
import type { BlockDevice } from "../../src/journal/mod.ts";
import { bucketsFor } from "../../src/series/mod.ts";
import { HistoryTurns } from "../../src/http/history/turns.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi, TestJournal } from "../support/history.ts";
import { claim, message, nameFields, START_US } from "../support/messages.ts";
import { readJournal } from "../support/journal_run.ts";
import { needs, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { checkRandomly, devicesOf, sensorTraffic, type SeriesReply } from "../support/series.ts";
import { fill } from "./cloud_fill.ts";
import { CloudServer } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write"] });
const BUSES = ["can0", "can1"];
const FIRST = buildName(nameFields({ uniqueNumber: 1, manufacturerCode: 137 }));
const SECOND = buildName(nameFields({ uniqueNumber: 2, manufacturerCode: 137 }));

Deno.test(
  "series are what a reader finds who decodes every frame: ranges, fields, points and sources at random",
  DISK,
  () =>
    inFolder(async (folder) => {
      const random = new Random(1);
      const devices = devicesOf({ 3: FIRST, 7: SECOND });
      await using journal = await TestJournal.open(folder, { buses: BUSES, devices: () => devices });
      const messages = sensorTraffic(random, { count: 4000, everyMs: 200 });
      journal.append(1, messages.slice(0, 2500));
      await journal.writer.rotate();
      journal.append(2501, messages.slice(2500));
      const api = new TestApi({ index: journal.index, buses: BUSES });
      const names: Readonly<Record<number, bigint>> = { 3: FIRST, 7: SECOND };
      const recorded = messages.map((each) => ({ message: each, name: names[each.id & 0xff] ?? 0n }));
      await checkRandomly(api, recorded, { seed: 2, rounds: 40, buses: BUSES });
    }),
);

const ONE = "field=128267.depth&from=2026-01-02T03:04:05Z&to=2026-01-02T03:05:05Z";
const depth = (cm: number, init: Parameters<typeof message>[0] = {}) =>
  message({ pgn: 128267, src: 35, data: [1, cm & 0xff, cm >> 8, 0, 0, 0x10, 0, 1], ...init });

/** Records messages, and asks. */
function withSeries(
  messages: readonly ReturnType<typeof message>[],
  test: (api: TestApi) => Promise<void>,
  { buses = ["can0"], devices = [], limits = {} }: {
    buses?: string[];
    devices?: BlockDevice[];
    limits?: { maxSeriesPoints?: number; maxSeriesScan?: number };
  } = {},
): Promise<void> {
  return inFolder(async (folder) => {
    await using journal = await TestJournal.open(folder, { buses, devices: () => devices });
    journal.append(1, messages);
    await journal.writer.sync();
    const clock = new FakeClock();
    clock.advance(3_600_000);
    await test(new TestApi({ index: journal.index, buses, clock, seriesLimits: limits }));
  });
}

Deno.test("a series shows its buckets in columns, and only those with values", DISK, () => {
  const messages = [[0, 400], [1000, 500], [9999, 600], [30_000, 350]].map(([monoMs = 0, cm = 0]) =>
    depth(cm, { monoMs })
  );
  return withSeries(messages, async (api) => {
    const reply = await api.get<SeriesReply>(`/series?${ONE}&points=7`);
    const startMs = START_US / 1000 - 5000;
    assert.deepEqual(reply, {
      from: "2026-01-02T03:04:05.000Z",
      to: "2026-01-02T03:05:05.000Z",
      bucket_ms: 10_000,
      series: [{
        field: "128267.depth",
        unit: "m",
        kind: "number",
        src: 35,
        name: "",
        time: [startMs, startMs + 10_000, startMs + 30_000],
        min: [4, 6, 3.5],
        avg: [4.5, 6, 3.5],
        max: [5, 6, 3.5],
        last: [5, 6, 3.5],
        count: [2, 1, 1],
      }],
    });
    assert.deepEqual((await api.get<SeriesReply>(`/series?${ONE}&points=1`)).series[0]?.count, [4]);
    assert.deepEqual((await api.get<SeriesReply>(`/series?${ONE}&src=36`)).series, []);
  });
});

Deno.test("a device keeps its series when it changes its address; without a NAME an address is a device", DISK, () => {
  const messages = [
    depth(100),
    claim(FIRST, { src: 35, monoMs: 1 }),
    depth(200, { monoMs: 2 }),
    claim(FIRST, { src: 40, monoMs: 3 }),
    depth(300, { src: 40, monoMs: 4 }),
    claim(SECOND, { src: 35, monoMs: 5 }),
    depth(900, { monoMs: 6 }),
  ];
  return withSeries(messages, async (api) => {
    const { series } = await api.get<SeriesReply>(`/series?${ONE}`);
    assert.deepEqual(series.map(({ src, name, last, count }) => ({ src, name: BigInt(name || 0), last, count })), [
      { src: 35, name: 0n, last: [1], count: [1] },
      { src: 35, name: SECOND, last: [9], count: [1] },
      { src: 40, name: FIRST, last: [3], count: [2] },
    ]);
  });
});

Deno.test("angles are averaged across north and have no extremes; labels keep the last", DISK, () => {
  const heading = (radians: number, monoMs: number) => {
    const raw = Math.round(radians * 10_000);
    return message({ pgn: 127250, data: [1, raw & 0xff, raw >> 8, 0xff, 0x7f, 0xff, 0x7f, 1], monoMs });
  };
  const gear = (code: number, monoMs: number) =>
    message({ pgn: 127493, data: [0, 0xfc | code, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], monoMs });
  const messages = [heading(6.2, 0), heading(0.2, 1), gear(0, 2), gear(1, 3)];
  return withSeries(messages, async (api) => {
    const path = `/series?${ONE}&field=127250.heading&field=127493.transmission_gear&points=1`;
    const [north, gears] = (await api.get<SeriesReply>(path)).series;
    const { avg, ...rest } = north ?? assert.fail("no heading");
    const middle = (6.2 - 2 * Math.PI + 0.2) / 2;
    assert.ok(Math.abs((avg?.[0] ?? NaN) - middle) < 1e-9, `${avg}`);
    assert.deepEqual([rest.kind, rest.unit, rest.min, rest.max, rest.last, rest.instance], [
      ...["angle", "rad", null, null],
      [0.2],
      "magnetic",
    ]);
    const { kind, min, avg: none, max, last, count, keys } = gears ?? assert.fail("no gear");
    assert.deepEqual({ kind, min, none, max, count, keys }, {
      ...{ kind: "label", min: null, none: null, max: null, count: [2] },
      keys: { instance: keys?.instance },
    });
    assert.equal(typeof last[0], "string");
  });
});

Deno.test(
  "a request that cannot be answered says why, and names what may be meant",
  DISK,
  () =>
    withSeries([depth(1)], async (api) => {
      const check = async (path: string, { status, words }: { status: number; words: RegExp }) => {
        const reply = await api.fetch(path);
        const { detail } = await reply.json() as { detail: string };
        const which = path.slice(0, 200);
        assert.equal(reply.status, status, which);
        assert.ok(detail.length < 500, which);
        assert.match(detail, words, which);
      };
      const range = "from=2026-01-02T03:04:05Z";
      const bad = (query: string, words: RegExp) => check(`/series?${query}`, { status: 400, words });
      await bad(range, /"field".*required/);
      await bad("field=128267.depth", /"from".*required/);
      await bad(`${range}&field=depth`, /expected PGN\.field/);
      await bad(`${range}&field=128266.depth`, /PGN 128266 is unknown: did you mean .*128267/);
      await bad(`${range}&field=128267.dept`, /no field "dept": did you mean depth\?/);
      await bad(`${range}&field=130306.speed`, /did you mean wind_speed/);
      await bad(`${range}&field=128267.${"depth_".repeat(20_000)}`, /at most 100 characters/);
      await bad(`${range}&field=129540.satellites`, /is a list|no field/);
      await bad(`${range}&field=128267.depth&points=0`, /"points"/);
      await bad(`${range}&field=128267.depth&points=11`, /from 1 to 10/);
      await bad(`${range}&field=128267.depth&to=2026-01-01T00:00:00Z`, /"to".*before/);
      await bad(`${range}&${"field=128267.depth&".repeat(33)}`, /at most 32/);
      await bad(`${range}&field=128267.depth&other=1`, /unknown/);
      const none = new TestApi({});
      assert.equal((await none.fetch(`/series?${ONE}`)).status, 503);
    }, { limits: { maxSeriesPoints: 10 } }),
);

Deno.test(
  "a range with too many frames is refused with the number",
  DISK,
  () =>
    withSeries(Array.from({ length: 600 }, (_, i) => depth(i, { monoMs: i })), async (api) => {
      const reply = await api.fetch(`/series?${ONE}`);
      assert.equal(reply.status, 400);
      assert.match((await reply.json() as { detail: string }).detail, /frames would have to be read, of at most 100/);
    }, { limits: { maxSeriesScan: 100 } }),
);

Deno.test("a reply with more points than its limit, of all series together, is refused", DISK, () => {
  const battery = (i: number) =>
    message({ pgn: 127508, data: [i % 10, 0xb0, 4, 10, 0, 0xff, 0xff, 1], monoMs: i * 1000 });
  // Ten batteries with three fields each, of which every bucket has a value.
  return withSeries(Array.from({ length: 90_000 }, (_, i) => battery(i)), async (api) => {
    const path = "/series?from=2026-01-02T03:04:05Z&to=2026-01-03T04:04:05Z&points=10000&field=127508.voltage";
    assert.equal((await api.get<SeriesReply>(path)).series.length, 10);
    const reply = await api.fetch(`${path}&field=127508.current&field=127508.instance`);
    assert.equal(reply.status, 400);
    assert.match(await reply.text(), /would have more than 250000 points: name fewer/);
  });
});

Deno.test("buckets have the narrowest round width of which at most the wanted number covers the range", () => {
  const widthOf = (spanMs: number, points: number) =>
    bucketsFor({ fromUs: 0, toUs: spanMs * 1000 - 1 }, points).bucketMs;
  assert.equal(widthOf(86_400_000, 1440), 60_000);
  assert.equal(widthOf(86_400_000, 1439), 120_000);
  assert.equal(widthOf(30 * 86_400_000, 1000), 3_600_000);
  assert.equal(widthOf(1000, 1000), 1);
  assert.equal(widthOf(365 * 86_400_000, 12), 40 * 86_400_000);
  const random = new Random(3);
  for (let round = 0; round < 2000; round++) {
    const fromUs = random.int(2 ** 50);
    const toUs = fromUs + random.int(10 ** random.int(15));
    const points = random.between(1, 5000);
    const { bucketMs } = bucketsFor({ fromUs, toUs }, points);
    const count = Math.floor(toUs / 1000 / bucketMs) - Math.floor(fromUs / 1000 / bucketMs) + 1;
    assert.ok(count <= points, `${count} buckets of ${bucketMs} ms for ${points} points`);
  }
});

Deno.test("a range from before 1970 has buckets of finite width", () => {
  const second = 1_000_000;
  for (
    const [fromUs, toUs] of [[-second, second], [-62_167_219_200 * second, 253_402_300_799 * second], [-1, 0]] as const
  ) {
    for (const points of [1, 2, 3, 500]) {
      const { bucketMs } = bucketsFor({ fromUs, toUs }, points);
      assert.ok(Number.isSafeInteger(bucketMs) && bucketMs > 0, `${bucketMs} ms from ${fromUs} to ${toUs}`);
      // Buckets begin in 1970, so that there are at least two.
      const count = Math.floor(toUs / 1000 / bucketMs) - Math.floor(fromUs / 1000 / bucketMs) + 1;
      assert.ok(count <= Math.max(2, points), `${count} buckets for ${points} points`);
    }
  }
  for (const timeUs of [-5, 0, 5]) assert.equal(bucketsFor({ fromUs: timeUs, toUs: timeUs }, 1).bucketMs, 1);
});

Deno.test(
  "one bucket over a range from before 1970 has all values",
  DISK,
  () =>
    withSeries([depth(100), depth(300, { monoMs: 1 })], async (api) => {
      const { bucket_ms, series } = await api.get<SeriesReply>(
        "/series?field=128267.depth&from=1969-01-01T00:00:00Z&points=1",
      );
      assert.ok(bucket_ms > 0);
      assert.deepEqual(series.map(({ time, avg, count }) => [time, avg, count]), [[[0], [2], [2]]]);
    }),
);

Deno.test(
  "a cloud answers for each boat, with what it gets later, and keeps sidecars once it was asked",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using server = await CloudServer.start(folder, { seriesPgns: [127250] });
      const boat = await server.boat("boat-1", { headSeq: 1000 });
      const path =
        "/instances/boat-1/series?field=127250.heading&from=2026-01-01T00:00:00Z&to=2026-01-04T00:00:00Z&points=9";
      const counts = async () => (await server.get<SeriesReply>(path)).series.flatMap(({ count }) => count);
      assert.deepEqual(await counts(), []);
      for (const [first, last] of [[701, 900], [101, 300], [501, 700], [301, 500]] as const) {
        await fill(boat.instance, first, last);
        const before = (await counts()).reduce((sum, count) => sum + count, 0);
        assert.ok(before > 0);
        const fine = await server.get<SeriesReply>(`${path}00`);
        assert.equal(fine.series.flatMap(({ count }) => count).reduce((sum, count) => sum + count, 0), before);
      }
      const sum = (await counts()).reduce((all, count) => all + count, 0);
      assert.equal(sum, 800);
      const range = "from=2026-01-01T00:00:00Z&duration=P3D&resolution=PT1H&paths=navigation.magneticVariation";
      const history = `/instances/boat-1/signalk/v2/api/history/values?${range}`;
      assert.ok((await server.get<{ data: unknown[] }>(history)).data.length > 0);
      assert.equal(
        (await fetch(`${server.url}/instances/other/series?field=1.x&from=2026-01-01T00:00:00Z`)).status,
        404,
      );
      const names = () => [...Deno.readDirSync(`${folder}/boat-1`)].filter(({ name }) => name.endsWith(".lpr"));
      await server.instances.stop();
      await server.readers.stop();
      assert.ok(names().length > 0);
    }),
);

Deno.test("a request whose client goes is over, and gives its turn back", DISK, () =>
  inFolder(async (folder) => {
    await using journal = await TestJournal.open(folder);
    journal.append(1, Array.from({ length: 30_000 }, (_, i) => depth(i % 60_000, { monoMs: i })));
    await journal.writer.sync();
    const histories = new HistoryTurns();
    const api = new TestApi({ index: journal.index, histories });
    const cancelled = new AbortController();
    const reply = api.handle(new Request(`http://boat/series?${ONE}`, { signal: cancelled.signal }));
    while (histories.running === 0) await pause(0);
    cancelled.abort();
    assert.equal((await reply).status, 503);
    assert.equal(histories.running, 0);
    assert.equal((await api.get<SeriesReply>(`/series?${ONE}&points=1`)).series.length, 1);
  }));

Deno.test(
  "a reply keeps its turn while it is sent, and is aborted if its client does not read it",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      // More than fits into one piece of the reply.
      journal.append(1, Array.from({ length: 5000 }, (_, i) => depth(i, { monoMs: i })));
      await journal.writer.sync();
      const histories = new HistoryTurns(() => 1, { idleMs: 500 });
      const api = new TestApi({ index: journal.index, histories });
      const path = `/series?field=128267.depth&from=2026-01-02T03:04:05Z&to=2026-01-02T03:04:10Z&points=10000`;
      const whole = await (await api.fetch(path)).text();
      assert.ok(whole.length > 100_000);
      await eventually("the end of the turn", () => histories.running === 0);
      const unread = await api.fetch(path);
      assert.equal(histories.running, 1);
      const waiting = api.fetch(path);
      assert.equal(await (await waiting).text(), whole);
      await assert.rejects(unread.text(), /read nothing/);
      const cancelled = await api.fetch(path);
      await cancelled.body?.cancel();
      assert.equal(histories.running, 0);
    }),
);

Deno.test(
  "recording loses nothing while series are asked for, and they have every frame in the end",
  DISK,
  () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: folder, blockBytes: 4096, rotateBytes: 20_000 };
      const frames = rounds(60_000, 4000);
      let expected = 0;
      for (let run = 0; run < 2; run++) {
        const boat = await TestBoat.start({ journal, stateDirectory: folder });
        const path = "/series?field=128267.depth&field=130306.wind_speed&from=1970-01-01T00:00:00Z&points=1000";
        let isOver = false;
        const asking = [0, 1, 2].map(async () => {
          while (!isOver) await boat.get<SeriesReply>(path);
        });
        for (let i = 0; i < frames; i++) {
          boat.say({ pgn: 128267, src: 35, data: [1, i & 0xff, i >> 8 & 0xff, 0, 0, 0x10, 0, 1] });
          if (i % 100 === 0) await pause(1);
        }
        expected += frames;
        await eventually("all frames", () => boat.boat.broker.published === frames);
        isOver = true;
        await Promise.all(asking);
        const { series } = await boat.get<SeriesReply>(path);
        assert.equal(series.flatMap(({ count }) => count).reduce((sum, count) => sum + count, 0), expected);
        const { components } = await boat.get<{ components: Record<string, { status: string }> }>("/healthz");
        assert.deepEqual([components.series?.status, components.journal?.status], ["ok", "ok"]);
        assert.match(await (await fetch(`${boat.url}/metrics`)).text(), /vbg_series_sidecar_failures_total 0/);
        await boat.boat.stop();
      }
      const seqs = readJournal(journal.directory).frames.map(({ seq }) => Number(seq));
      assert.equal(new Set(seqs).size, expected);
    }),
);
