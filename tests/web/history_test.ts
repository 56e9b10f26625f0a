import assert from "node:assert/strict";
import type { FieldSeries, SeriesReply } from "../../src/client/mod.ts";
import { parseCsv } from "../support/csv.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi, TestJournal } from "../support/history.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { BUSES, RECORDING, sensorTraffic } from "../support/series.ts";
import { angleLines } from "../../web/views/history/angles.ts";
import { type Chart, chartsOf, emptyChoices } from "../../web/views/history/charts.ts";
import { bucketAt, columnsOf, longestStep } from "../../web/views/history/columns.ts";
import { csvOf } from "../../web/views/history/csv.ts";
import { labelSpans } from "../../web/views/history/lanes.ts";
import { measureKey, measureOf } from "../../web/views/history/measure.ts";
import { dashOf, LINE_COLOURS } from "../../web/views/history/dashes.ts";
import { LAST_RANGES, MAX_CHOSEN, placeText, readPlace, type Span } from "../../web/views/history/place.ts";
import {
  CHARTABLE_QUANTITIES,
  choiceLabel,
  fieldsOfChoice,
  isChosen,
  search,
  seriesLabel,
} from "../../web/views/history/quantity_fields.ts";
import { joinTail, keyOf, tailOf } from "../../web/views/history/refresh.ts";
import { inputText, readInput, tickTexts, utcText } from "../../web/views/time_text.ts";
import { keyAction, marked, moved, pinched, zoomed } from "../../web/views/history/zoom.ts";

const DISK = needs({ permissions: ["read", "write"] });
const SECOND = 1000;
const START = Date.UTC(2026, 0, 2, 3, 0, 0);

function series(given: Partial<FieldSeries> = {}): FieldSeries {
  const time = given.time ?? [START, START + SECOND];
  const ones = time.map(() => 1);
  return {
    ...{ field: "128267.depth", kind: "number", src: 35, name: "", time },
    ...(given.kind !== "label" && { unit: "m" }),
    ...{ min: ones, avg: ones, max: ones, last: ones, count: ones },
    ...given,
  };
}

function chartsFrom(list: FieldSeries[], { chosen = list.map(({ field }) => field) } = {}): Chart[] {
  const reply = { from: "", to: "", bucket_ms: SECOND, series: list };
  return chartsOf(reply, { chosen, devices: [], system: "nautical" });
}

Deno.test("a place is read from its own text; what is not one shows the last hour", () => {
  for (const range of LAST_RANGES) {
    const place = { range: { type: "last", last: range }, chosen: ["engine.*.speed", "128267.depth"] } as const;
    assert.deepEqual(readPlace(placeText(place)), place);
  }
  const span = { fromMs: START, toMs: START + 1234 };
  const none = { range: { type: "span", span }, chosen: [] } as const;
  assert.equal(placeText(none), "20260102T030000Z-20260102T030001.234Z/-");
  assert.deepEqual(readPlace(placeText(none)), none);
  assert.equal(
    placeText({ ...none, range: { type: "span", span: { fromMs: START - 600_000, toMs: START } } }),
    [
      "20260102T025000Z-20260102T030000Z",
      "-",
    ].join("/"),
  );
  for (
    const wrong of [undefined, "", "x", "20260102T030001Z-20260102T030000Z", "2026-2027", "-", "20261399T999999Z-1"]
  ) {
    assert.deepEqual(readPlace(wrong).range, { type: "last", last: LAST_RANGES[1] }, `${wrong}`);
  }
  const many = Array.from({ length: 50 }, (_, index) => `${index}.x`);
  assert.equal(readPlace(`1h/${many.join("/")}/0.x`).chosen.length, MAX_CHOSEN);
});

Deno.test("so many choices as the page takes are fields that one request takes", () => {
  const most = CHARTABLE_QUANTITIES.map(({ id }) => fieldsOfChoice(id).length).sort((a, b) => b - a);
  assert.ok(most.slice(0, MAX_CHOSEN).reduce((sum, each) => sum + each) <= 32, `${most}`);
});

