import assert from "node:assert/strict";
import { MAX_LISTED_BAD } from "../../../src/can/mod.ts";
import { isComplete, readAll } from "../../support/recordings.ts";

const START = new Date("2024-05-01T10:00:00Z");
const at = (text: string) => Date.parse(text) * 1000;

Deno.test("candump: screen output is read with and without times, directions and letters", async () => {
  const data = "ff725aff7fff7ffd";
  const bytes = "FF 72 5A FF 7F FF 7F FD";
  const lines = [
    `  can0  09F112CC   [8]  ${bytes}`,
    ` (1502984866.421964)  can0  09F112CC   [8]  ${bytes}`,
    ` (2017-08-17 15:47:46.421964)  can0  09F112CC   [8]  ${bytes}`,
    ` (1502984866.421964)  can0  RX - -  09F112CC   [8]  ${bytes}   '.rZ.....'`,
    `  can0  TX B E  09F112CC   [8]  ${bytes}`,
    `  can0  09F112CC   [0] `,
    `  can0  09F112CC   [2]  27 27   ''''`,
  ];
  const { texts, summary } = await readAll(lines.join("\n"), { startTime: START });
  const start = at("2024-05-01T10:00:00Z");
  assert.deepEqual(texts, [
    `${start} frame 09f112cc ${data}`,
    ...Array.from({ length: 3 }, () => `1502984866421964 frame 09f112cc ${data}`),
    `${start + 1000} frame 09f112cc ${data}`,
    `${start + 2000} frame 09f112cc `,
    `${start + 3000} frame 09f112cc 2727`,
  ]);
  assert.deepEqual(summary.notes, ["times_assumed"]);
  assert.deepEqual(summary.buses, ["can0"]);
});

Deno.test("candump: buses are numbered as they appear, and log lines may tell directions and nanoseconds", async () => {
  const { items, summary } = await readAll(
    "(1700000000.000001) can1 09F112CC#00 R\n(1700000000.000002999) can0 09F112CC#\n(1700000000.5) can1 09F112CC#01 T\n",
  );
  assert.deepEqual(items.map(({ bus, timeUs }) => [bus, timeUs]), [
    [0, 1700000000000001],
    [1, 1700000000000002],
    [0, 1700000000500000],
  ]);
  assert.deepEqual(summary.buses, ["can1", "can0"]);
  const many = Array.from({ length: 40 }, (_, i) => `(1700000000.000001) can${i} 09F112CC#00`).join("\n");
  assert.deepEqual(await readAll(many).then(({ summary }) => [summary.frames, summary.bad]), [32, 8]);
});

Deno.test("candump: times since the start begin at the given one and survive a second start", async () => {
  const lines = ["0.000000", "1.500000", "1.499000", "200.000000", "0.000000", "1.000000"]
    .map((time) => ` (${time.padStart(10, "0")})  can0  09F112CC   [1]  00`);
  const { items, summary } = await readAll(lines.join("\n"), { startTime: START });
  const start = at("2024-05-01T10:00:00Z");
  assert.deepEqual(items.map(({ timeUs }) => (timeUs - start) / 1e6), [0, 1.5, 1.499, 200, 200, 201]);
  assert.deepEqual(summary.notes, ["times_from_start"]);
});

Deno.test("candump: other frames than those of NMEA 2000 are passed over", async () => {
  const { summary } = await readAll([
    "(1700000000.000001) can0 123#00",
    "(1700000000.000001) can0 09F112CC#R",
    "(1700000000.000001) can0 09F112CC#R8",
    "(1700000000.000001) can0 09F112CC##100112233",
    "(1700000000.000001) can0 20000004#0000000000000000",
    "  can0  123   [1]  00",
    "  can0  09F112CC   [0]  remote request",
    "  can0  20000004   [8]  00 04 00 00 00 00 00 00   ERRORFRAME",
    "  can0  09F112CC  [12]  00 01 02 03 04 05 06 07 08 09 0A 0B",
    "<0x123> [1] 00",
  ].join("\n"));
  assert.deepEqual([summary.lines, summary.passedOver.foreign_frame, summary.bad], [10, 10, 0]);
});

Deno.test("YDWG: times of day pass midnight forward, and what is a little out of order does not", async () => {
  const times = [
    "23:59:58.000",
    "23:59:59.999",
    "00:00:00.001",
    "23:59:59.998",
    "00:00:01",
    "09:00:00",
    "22:00:00",
    "08:00:00",
  ];
  const text = times.map((time) => `${time.padEnd(12, time.length < 9 ? ".000" : "")} R 09F112CC 00`).join("\r\n");
  const { items, summary } = await readAll(text, { startTime: START });
  assert.deepEqual(items.map(({ timeUs }) => new Date(timeUs / 1000).toISOString()), [
    "2024-05-01T23:59:58.000Z",
    "2024-05-01T23:59:59.999Z",
    "2024-05-02T00:00:00.001Z",
    "2024-05-01T23:59:59.998Z",
    "2024-05-02T00:00:01.000Z",
    "2024-05-02T09:00:00.000Z",
    "2024-05-02T22:00:00.000Z",
    "2024-05-03T08:00:00.000Z",
  ]);
  assert.deepEqual(summary.notes, []);
});

