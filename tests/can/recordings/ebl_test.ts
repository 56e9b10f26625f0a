import assert from "node:assert/strict";
import { RECORDING_FORMATS, RecordingError } from "../../../src/can/mod.ts";
import { bst93, bst95, bstD0, fileTime, record, serial, timeRecord } from "../../support/ebl.ts";
import { needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { cut, isComplete, readAll, sampleBytes } from "../../support/recordings.ts";

const READ = needs({ permissions: ["read"] });
const DATE = "2025-04-25T17:05:21.993Z";
const DATE_US = Date.parse(DATE) * 1000;
const ID = 0x09f11220;

const readEbl = (parts: number[][], startTime?: Date) =>
  readAll([Uint8Array.from(parts.flat())], { format: "ebl", startTime });
const sinceStart = (items: { timeUs: number }[], startUs: number) => items.map(({ timeUs }) => timeUs - startUs);

Deno.test("EBL: an ESC or DLE that is data comes back as one, in records and messages", async () => {
  const data = [0x1b, 0x10, 0x1b, 0x1b, 0x10, 0x10, 0x0a, 0x01];
  const message = { prio: 3, pgn: 0x1f110, src: 0x10, dst: 255, stamp: 0x1b10, data };
  const { items, summary } = await readEbl([
    timeRecord(fileTime(DATE) & ~0xffffn | 0x1b1bn),
    record(7, bst95(0x0df1101b, { stamp: 0x1b1b, data })),
    serial(bst95(0x0df1101b, { stamp: 0x1b1b, data })),
    serial(bst93(message)),
    serial(bstD0(message)),
  ]);
  assert.deepEqual(items.map(({ kind, id }) => `${kind} ${id.toString(16)}`), [
    "frame df1101b",
    "frame df1101b",
    "message df11010",
    "message df11010",
  ]);
  for (const item of items) assert.deepEqual([...item.data], data);
  assert.equal(summary.bad, 0);
});

Deno.test("EBL: the first message after a time has that time, and the gateway's counter tells the next", async () => {
  const message = (stamp: number) => serial(bst93({ prio: 3, pgn: 127250, src: 1, dst: 255, stamp, data: [1] }));
  const whole = await readEbl([
    ...[timeRecord(fileTime(DATE)), message(2 ** 32 - 10), message(2 ** 32 - 8), message(5), message(4)],
    ...[timeRecord(fileTime("2025-04-25T17:06:00Z")), message(100_000), message(100_001)],
  ]);
  const later = Date.parse("2025-04-25T17:06:00Z") * 1000 - DATE_US;
  assert.deepEqual(sinceStart(whole.items, DATE_US), [0, 2000, 15_000, 14_000, later, later + 1000]);
  assert.deepEqual(whole.summary.notes, []);
});

Deno.test("EBL: counters of frames have 16 bits and one of four units", async () => {
  for (const [resolution, unitUs] of [1000, 100, 10, 1].entries()) {
    const frame = (stamp: number) => record(7, bst95(ID, { stamp, data: [1], control: resolution }));
    const { items } = await readEbl([
      timeRecord(fileTime(DATE)),
      frame(65_000),
      frame(65_535),
      frame(0),
      frame(30_000),
    ]);
    const expected = [0, 535, 536, 30_536].map((units) => units * unitUs);
    assert.deepEqual(sinceStart(items, DATE_US), expected, `${unitUs} µs`);
  }
});

Deno.test("EBL: the direction of a frame is not part of its identifier", async () => {
  const { items } = await readEbl([
    timeRecord(fileTime(DATE)),
    record(7, bst95(ID, { stamp: 1, data: [], control: 4 })),
  ]);
  assert.deepEqual(items.map(({ id, data }) => [id, data.length]), [[ID, 0]]);
});

Deno.test("EBL: times of a gateway without a clock count from the given start", async () => {
  const frame = (stamp: number) => record(7, bst95(ID, { stamp, data: [1] }));
  const parts = [
    timeRecord(611_658_239n),
    frame(61_165),
    frame(61_265),
    timeRecord(1_211_658_239n),
    frame(1),
    frame(2),
  ];
  const { items, summary } = await readEbl(parts, new Date(DATE));
  assert.deepEqual(sinceStart(items, DATE_US), [0, 100_000, 60_000_000, 60_001_000]);
  assert.deepEqual(summary.notes, ["times_from_start"]);
  const timeless = await readEbl([frame(7), frame(8)]);
  assert.deepEqual(sinceStart(timeless.items, 0), [0, 1000]);
  assert.deepEqual(timeless.summary.notes, ["times_from_start", "date_assumed"]);
});

Deno.test("EBL: a message may be interrupted by a time", async () => {
  const bytes = serial(bst93({ prio: 3, pgn: 127250, src: 1, dst: 255, stamp: 5, data: [1, 2, 3] }));
  for (let at = 0; at <= bytes.length; at++) {
    const { items, summary } = await readEbl([bytes.slice(0, at), timeRecord(fileTime(DATE)), bytes.slice(at)]);
    assert.deepEqual([items.length, summary.bad, summary.passedOver.status], [1, 0, 1], `after ${at} bytes`);
  }
});

Deno.test("EBL: broadcasts from nobody have their addresses exchanged, addressed messages never", async () => {
  const message = { prio: 3, pgn: 127250, src: 255, dst: 0x63, stamp: 5, data: [1] };
  const { items, summary } = await readEbl([serial(bst93(message)), serial(bstD0({ ...message, pgn: 59904 }))]);
  assert.deepEqual(items.map(({ id }) => id.toString(16)), ["df11263", "cea63ff"]);
  assert.ok(summary.notes.includes("addresses_exchanged"));
});

Deno.test("EBL: messages may have 1785 bytes, and all that is longer is bad", async () => {
  const message = (length: number) =>
    bstD0({ prio: 3, pgn: 127250, src: 1, dst: 255, stamp: 5, data: new Array(length).fill(0x10) });
  const { items, summary } = await readEbl([
    serial(message(1785)),
    serial(message(1786)),
    serial(message(5000)),
    record(9, new Array(5000).fill(0)),
    serial(message(1)),
  ]);
  assert.deepEqual(items.map(({ data }) => data.length), [1785, 1]);
  assert.deepEqual([summary.frames, summary.messages, isComplete(summary)], [0, 2, true]);
  assert.ok(summary.firstBad.some(({ why }) => why === "longer than any message"));
  assert.equal(summary.firstBad.filter(({ why }) => why.startsWith("longer than 2048")).length, 2);
});

Deno.test("EBL: what is neither is passed over or bad, and the rest is read", async () => {
  const good = serial(bst93({ prio: 3, pgn: 127250, src: 1, dst: 255, stamp: 5, data: [1] }));
  const passedOver = [
    ...[
      record(1, [0xe9, 3, 0, 0]),
      record(5, []),
      serial([0xa0, 1, 0x11]),
      serial([0x94, 7, 3, 0x12, 0xf1, 1, 255, 1, 0]),
    ],
    serial(bst93({ prio: 3, pgn: 0x40100, src: 1, dst: 255, stamp: 5, data: [1] })),
  ];
  const bad = [
    ...[[1, 2, 3], [0x10, 0x02, 0x93, 0x10, 0x03], [0x10, 0x03], [0x1b, 0x0a], [0x1b, 0x7f], [0x10, 0x7f]],
    ...[[0x1b, 0x01, 0x1b, 0x0a], [...good.slice(0, 8)], [0x10, 0x02, 0x93, 0x00, 0x00, 0x10, 0x03]],
    ...[record(3, [1, 2, 3]), timeRecord(2n ** 64n - 1n), record(7, []), record(7, [0x95, 9, 0])],
    ...[serial([0x93, 11, ...new Array(10).fill(0), 1]), serial([0x93, 0]), serial([0xd0, 3, 0])],
    serial(bst93({ prio: 9, pgn: 127250, src: 1, dst: 255, stamp: 5, data: [1] })),
    record(7, bst95(ID, { stamp: 1, data: new Array(9).fill(0) })),
  ];
  const { items, summary } = await readEbl([good, ...[...passedOver, ...bad].flatMap((part) => [part, good])]);
  assert.equal(summary.bad, bad.length, JSON.stringify(summary.firstBad, null, 1));
  assert.equal(items.length, passedOver.length + bad.length + 1);
  const { status, to_gateway, vendor_pgn } = summary.passedOver;
  assert.deepEqual([status, to_gateway, vendor_pgn], [3, 1, 1]);
  assert.ok(summary.firstBad.every(({ why, text, line }) => why !== "" && /^[0-9a-f]*$/.test(text) && line > 1));
});

Deno.test(
  "an EBL file cut off anywhere keeps what was whole and throws nothing but the module's error",
  READ,
  async () => {
    const bytes = sampleBytes("actisense.ebl");
    const whole = await readAll([bytes]);
    let most = 0;
    for (let length = 0; length <= bytes.length; length++) {
      const part = [bytes.subarray(0, length)];
      const { texts, summary } = await readAll(part, { format: "ebl" });
      assert.deepEqual(texts, whole.texts.slice(0, texts.length));
      assert.ok(texts.length >= most && summary.bad <= 1 && isComplete(summary), `${length} bytes`);
      most = texts.length;
      if (length < 3) await assert.rejects(() => readAll(part), RecordingError);
      else assert.deepEqual((await readAll(part)).texts, texts);
    }
    assert.equal(most, 14);
  },
);

Deno.test("EBL files with bytes changed, lost or from nowhere are read to their end", READ, async () => {
  const bytes = sampleBytes("actisense.ebl");
  for (let seed = 0; seed < 500; seed++) {
    const random = new Random(seed);
    const harmed = [...bytes].flatMap((byte) =>
      random.chance(0.99)
        ? [byte]
        : random.pick([[], [random.int(256)], [byte, byte], [0x1b], [0x10, byte], [byte, 0x1b]])
    );
    const pieces = [...cut(Uint8Array.from(harmed), { random, most: 200 })];
    const { texts, summary } = await readAll(pieces, { format: "ebl" });
    assert.ok(isComplete(summary) && texts.length <= 20);
  }
});

Deno.test("noise in every format ends without anything but bad lines", async () => {
  for (let seed = 0; seed < 50; seed++) {
    const random = new Random(seed);
    for (const format of RECORDING_FORMATS) {
      const { summary } = await readAll(cut(random.bytes(5000), { random, most: 999 }), { format });
      assert.ok(isComplete(summary) && summary.frames + summary.messages === 0);
    }
  }
});