Deno.test("a quantity finds its fields and only its own series", () => {
  assert.deepEqual(fieldsOfChoice("wind.apparent.speed"), ["130306.wind_speed"]);
  assert.deepEqual(fieldsOfChoice("position"), [
    ...["129025.latitude", "129025.longitude", "129029.latitude", "129029.longitude"],
  ]);
  assert.ok(fieldsOfChoice("temperature.sea.0").includes("130310.water_temperature"));
  const wind = (reference: string) => ({ field: "130306.wind_speed", keys: { wind_reference: reference } });
  assert.equal(isChosen("wind.apparent.speed", wind("apparent")), true);
  assert.equal(isChosen("wind.apparent.speed", wind("true_north")), false);
  assert.equal(isChosen("130306.wind_speed", wind("true_north")), true);
  const tank = { field: "127505.level", keys: { instance: 1, fluid_type: 0 } };
  assert.deepEqual(["tank.*.*.level", "tank.fuel.1.level", "tank.fuel.0.level"].map((id) => isChosen(id, tank)), [
    ...[true, true, false],
  ]);
  assert.deepEqual([seriesLabel(tank), seriesLabel({ field: "129025.latitude" })], ["Fuel tank 1", "Latitude"]);
  assert.equal(seriesLabel({ field: "127505.reserved_x", keys: { fluid_type: 0 } }), "Reserved x, fluid type 0");
  assert.deepEqual(["engine.*.speed", "engine.1.speed", "128267.depth"].map(choiceLabel), [
    ...["Engine speed", "Engine 1 speed", "Depth below transducer (128267)"],
  ]);
});

Deno.test("each quantity can be chosen once, and is found by words of its label or key", () => {
  const ids = CHARTABLE_QUANTITIES.map(({ id }) => id);
  assert.equal(new Set(ids).size, ids.length);
  assert.equal(search("depth", CHARTABLE_QUANTITIES)[0]?.id, "depth");
  assert.deepEqual(search("wind app ANGLE", CHARTABLE_QUANTITIES).map(({ id }) => id), ["wind.apparent.angle"]);
});

Deno.test("fields with the same unit share a chart; labels are one strip; other units are other charts", () => {
  const charts = chartsFrom([
    series(),
    series({ src: 36 }),
    series({ field: "129026.sog", unit: "m/s" }),
    series({ field: "130306.wind_speed", unit: "m/s", keys: { wind_reference: "apparent" } }),
    series({ field: "127488.engine_speed", unit: "rpm" }),
    series({
      field: "127493.transmission_gear",
      kind: "label",
      min: null,
      avg: null,
      max: null,
      last: ["Forward", "x"],
    }),
    series({ field: "127250.heading", unit: "rad", kind: "angle", min: null, max: null }),
    series({ field: "129026.cog", unit: "rad", kind: "angle", min: null, max: null }),
    series({ field: "130306.wind_angle", unit: "rad", kind: "angle", min: null, max: null }),
    series({
      ...{ field: "130306.wind_angle", unit: "rad", kind: "angle", min: null, max: null },
      keys: { wind_reference: "true_north" },
    }),
  ]);
  assert.deepEqual(charts.map(({ type, measure, lines }) => [type, measure.unit, lines.map(({ name }) => name)]), [
    ["lines", "m", ["Depth below transducer", "Depth below transducer"]],
    ["lines", "kn", ["Speed over ground", "Apparent wind speed"]],
    ["lines", "rpm", ["Engine speed"]],
    ["strip", "", ["Transmission gear"]],
    ["lines", "°", ["Heading", "Cog", "True wind from north angle"]],
    ["lines", "° port, starboard", ["Wind angle"]],
  ]);
  const [twice] = chartsFrom([
    series({ field: "130310.water_temperature", unit: "K" }),
    series({ field: "130312.actual_temperature", unit: "K", keys: { temperature_source: "sea", instance: 0 } }),
  ]);
  assert.deepEqual(twice?.lines.map(({ name, source }) => `${name}: ${source}`), [
    ...["Sea temperature: address 35, PGN 130310", "Sea temperature: address 35, PGN 130312"],
  ]);
  const reply = { from: "", to: "", bucket_ms: SECOND, series: [series()] };
  assert.deepEqual(emptyChoices(["depth", "sog"], reply), ["sog"]);
});

Deno.test("no two of 36 lines have the same colour and dash", () => {
  const looks = Array.from({ length: 36 }, (_, line) => `${line % LINE_COLOURS} ${dashOf(line)}`);
  assert.equal(new Set(looks).size, looks.length);
});