Deno.test("without a date a recording begins on 1970-01-01, and the summary says so", async () => {
  const { items, summary } = await readAll("12:00:00.000 T 09F112CC 00\n");
  assert.equal(items[0]?.timeUs, 12 * 3600 * 1e6);
  assert.deepEqual(summary.notes, ["date_assumed"]);
  const dated = await readAll("2021-01-27T23:33:50.468Z,7,65280,0,255,1,12\n");
  assert.deepEqual(dated.summary.notes, []);
});

Deno.test("CSV: dates are read in each of their forms", async () => {
  const dates = [
    "2011-04-25-06:25:02.017",
    "2011-04-25T06:25:02.017Z",
    "2011-04-25Z06:25:02.017",
    "2011-04-25 06:25:02.017",
  ];
  const zoned = ["2011-04-25T08:25:02.017+02:00", "2011-04-25T06:25:02.017000123Z"];
  const { items } = await readAll([...dates, ...zoned].map((date) => `${date},7,65280,0,255,1,12`).join("\n"));
  assert.deepEqual(items.map(({ timeUs }) => timeUs), Array(6).fill(at("2011-04-25T06:25:02.017Z")));
});

/** A line of a PGN that travels as a fast packet, from address 9. */
const csv = (hex: string, pgn = 130820) => {
  const bytes = hex.match(/../g) ?? [];
  return ["2021-01-27T23:33:50.468Z,7", pgn, 9, 255, bytes.length, ...bytes].join(",");
};
const kinds = async (lines: string[]) => (await readAll(lines.join("\n"))).items.map(({ kind }) => kind);

Deno.test("CSV: a heading tells frames and messages apart", async () => {
  const lines = [csv("0006010203040506"), csv("00000000"), csv("0001020304050607", 127250)];
  assert.deepEqual(await kinds(["# format=PLAIN", ...lines]), ["frame", "frame", "frame"]);
  assert.deepEqual(await kinds(["# format=FAST", ...lines]), ["message", "message", "message"]);
  assert.deepEqual(await kinds(["#Format = fast", ...lines]), ["message", "message", "message"]);
});

Deno.test("CSV: without a heading, fragments and whole messages tell themselves apart", async () => {
  const long = "000102030405060708";
  assert.deepEqual(
    await kinds([csv("0006010203040506"), csv("0101ff"), csv("2003a39908ffffff")]),
    Array(3).fill("frame"),
  );
  assert.deepEqual(await kinds([csv("2003a39908000000"), csv("20fa010203040506")]), ["frame", "message"]);
  assert.deepEqual(await kinds([csv("00000001"), csv("0001f0fcffff0100"), csv("00")]), Array(3).fill("message"));
  assert.deepEqual(await kinds([csv(long), csv("0006010203040506")]), ["message", "message"]);
  assert.deepEqual(await kinds([csv(long, 126720), csv("0006010203040506")]), ["message", "frame"]);
  assert.deepEqual(await kinds([csv("00000001", 127250), csv("", 127250)]), ["frame", "frame"]);
});

Deno.test("CSV: PGNs that no bus carries are passed over and counted", async () => {
  const { summary } = await readAll([csv("01", 262400), csv("", 0x3ffff + 1), csv("01", 127250)].join("\n"));
  assert.deepEqual([summary.passedOver.vendor_pgn, summary.frames], [2, 1]);
});

Deno.test("iKonvert: the timer's milliseconds have no leading zeros, and it begins anew every 1000 s", async () => {
  const timers = ["998.997", "999.36", "999.117", "0.5", "999.999", "1.0", "2500", "481.997"];
  const text = timers.map((timer) => `!PDGY,127250,2,3,255,${timer},2C20AAAAAAE=`).join("\n");
  const { items, summary } = await readAll(text, { startTime: START });
  const start = at("2024-05-01T10:00:00Z");
  const expected = [0, 39, 120, 1008, 1002, 2003, 3503, 483000];
  assert.deepEqual(items.map(({ timeUs }) => (timeUs - start) / 1000), expected);
  assert.deepEqual(summary.notes, ["times_from_start"]);
});

Deno.test("iKonvert: states and commands are passed over", async () => {
  const { items, summary } = await readAll([
    "$PDGY,000000,4,,5,482,1,0",
    "$PDGY,TEXT,Digital_Yacht_iKonvert",
    "!PDGY,126208,255,AQ==",
    "!PDGY,59904,6,4,1,517.198,AO4A",
    "!PDGY,262400,6,4,1,517.198,AO4A",
  ].join("\r\n"));
  assert.deepEqual([summary.passedOver.status, summary.passedOver.to_gateway, summary.passedOver.vendor_pgn], [
    2,
    1,
    1,
  ]);
  assert.deepEqual(items.map(({ kind, id }) => [kind, id.toString(16)]), [["message", "18ea0104"]]);
});

