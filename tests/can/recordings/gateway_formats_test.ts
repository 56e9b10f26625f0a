import assert from "node:assert/strict";
import { detectFormat, PieceReader, RecordingError } from "../../../src/can/mod.ts";
import { bst93, bst95 } from "../../support/ebl.ts";
import { Random } from "../../support/random.ts";
import { cut, isComplete, readAll } from "../../support/recordings.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** A message on the serial line, without a log around it. */
function framed(bytes: readonly number[]): number[] {
  const sum = -bytes.reduce((a, b) => a + b, 0) & 0xff;
  return [0x10, 2, ...[...bytes, sum].flatMap((byte) => byte === 0x10 ? [byte, byte] : [byte]), 0x10, 3];
}

Deno.test("N2K ASCII: the maker's example is read", async () => {
  const { texts, summary } = await readAll("A173321.107 23FF7 1F513 012F3070002F30709F\r\n", {
    startTime: new Date("2026-06-01T00:00:00Z"),
  });
  const timeUs = Date.parse("2026-06-01T17:33:21.107Z") * 1000;
  assert.deepEqual(texts, [`${timeUs} message 1df51323 012f3070002f30709f`]);
  assert.equal(summary.format, "n2k-ascii");
});

Deno.test("N2K ASCII: bad lines are told, and what comes after them is read", async () => {
  const good = "A000001.000 01FF2 1F112 FF";
  const bad = [
    ...["A250000.000 01FF2 1F112 FF", "A006000.000 01FF2 1F112 FF", "A000001.000 01FF9 1F112 FF", "A000001 01FF2"],
    ...[
      "A000001.000 01FF2 1F112 F",
      "A000001.000 0110 1F112 FF",
      "A000001.000 01FF2 0EA01 FF",
      "B000001.000 01FF2 1F112 ",
    ],
    `A000001.000 01FF2 1F112 ${"00".repeat(1786)}`,
  ];
  const { summary } = await readAll([good, ...bad.flatMap((line) => [line, good])].join("\n"));
  assert.deepEqual([summary.bad, summary.messages], [bad.length, bad.length + 1], JSON.stringify(summary.firstBad));
  const { summary: others } = await readAll(`# comment\n\n${good}\nA000001.000 01FF2 40000 FF\n`);
  assert.deepEqual([others.passedOver.comment, others.passedOver.vendor_pgn, others.messages], [2, 1, 1]);
});

/** The sentence with its checksum. */
function sentence(body: string): string {
  const sum = encode(body).reduce((a, b) => a ^ b, 0);
  return `$${body}*${sum.toString(16).toUpperCase().padStart(2, "0")}`;
}

Deno.test("MXPGN: frames are read with priority, source and destination, and their bytes in the bus's order", async () => {
  const { texts, summary } = await readAll([
    "$MXPGN,01F801,2801,C1308AC40C5DE343*19",
    "$MXPGN,01F112,2807,FC7FFF7FFF168012*11",
    sentence("MXPGN,00EA10,6323,01F014"),
    sentence("MXPGN,01F201,2C38,FFFF7F04380D1AA0"),
  ].join("\r\n"));
  assert.deepEqual(texts, [
    "0 frame 09f80101 43e35d0cc48a30c1",
    "1000 frame 09f11207 128016ff7fff7ffc",
    "2000 frame 18ea1023 14f001",
    "3000 frame 09f20138 a01a0d38047fffff",
  ]);
  assert.deepEqual([summary.format, summary.bad], ["mxpgn", 0]);
  assert.deepEqual(summary.notes, ["times_assumed", "date_assumed"]);
});

Deno.test("MXPGN: other sentences are counted, and damaged ones do not end the reading", async () => {
  const good = "$MXPGN,01F801,2801,C1308AC40C5DE343*19";
  const bad = [
    ...["$MXPGN,01F801,2801,C1308AC40C5DE343*18", "$MXPGN,01F801,2801,C1308AC40C5DE343", "hello", good.slice(9)],
    ...["MXPGN,01F801,2701,C1308AC40C5DE343", "MXPGN,01F801,2801,C1308AC40C5DE34", "MXPGN,01F801"].map(sentence),
  ];
  const { summary } = await readAll([good, ...bad.flatMap((line) => [line, good])].join("\n"));
  assert.deepEqual([summary.bad, summary.frames], [bad.length, bad.length + 1], JSON.stringify(summary.firstBad));
  const others = await readAll(
    ["GPGLL,,,,,,V,N", "MXPGN,01F801,A8FF,C1308AC40C5DE343", "MXPGN,040000,2801,C1308AC40C5DE343"].map(sentence)
      .concat(`\\s:mux*13\\${good}`).join("\n"),
  );
  const { foreign_frame, to_gateway, vendor_pgn } = others.summary.passedOver;
  assert.deepEqual([foreign_frame, to_gateway, vendor_pgn, others.summary.frames], [1, 1, 1, 1]);
});