Deno.test("an axis has one unit for all its values, and ticks as exact as their distance", () => {
  const field = { name: "log", unit: "m", isAngle: false };
  const far = measureOf(field, { system: "nautical", largest: 1852_000 });
  const near = measureOf(field, { system: "nautical", largest: 50 });
  assert.deepEqual([far.unit, far.toShown(1852), near.unit, near.toShown(50)], ["nm", 1, "m", 50]);
  const heading = measureOf({ name: "heading", unit: "rad", isAngle: true }, { system: "metric", largest: 0 });
  assert.deepEqual([350, 360, 375, -10, 0.5].map((each) => heading.tickText(each, each === 0.5 ? 0.5 : 5)), [
    ...["350°", "000°", "015°", "350°", "000.5°"],
  ]);
  const wind = measureOf({ name: "wind_angle", unit: "rad", isAngle: true }, { system: "nautical", largest: 0 });
  assert.deepEqual([-30, 0, 45, 185].map((each) => wind.tickText(each, 5)), ["30°P", "0°", "45°S", "175°P"]);
  assert.deepEqual([far.tickText(-0.001, 0.5), far.tickText(2.5, 2.5), near.tickText(20, 20)], ["0.0", "2.5", "20"]);
  const si = { system: "si", largest: 0 } as const;
  assert.equal(measureOf({ name: "heading", unit: "rad", isAngle: true }, si).unit, "rad");
  assert.notEqual(measureKey({ name: "a", unit: undefined, isAngle: false }, "si"), measureKey(field, "si"));
});

Deno.test("angles around north are one line; those that go around are interrupted at a full turn", () => {
  const north = angleLines([[350, 355, 2, null, 8, undefined, 356], [10, 350]], { turn: 360, from: 0 });
  assert.deepEqual(north.values, [[350, 355, 362, null, 368, undefined, 356], [370, 350]]);
  assert.deepEqual(north.breaks.map(({ size }) => size), [0, 0]);
  const random = new Random(5);
  for (let round = 0; round < 200; round++) {
    const from = random.pick([0, -180]);
    let angle = random.int(360);
    const list = Array.from({ length: 50 }, () => angle = (angle + random.between(-80, 80) + 360) % 360);
    const { values: [shown = []], breaks: [breaks = new Set()] } = angleLines([list], { turn: 360, from });
    for (const [index, value] of shown.entries()) {
      if (typeof value !== "number") throw new TypeError(`${value}`);
      assert.equal(((value - (list[index] ?? NaN)) % 360 + 360) % 360 < 1e-6, true, "the same direction");
      const before = shown[index - 1];
      if (typeof before === "number" && !breaks.has(index)) assert.ok(Math.abs(value - before) <= 180, "no false jump");
    }
    const numbers = shown.filter((each) => typeof each === "number");
    assert.ok(Math.max(...numbers) - Math.min(...numbers) <= 360);
  }
});

Deno.test("an empty bucket is a gap where values are many, and none where they are rare", () => {
  const many = { time: [0, 1, 2, 4, 5].map((each) => each * SECOND), count: [5, 5, 5, 5, 5] };
  const rare = { time: [0, 2, 5, 7, 20, 22].map((each) => each * SECOND), count: [1, 1, 1, 1, 1, 1] };
  assert.equal(longestStep(many, SECOND), SECOND);
  assert.equal(longestStep(rare, SECOND), 6 * SECOND);
  const line = (given: typeof many) => ({
    ...{ time: given.time, longestMs: longestStep(given, SECOND), middle: given.time.map((ms) => ms), low: undefined },
    high: undefined,
  });
  const { x, lines: [first, second] } = columnsOf([line(many), line(rare)], SECOND);
  assert.deepEqual(x, x.toSorted((a, b) => a - b));
  const gaps = (values: readonly unknown[] = []) => x.filter((_, row) => values[row] === null);
  assert.deepEqual([gaps(first?.middle), gaps(second?.middle)], [[3000], [8000]]);
  assert.deepEqual(first?.middle.filter((each) => typeof each === "number"), many.time);
  assert.equal(bucketAt(line(many), { atMs: 3500, bucketMs: SECOND }), undefined);
  assert.equal(bucketAt(line(many), { atMs: 2999, bucketMs: SECOND }), 2);
  assert.equal(bucketAt(line(rare), { atMs: 4500, bucketMs: SECOND }), 1);
  assert.equal(bucketAt(line(rare), { atMs: 9000, bucketMs: SECOND }), undefined);
  assert.equal(bucketAt(line(rare), { atMs: -1, bucketMs: SECOND }), undefined);
  const lonely = columnsOf([line({ time: [0, 1000, 9000], count: [4, 4, 4] })], SECOND);
  assert.deepEqual(lonely.lines[0]?.alone.map((row) => lonely.x[row]), [9500]);
});

