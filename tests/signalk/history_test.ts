import assert from "node:assert/strict";
import { buildName } from "../../src/frame/mod.ts";
import { HISTORY_METHODS, HistoryTable, originOfPath } from "../../src/signalk/mod.ts";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { message, nameFields, START_US } from "../support/messages.ts";
import { needs, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { devicesOf, sensorTraffic, timeText } from "../support/series.ts";
import {
  assertHistory,
  bruteHistory,
  type HistoryReply,
  TESTED_PATHS,
  type Wanted,
} from "../support/signalk_history.ts";

const DISK = needs({ permissions: ["read", "write"] });
const BUSES = ["can0", "can1"];
const NAMES: Readonly<Record<number, bigint>> = {
  3: buildName(nameFields({ uniqueNumber: 1, manufacturerCode: 137 })),
  7: buildName(nameFields({ uniqueNumber: 2, manufacturerCode: 137 })),
};
const SELF = "vessels.urn:mrn:imo:mmsi:230012345";
const API = "/signalk/v2/api/history";
const MINUTE = "from=2026-01-02T03:04:05Z&to=2026-01-02T03:05:05Z";

/** Records messages, and asks a boat that has the journal. */
function withHistory(
  messages: readonly ReturnType<typeof message>[],
  test: (boat: TestBoat) => Promise<void>,
  options: TestBoatOptions = {},
): Promise<void> {
  return inFolder(async (folder) => {
    const directory = `${folder}/journal`;
    await Deno.mkdir(directory);
    {
      await using journal = await TestJournal.open(directory, { buses: BUSES, devices: () => devicesOf(NAMES) });
      journal.append(1, messages);
      await journal.writer.sync();
    }
    await using boat = await TestBoat.start({
      names: BUSES,
      signalk: { mmsi: "230012345" },
      journal: { directory, stateDirectory: folder },
      ...options,
    });
    await test(boat);
  });
}

/** Paths whose values are in the sidecars of series. */
const STORED_PATHS = [
  "navigation.headingTrue",
  "navigation.headingMagnetic",
  "navigation.magneticVariation",
  "environment.depth.belowTransducer",
  "electrical.batteries.1.voltage",
  "environment.wind.angleApparent",
  "environment.wind.speedApparent",
  "tanks.freshWater.1.currentLevel",
  "steering.rudderAngle",
  "no.such.path",
];

const values = (boat: TestBoat, query: string) => boat.get<HistoryReply>(`${API}/values?${query}`);

function knownOf(messages: readonly ReturnType<typeof message>[]) {
  return messages.map((each) => ({ message: each, name: NAMES[each.id & 0xff] ?? 0n }));
}

/** Columns of which sidecars have only some. */
const MIXED = "environment.wind.angleApparent:min,environment.wind.speedApparent:average," +
  "environment.depth.belowTransducer:average,environment.depth.belowKeel:average";

/** What two tests ask for. */
interface Asked {
  methods: readonly string[];
  /** Widths of buckets, milliseconds. */
  widths: readonly number[];
  /** Ranges begin and end at multiples of this, milliseconds. */
  edgeMs: number;
  paths: readonly string[];
}

/** Asks for random columns and ranges, and compares each reply with what a naive reader finds. */
async function checkRandomly(
  boat: TestBoat,
  messages: readonly ReturnType<typeof message>[],
  { methods, widths, edgeMs, paths }: Asked,
): Promise<void> {
  const random = new Random(2);
  const known = knownOf(messages);
  const firstMs = Math.ceil(START_US / 1000 / edgeMs);
  const lastMs = Math.floor(Math.max(...messages.map(({ timeUs }) => timeUs)) / 1000 / edgeMs);
  for (let round = 0; round < rounds(1000, 25); round++) {
    const at = () => random.between(firstMs, lastMs) * edgeMs;
    const [fromMs = 0, toMs = 0] = [at(), at()].sort((a, b) => a - b);
    if (fromMs === toMs) continue;
    const wanted = Array.from({ length: random.between(1, 6) }, (): Wanted => {
      const method = random.pick(methods);
      const parameter = { sma: random.between(1, 9), ema: random.pick([0.1, 0.5, 1]) }[method];
      return { path: random.pick(paths), method, parameter };
    });
    const bucketMs = random.pick(widths);
    const allSources = random.chance(0.5);
    const columns = wanted.map(({ path, method, parameter }) => [path, method, parameter ?? []].flat().join(":"));
    const query = `from=${timeText(fromMs * 1000)}&to=${timeText((toMs - 1) * 1000)}&resolution=${bucketMs / 1000}` +
      `&paths=${columns.join(",")}${allSources ? "&sourcePolicy=all" : ""}`;
    const range = { fromUs: fromMs * 1000, toUs: toMs * 1000 - 1, bucketMs, buses: BUSES };
    const expected = bruteHistory(known, { wanted, allSources, ...range });
    assertHistory(await values(boat, query), expected, query);
  }
}

Deno.test("values are what a reader finds who decodes every frame: ranges, paths, methods at random", DISK, () => {
  const messages = sensorTraffic(new Random(1), { count: 4000, everyMs: 200 });
  return withHistory(messages, (boat) =>
    checkRandomly(boat, messages, {
      methods: HISTORY_METHODS,
      widths: [1000, 1500, 7000, 30_000, 60_000, 3_600_000],
      edgeMs: 1,
      paths: Object.keys(TESTED_PATHS),
    }), { seriesPgns: [] });
});

Deno.test("what the sidecars of series have is read from them alone, and is the same", DISK, () => {
  const messages = sensorTraffic(new Random(3), { count: 4000, everyMs: 200 });
  // The wind at both sides of the bow.
  const lastMs = 30_000 * Math.ceil((messages.at(-1)?.monoMs ?? 0) / 30_000) + 60_000;
  const wind = [1000, 60_000].map((raw, i) =>
    message({ pgn: 130306, src: 3, data: [1, 9, 0, raw & 0xff, raw >> 8, 2, 0xff, 0xff], monoMs: lastMs + i })
  );
  const added = [
    ...wind,
    message({ pgn: 129026, src: 3, data: [1, 0xfc, 0, 0, 100, 0, 0xff, 0xff], monoMs: lastMs + 2 }),
    message({ pgn: 128259, src: 3, data: [1, 0xff, 0xff, 200, 0, 0, 0xff, 0xff], monoMs: lastMs + 3 }),
  ];
  return withHistory([...messages, ...added], async (boat) => {
    const ask = async (method: string) => {
      const range = `from=${timeText(START_US)}&duration=P1D&resolution=60`;
      const reply = await fetch(`${boat.url}${API}/values?${range}&paths=environment.depth.belowTransducer:${method}`);
      await reply.body?.cancel();
      return reply.status;
    };
    await eventually("the sidecars", async () => await ask("average") === 200);
    assert.equal(await ask("first"), 400, "too many frames");
    for (const columns of ["environment.wind.angleApparent:average", MIXED]) {
      const range = { fromUs: START_US + (lastMs - 50_000) * 1000, toUs: START_US + (lastMs + 40_000) * 1000 + 999 };
      const wanted = columns.split(",").map((each) => each.split(":")).map(([path = "", method = ""]) => ({
        path,
        method,
      }));
      const query = `from=${timeText(range.fromUs)}&to=${timeText(range.toUs)}&resolution=30&paths=${columns}`;
      const known = knownOf([...messages, ...added]);
      const expected = bruteHistory(known, { wanted, allSources: false, bucketMs: 30_000, buses: BUSES, ...range });
      assertHistory(await values(boat, query), expected, query);
    }
    // Frames are read for the first column, and not a second time for the other one.
    const both = "paths=navigation.courseOverGroundTrue:first,navigation.speedOverGround:average";
    const end = `from=${timeText(START_US + (lastMs - 90_000) * 1000)}&duration=100&resolution=30`;
    assert.deepEqual((await values(boat, `${end}&${both}`)).data.map(([, ...row]) => row), [[0, 1.5]]);
    await checkRandomly(boat, messages, {
      methods: ["average", "last", "sma", "ema"],
      widths: [30_000, 60_000, 720_000],
      edgeMs: 30_000,
      paths: STORED_PATHS,
    });
    await checkRandomly(boat, messages, {
      methods: ["min", "max", "mid"],
      widths: [30_000, 90_000],
      edgeMs: 30_000,
      paths: STORED_PATHS.filter((path) => path !== "environment.wind.angleApparent"),
    });
  }, { maxSeriesScan: 2000 });
});

const heading = (radians: number, monoMs: number, src = 3) => {
  const raw = Math.round(radians * 10_000);
  return message({ pgn: 127250, src, data: [1, raw & 0xff, raw >> 8, 0xff, 0x7f, 0xff, 0x7f, 0xfc], monoMs });
};
const attitude = (roll: number, monoMs: number) => {
  const data = new Uint8Array([1, 0, 0, 0, 0, 0, 0, 0xff]);
  new DataView(data.buffer).setInt16(5, Math.round(roll * 10_000), true);
  return message({ pgn: 127257, src: 3, data, monoMs });
};

Deno.test(
  "angles around north average to north; parts of objects have paths",
  DISK,
  () =>
    withHistory(
      [
        heading(6.2, 0),
        heading(0.2, 1),
        attitude(-0.2, 2),
        attitude(0.1, 3),
      ],
      async (boat) => {
        const paths = "navigation.headingTrue,navigation.attitude.roll,navigation.attitude,navigation.position";
        const reply = await values(boat, `${MINUTE}&resolution=10&paths=${paths}`);
        assert.deepEqual([reply.context, reply.range], [SELF, {
          from: "2026-01-02T03:04:05.000Z",
          to: "2026-01-02T03:05:05.000Z",
        }]);
        const [[time, north, roll, ...rest] = []] = reply.data;
        assert.equal(time, "2026-01-02T03:04:00.000Z");
        assert.ok(Math.abs(Number(north) - (6.2 - 2 * Math.PI + 0.2) / 2) < 1e-4, `${north}`);
        assert.ok(Math.abs(Number(roll) + 0.05) < 1e-4, `${roll}`);
        assert.deepEqual(rest, [{ yaw: 0, pitch: 0, roll: 0.1 }, null]);
      },
    ),
);

Deno.test(
  "a bucket has the values of one source: the one before if it has any, and sourcePolicy=all has all",
  DISK,
  () =>
    withHistory(
      [
        heading(1, 0, 21),
        heading(2, 1, 30),
        heading(2, 10_000, 30),
        heading(1, 10_001, 21),
        heading(2, 20_000, 30),
        heading(2, 30_000, 30),
        heading(1, 30_001, 21),
      ],
      async (boat) => {
        const query = `${MINUTE}&resolution=10&paths=navigation.headingTrue`;
        const one = await values(boat, query);
        assert.deepEqual(one.data.map(([, value]) => value), [1, 1, 2, 2]);
        const all = await values(boat, `${query}&sourcePolicy=all`);
        assert.deepEqual(all.values.map(({ $source }) => $source), ["can0.21", "can0.30"]);
        assert.deepEqual(all.data.map(([, ...row]) => row), [[1, 2], [1, 2], [null, 2], [1, 2]]);
      },
    ),
);

Deno.test(
  "times are from, to and duration; the resolution is seconds, a text, or by the range",
  DISK,
  () =>
    withHistory(Array.from({ length: 60 }, (_, i) => heading(1, i * 1000)), async (boat) => {
      const rows = async (query: string) => (await values(boat, `${query}&paths=navigation.headingTrue`)).data.length;
      const [from, to] = MINUTE.split("&");
      assert.equal(await rows(`${MINUTE}&resolution=20`), 4);
      assert.equal(await rows(`${MINUTE}&resolution=20s`), 4);
      assert.equal(await rows(`${MINUTE}&resolution=PT1M`), 2);
      assert.equal(await rows(MINUTE), 60);
      assert.equal(await rows(`${from}&duration=10&resolution=1`), 11);
      assert.equal(await rows(`${from}&duration=PT10S&resolution=1`), 11);
      assert.equal(await rows(`${to}&duration=10&resolution=1`), 10);
      assert.equal(await rows(`${from}&resolution=1d`), 1);
      assert.equal(await rows("duration=10"), 0);
      const path = "navigation.headingTrue";
      const asKip = await values(boat, `${from}&resolution=60&paths=${path}:sma:3,${path}:avg,${path}:min,${path}:max`);
      assert.deepEqual(asKip.values.map(({ method }) => method), ["sma", "average", "min", "max"]);
      assert.equal(await rows(`${MINUTE}&context=${SELF}&resolution=20`), 4);
      assert.equal(await rows(`${MINUTE}&context=vessels.urn:mrn:imo:mmsi:211000000`), 0);
    }),
);

Deno.test(
  "a request for history that cannot be answered says why",
  DISK,
  () =>
    withHistory([heading(1, 0)], async (boat) => {
      const check = async (path: string, { status, words }: { status: number; words: RegExp }) => {
        const reply = await fetch(boat.url + path);
        const { detail } = await reply.json() as { detail: string };
        assert.equal(reply.status, status, path.slice(0, 200));
        assert.match(detail, words, path.slice(0, 200));
        assert.ok(detail.length < 500);
      };
      const bad = (query: string, words: RegExp) => check(`${API}/values?${query}`, { status: 400, words });
      await bad("paths=a.b", /"from": required/);
      await bad(MINUTE, /"paths": required/);
      await bad("paths=a.b&from=yesterday", /RFC 3339/);
      await bad("paths=a.b&to=2026-01-02T03:04:05Z", /"from": required/);
      await bad(`paths=a.b&${MINUTE}&duration=5`, /one of from, to and duration/);
      await bad("paths=a.b&from=2026-01-02T03:04:05Z&to=2026-01-02T03:04:05Z", /before the end/);
      await bad("paths=a.b&duration=1000000y", /seconds or a duration/);
      await bad("paths=a.b&duration=P100000Y", /too long|more than zero|duration/);
      await bad(`paths=a.b&${MINUTE}&resolution=0`, /more than zero/);
      await bad(`paths=a.b&${MINUTE}&resolution=fine`, /"resolution".*duration/);
      await bad(`paths=a.b:median&${MINUTE}`, /unknown method, expected one of average/);
      await bad(`paths=a.b:sma:0&${MINUTE}`, /from 1 to 1000/);
      await bad(`paths=a.b:ema:2&${MINUTE}`, /at most 1/);
      await bad(`paths=a.b:ema:0.5:1&${MINUTE}`, /one parameter/);
      await bad(`paths=a.b,,c&${MINUTE}`, /only the path is needed/);
      await bad(`paths=${"a.".repeat(200)}&${MINUTE}`, /longer than 200/);
      await bad(`paths=${"a,".repeat(2000)}&${MINUTE}`, /at most 32/);
      await bad(`paths=a.b&${MINUTE}&sourcePolicy=some`, /all or preferred/);
      await check(`${API}/paths`, { status: 400, words: /"from": required/ });
      await using blind = await TestBoat.start({ signalk: {} });
      const reply = await fetch(`${blind.url}${API}/values?paths=a.b&${MINUTE}`);
      assert.equal(reply.status, 501);
      assert.match(await reply.text(), /-journal-dir/);
      assert.deepEqual(await blind.get(`${API}/_providers`), {});
      assert.deepEqual(await blind.get("/signalk/v2/features"), { apis: [], plugins: [] });
    }),
);

Deno.test(
  "too many frames or samples are refused, and the other requests of the history answer",
  DISK,
  () =>
    withHistory(Array.from({ length: 600 }, (_, i) => heading(1, i)), async (boat) => {
      const reply = await fetch(`${boat.url}${API}/values?${MINUTE}&paths=navigation.headingTrue`);
      assert.equal(reply.status, 400);
      assert.match(await reply.text(), /frames would have to be read, of at most 100/);
      boat.say({ pgn: 127250, src: 3, data: [1, 0, 1, 0xff, 0x7f, 0xff, 0x7f, 0xfc] });
      assert.deepEqual(await boat.get(`${API}/paths?duration=PT1H`), ["navigation.headingTrue"]);
      assert.deepEqual(await boat.get(`${API}/contexts?duration=PT1H`), [SELF]);
      assert.deepEqual(await boat.get(`${API}/_providers`), { "vessel-bus-gateway": { isDefault: true } });
      assert.deepEqual(await boat.get("/signalk/v2/features"), { apis: ["history"], plugins: [] });
    }, { maxSeriesScan: 100 }),
);

Deno.test("only messages that can have a path are decoded for it, and those that they refer to", () => {
  const pgns = (path: string) => [...originOfPath(path)?.pgns ?? []].sort((a, b) => a - b);
  assert.deepEqual(pgns("navigation.headingTrue"), [65359, 127250]);
  assert.deepEqual(pgns("environment.outside.temperature").slice(0, 2), [65285, 130310]);
  assert.deepEqual(pgns("tanks.fuel.0.currentLevel"), [127505]);
  assert.deepEqual(pgns("navigation.courseGreatCircle.crossTrackError"), [129283, 129284, 129285]);
  assert.deepEqual(pgns("navigation.attitude.roll"), [127257]);
  assert.deepEqual(pgns("navigation.attitude.speed"), []);
  assert.deepEqual(pgns("__proto__.toString"), []);
});

Deno.test("angles that cancel have no average, and no smoothed one", () => {
  const origin = originOfPath("navigation.headingTrue");
  const paths = (["average", "sma", "ema", "max"] as const).map((method) => ({
    wanted: { path: "navigation.headingTrue", method, parameter: 1 },
    origin,
  }));
  const table = new HistoryTable(paths, { bucketMs: 1000, budget: { addBucket: () => {} }, allSources: false });
  for (const value of [0, Math.PI]) table.add("navigation.headingTrue", { value, source: "can0.1", timeUs: 5e6 });
  assert.deepEqual([...table.result().rows], [[5000, null, null, null, Math.PI]]);
});