Deno.test("PCDIN: messages are read with their source, and the summary says what is assumed", async () => {
  const good = "$PCDIN,01F119,00000000,0F,2AAF00D1067414FF*59";
  const long = sentence(`PCDIN,01F805,6DOB8463,07,${"0B".repeat(43)}`);
  const { texts, summary } = await readAll([good, long, sentence("PCDIN,00EA00,0000180C,20,14F001")].join("\n"));
  assert.deepEqual(texts, [
    "0 message 19f1190f 2aaf00d1067414ff",
    `1000 message 19f80507 ${"0b".repeat(43)}`,
    "2000 message 18eaff20 14f001",
  ]);
  assert.deepEqual([summary.format, summary.bad], ["pcdin", 0]);
  assert.deepEqual(summary.notes, ["header_assumed", "times_assumed", "date_assumed"]);
  const bad = [
    ...["$PCDIN,01F119,00000000,0F,2AAF00D1067414FF*58", good.slice(0, -3)],
    ...["PCDIN,01F119,0,0F,2AA", "PCDIN,01F119,0F,2A", "PCDIN,01F119,0,0F,", "PCDIN,00EA01,0,0F,01"].map(sentence),
    sentence(`PCDIN,01F119,0,0F,${"00".repeat(1786)}`),
  ];
  const others = ["PCDIN,040000,0,0F,2A", "GPGLL,,,,,,V,N"].map(sentence);
  const { summary: damaged } = await readAll([good, ...others, ...bad, good].join("\n"));
  assert.deepEqual([damaged.bad, damaged.messages], [bad.length, 2], JSON.stringify(damaged.firstBad));
  assert.deepEqual([damaged.passedOver.vendor_pgn, damaged.passedOver.foreign_frame], [1, 1]);
});

Deno.test("Actisense's line: messages and frames are read between what is cut off or harmed", async () => {
  const message = bst93({ prio: 2, pgn: 127250, src: 16, dst: 255, stamp: 16, data: [16, 16, 3, 2, 27, 27] });
  const frame = bst95(0x09f11220, { stamp: 5, data: [1, 16, 27] });
  const harmed = framed(message).with(8, 0x77);
  const bytes = [...framed(message).slice(5), ...framed(frame), ...harmed, ...framed([0xa0, 1, 0]), ...framed(message)];
  const { texts, summary } = await readAll([Uint8Array.from(bytes)], { format: "actisense" });
  assert.deepEqual(texts.map((text) => text.slice(text.indexOf(" ") + 1)), [
    "frame 09f11220 01101b",
    "message 09f11210 101003021b1b",
  ]);
  assert.deepEqual([summary.bad, summary.passedOver.status], [3, 1], JSON.stringify(summary.firstBad));
  assert.equal(detectFormat(Uint8Array.from(framed(message))), "actisense");
});

Deno.test("Actisense's line with bytes changed is read to its end", async () => {
  for (let seed = 0; seed < 200; seed++) {
    const random = new Random(seed);
    const message = bst93({ prio: 2, pgn: 127250, src: 1, dst: 255, stamp: 1, data: [...random.bytes(20)] });
    const bytes = Array.from({ length: 10 }, () => framed(message)).flat();
    for (let i = 0; i < 5; i++) bytes[random.int(bytes.length)] = random.pick([0x10, 2, 3, random.int(256)]);
    const pieces = cut(Uint8Array.from(bytes), { random, most: 50 });
    const { texts, summary } = await readAll(pieces, { format: "actisense" });
    assert.ok(isComplete(summary) && texts.length >= 5 && texts.length <= 10, `seed ${seed}: ${texts.length}`);
  }
});

Deno.test("what comes live shows its format with its first line, and is given up after 4 KiB", () => {
  const live = new PieceReader({ isLive: true });
  assert.deepEqual([...live.push(encode("cut off\r\n00:29:58.617 R 0DFF18"))], []);
  assert.equal(live.summary.format, undefined);
  assert.deepEqual([...live.push(encode("0D A2 8C\r\n00:"))].map(({ data }) => [...data]), [[0xa2, 0x8c]]);
  assert.deepEqual([live.summary.format, live.summary.bad], ["ydwg", 1]);
  const noise = new PieceReader({ isLive: true });
  assert.throws(() => {
    for (let i = 0; i < 100; i++) for (const _ of noise.push(new Uint8Array(100)));
  }, RecordingError);
});