Deno.test("bad lines are told with number, reason and text, and what comes after them is read", async () => {
  const good: Record<string, string> = {
    candump: "(1700000000.000001) can0 09F112CC#00",
    ydwg: "00:29:58.617 R 0DFF180D A2",
    csv: csv("01", 127250),
    ikonvert: "!PDGY,127250,2,3,255,481.734,2C20AAAAAAE=",
  };
  const wrong: Record<string, string[]> = {
    candump: [
      ...["(1700000000.000001) can0 09F112CC#0", "(1700000000.000001) can0 9F112CC#00", "(x) can0 09F112CC#00"],
      ...["(1700000000.000001) can0 89F112CC#00", "(99999999999.000000) can0 09F112CC#00", "<0x18eeff01> [8] 05 a0"],
      ...["(1700000000.000001) can0 09F112CC#000102030405060708", "  can0  09F112CC   [2]  00 0G", "hello"],
      "(2017-02-30 15:47:46.421964)  can0  09F112CC   [1]  00",
    ],
    ydwg: [
      ...["24:00:00.000 R 0DFF180D A2", "00:60:00.000 R 0DFF180D A2", "00:29:58.617 X 0DFF180D A2"],
      ...["00:29:58.617 R 2DFF180D A2", "00:29:58.617 R 0DFF180D A2 8", "00:29:58.617 R 0DFF180D 0 1 2"],
      "00:29:58.617 R 0DFF180D 00 01 02 03 04 05 06 07 08",
    ],
    csv: [
      ...["2021-01-27T23:33:50.468Z,8,127250,9,255,1,00", "2021-01-27T23:33:50.468Z,7,127250,256,255,1,00"],
      ...["2021-01-27T23:33:50.468Z,7,59904,9,256,1,00", "2021-01-27T23:33:50.468Z,7,59905,9,255,1,00"],
      ...["2021-01-27T23:33:50.468Z,7,127250,9,255,2,00", "2021-01-27T23:33:50.468Z,7,127250,9,255,1,00,00"],
      ...["2021-13-27T23:33:50.468Z,7,127250,9,255,1,00", "2021-01-27T23:33:50.468Z,7,127250,9,255,1,0g"],
      csv("00".repeat(1786), 127250),
    ],
    ikonvert: [
      ...["!PDGY,127250,2,3,255,485.564,Ai20AAAAAAE=$PDGY,000000,3,,5,485,1,0", "!PDGY,127250,2,3,255,1.1,Ai2"],
      ...["$PDGY,0000$PDGY,000050,2,3,255,536.56,+9eJAAAAAAE=", "!PDGY,127250,2,3", "!PDGY,127250,2,3,255,733.66,"],
      ...["!PDGY,127250,9,3,255,1.1,AQ==", "!PDGY,127250,2,256,255,1.1,AQ==", "!PDGY,127250,2,3,255,1.1,AR=="],
    ],
  };
  for (const format of ["candump", "ydwg", "csv", "ikonvert"] as const) {
    const bad = [...wrong[format]!, "\0\0\0\0", "é".repeat(20_000)];
    const { summary } = await readAll([good[format]!, ...bad.flatMap((line) => [line, good[format]!])].join("\n"));
    assert.deepEqual([summary.format, summary.bad], [format, bad.length], JSON.stringify(summary.firstBad, null, 1));
    assert.equal(summary.frames + summary.messages, bad.length + 1);
    assert.deepEqual(summary.firstBad.map(({ line }) => line), bad.map((_, i) => 2 * i + 2));
    assert.deepEqual(summary.firstBad.map(({ text }) => text), bad.map((line) => line.trim().slice(0, 120)));
    assert.ok(summary.firstBad.every(({ why }) => why !== ""));
    assert.ok(isComplete(summary));
  }
});

Deno.test("of many bad lines the first are told and all are counted", async () => {
  const { summary } = await readAll("bad\n".repeat(1000), { format: "ydwg" });
  assert.deepEqual([summary.bad, summary.firstBad.length, summary.firstBad.at(-1)?.line], [
    1000,
    MAX_LISTED_BAD,
    MAX_LISTED_BAD,
  ]);
});

Deno.test("a line without end is one bad line and takes no memory", async () => {
  const piece = new Uint8Array(1 << 20).fill(0x61);
  const endless = function* () {
    for (let i = 0; i < 64; i++) yield piece;
    yield new TextEncoder().encode("\n00:29:58.617 R 0DFF180D A2");
  };
  const { summary } = await readAll(endless(), { format: "ydwg" });
  assert.deepEqual([summary.lines, summary.bad, summary.frames], [2, 1, 1]);
});