Deno.test("equal labels are one span until the data has a gap", () => {
  const time = [0, 1, 2, 3, 10].map((each) => each * SECOND);
  const last = ["Forward", "Forward", "Neutral", "Neutral", "Neutral"];
  const spans = labelSpans({ last }, { time, longestMs: SECOND }, { bucketMs: SECOND, textOf: String });
  assert.deepEqual(spans, [
    { fromMs: 0, toMs: 2000, text: "Forward" },
    { fromMs: 2000, toMs: 4000, text: "Neutral" },
    { fromMs: 10_000, toMs: 11_000, text: "Neutral" },
  ]);
});

Deno.test("zoom keeps the time under the pointer, never ends in the future, and has a shortest span", () => {
  const span = { fromMs: 0, toMs: 100_000 };
  const nowMs = 100_000;
  assert.deepEqual(zoomed(span, { factor: 0.5, atMs: 20_000, nowMs }), { fromMs: 10_000, toMs: 60_000 });
  assert.deepEqual(zoomed(span, { factor: 1e-9, nowMs }), { fromMs: 49_500, toMs: 50_500 });
  assert.deepEqual(zoomed(span, { factor: 2, nowMs }), { fromMs: -100_000, toMs: 100_000 });
  assert.deepEqual(moved(span, { part: 0.5, nowMs }), span);
  assert.deepEqual(moved(span, { part: -0.5, nowMs }), { fromMs: -50_000, toMs: 50_000 });
  assert.deepEqual(marked(30_000, 20_000, nowMs), { fromMs: 20_000, toMs: 30_000 });
  assert.equal(marked(30_000, 30_001, nowMs).toMs - marked(30_000, 30_001, nowMs).fromMs, 1000);
  assert.deepEqual(pinched(span, { start: [0.4, 0.6], now: [0.3, 0.7], nowMs }), { fromMs: 25_000, toMs: 75_000 });
  assert.deepEqual(pinched(span, { start: [0.4, 0.6], now: [0.5, 0.7], nowMs }), { fromMs: -10_000, toMs: 90_000 });
  const key = (name: string, given = {}) =>
    keyAction({ ...{ key: name, shiftKey: false, ctrlKey: false, altKey: false, metaKey: false }, ...given })?.type;
  assert.deepEqual([key("+"), key("ArrowLeft"), key("ArrowLeft", { shiftKey: true }), key("x")], [
    ...["zoom", "cursor", "move", undefined],
  ]);
  assert.equal(key("-", { ctrlKey: true }), undefined, "the browser's own zoom stays");
});

Deno.test("CSV keeps the figures exactly, quotes what must be, and has no formula of the bus", () => {
  const figures = [-1.5, 0.1 + 0.2, 1e-7];
  const hostile = ['=cmd|"/c calc"!A1', "+1", "-2+3", "@x", "\tx", "a,b\r\nc", 'say "x"', "plain"];
  const [chart] = chartsFrom([
    series({
      time: [START, START + 1, START + 2],
      min: figures,
      avg: figures,
      max: figures,
      last: figures,
      count: [1, 2, 3],
    }),
  ]);
  const [strip] = chartsFrom([
    series({
      ...{ field: "126998.installation_description1", kind: "label", min: null, avg: null, max: null },
      ...{ time: hostile.map((_, index) => START + index), last: hostile, count: hostile.map(() => 1) },
    }),
  ]);
  const lines = [...chart?.lines ?? [], ...strip?.lines ?? []].map((line) => ({ ...line, source: "=2+2" }));
  const text = csvOf(lines);
  assert.ok(text.endsWith("\r\n") && !/[^\r]\n(?=20)/.test(text));
  const [header, ...rows] = parseCsv(text);
  assert.equal(header?.join(), "time,field,source,unit,min,avg,max,last,count");
  assert.deepEqual(rows.slice(0, 3).map(([time, , , unit, ...rest]) => [time, unit, ...rest.map(Number)]), [
    ["2026-01-02T03:00:00.000Z", "m", -1.5, -1.5, -1.5, -1.5, 1],
    ["2026-01-02T03:00:00.001Z", "m", 0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2, 0.1 + 0.2, 2],
    ["2026-01-02T03:00:00.002Z", "m", 1e-7, 1e-7, 1e-7, 1e-7, 3],
  ]);
  assert.deepEqual(rows.slice(3).map((row) => row[7]), [
    ...[`'=cmd|"/c calc"!A1`, "'+1", "'-2+3", "'@x", "'\tx", "a,b\r\nc", 'say "x"', "plain"],
  ]);
  for (const row of rows) assert.equal(row[2]?.startsWith("'=2+2"), true);
});

Deno.test("ticks name the day where it begins, and local times are read as they are written", () => {
  const midnight = new Date(2026, 2, 5).getTime();
  assert.deepEqual(tickTexts([midnight - 3_600_000, midnight, midnight + 3_600_000], 3_600_000), [
    ...["23:00\n4 Mar", "00:00\n5 Mar", "01:00"],
  ]);
  assert.deepEqual(tickTexts([midnight, midnight + SECOND], SECOND), ["00:00:00\n5 Mar", "00:00:01"]);
  assert.deepEqual(tickTexts([midnight + 250], 250), ["00:00:00.250\n5 Mar"]);
  assert.equal(readInput(inputText(midnight + 5000)), midnight + 5000);
  assert.equal(readInput(""), undefined);
  const times = ["2026-11-25T15:03:00+01:00", "2026-11-25T14:03:20Z", "2026-11-25T14:03:00.5Z", "yesterday"];
  assert.deepEqual(times.map(utcText), [
    ...["2026-11-25 14:03 UTC", "2026-11-25 14:03:20 UTC", "2026-11-25 14:03:00.500 UTC", "yesterday"],
  ]);
});

Deno.test(
  "a refresh that asks only for the end of the range shows what a whole request shows",
  DISK,
  () =>
    inFolder(async (folder) => {
      const random = new Random(11);
      await using journal = await TestJournal.open(folder, RECORDING);
      const messages = sensorTraffic(random, { count: 2000, everyMs: 200 });
      // Some are recorded a few seconds late.
      for (let at = 20; at < messages.length; at += 20) messages.splice(at, 0, ...messages.splice(at - 8, 1));
      const api = new TestApi({ index: journal.index, buses: BUSES });
      const fields = ["128267.depth", "127250.heading", "127493.transmission_gear", "127508.voltage"];
      const ask = ({ fromMs, toMs }: Span, points: number) => {
        const times = `from=${new Date(fromMs).toISOString()}&to=${new Date(toMs).toISOString()}`;
        return api.get<SeriesReply>(
          `/series?${fields.map((each) => `field=${each}&`).join("")}${times}&points=${points}`,
        );
      };
      let reply: SeriesReply | undefined;
      let tails = 0;
      for (let at = 500, from = 0; at <= messages.length; at += random.pick([1, 5, 40, 160])) {
        journal.append(from + 1, messages.slice(from, at));
        from = at;
        await journal.writer.sync();
        const toMs = Math.floor(Math.max(...messages.slice(0, at).map(({ timeUs }) => timeUs)) / 1000) + 1;
        const span = { fromMs: toMs - 60_000, toMs };
        const whole = await ask(span, 130);
        const tail = reply && tailOf(reply, span);
        if (reply && tail) {
          const joined = joinTail(reply, await ask(tail, tail.points), { span, tailFromMs: tail.fromMs });
          assert.ok(joined, "buckets of the same width");
          // The first bucket of a whole request lacks what was before its beginning.
          assert.deepEqual(rowsAfter(joined, span.fromMs), rowsAfter(whole, span.fromMs));
          reply = joined;
          tails++;
        } else reply = whole;
      }
      assert.ok(tails > 10, `${tails} tails`);
    }),
);

/** The rows of all series after a time. */
function rowsAfter({ series: list }: SeriesReply, firstMs: number): Map<string, unknown[]> {
  return new Map(
    list.map((each): [string, unknown[]] => {
      const { time, min, avg, max, last, count } = each;
      const rows = time.map((ms, i) => [ms, min?.[i], avg?.[i], max?.[i], last[i], count[i]]);
      return [keyOf(each), rows.filter(([ms]) => Number(ms) >= firstMs)];
    }).filter(([, rows]) => rows.length > 0).sort(([a], [b]) => a < b ? -1 : 1),
  );
}
