import assert from "node:assert/strict";
import { detectFormat, readRecording, RecordingError } from "../../../src/can/mod.ts";
import { formatHex } from "../../../src/frame/mod.ts";
import { naiveItems } from "../../support/naive_recordings.ts";
import { needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { cut, isComplete, readAll, sampleBytes, SAMPLES, streamOf } from "../../support/recordings.ts";

const READ = needs({ permissions: ["read"] });

Deno.test(
  "recordings have the frames and messages that were counted by hand, and show their format",
  READ,
  async () => {
    for (const { file, format, lines, frames, messages, first, last } of SAMPLES) {
      const { texts, summary } = await readAll([sampleBytes(file)]);
      const counts = [summary.format, summary.lines, summary.frames, summary.messages];
      assert.deepEqual(counts, [format, lines, frames, messages], file);
      assert.deepEqual([texts[0], texts.at(-1)], [first, last], file);
      assert.ok(isComplete(summary), file);
    }
  },
);

Deno.test("recordings have the items that a naive reader finds, one by one", READ, async () => {
  for (const { file, format } of SAMPLES) {
    const bytes = sampleBytes(file);
    const { items } = await readAll([bytes], { format });
    const expected = naiveItems(format, bytes);
    const actual = items.map(({ id, data, timeUs }, i) => ({
      ...(expected[i]?.timeUs === undefined ? {} : { timeUs }),
      id: id.toString(16).padStart(8, "0"),
      data: formatHex(data),
    }));
    assert.deepEqual(actual, expected, file);
  }
});

Deno.test("a recording cut into pieces at random is the same recording", READ, async () => {
  for (const { file } of SAMPLES) {
    const bytes = sampleBytes(file);
    const whole = await readAll([bytes]);
    for (const most of [1, 7, 300, 70_000]) {
      const random = new Random(most);
      const { texts, summary } = await readAll(cut(bytes, { random, most }));
      assert.deepEqual(texts, whole.texts, `${file} in pieces of up to ${most}`);
      assert.deepEqual(summary, whole.summary, `${file} in pieces of up to ${most}`);
    }
  }
});

Deno.test("formats show in any beginning that has one line, after comments and what is cut off", READ, () => {
  for (const { file, format } of SAMPLES) {
    const bytes = sampleBytes(file);
    assert.equal(detectFormat(bytes.subarray(0, 1000)), format, file);
    if (format !== "ebl") assert.equal(detectFormat(bytes.subarray(3)), format, `${file} without its beginning`);
  }
  for (const text of ["", "hello\n", "# a comment\n\n", "daemon started [1] at 1 (2)\n", "1,2,3,4,5,6,7,8,9\n"]) {
    assert.equal(detectFormat(new TextEncoder().encode(text)), undefined, text);
  }
  assert.equal(detectFormat(new Random(1).bytes(4096)), undefined);
});

Deno.test("what is no recording is refused, at its end or after 64 KiB", async () => {
  const filler = new Uint8Array(1000).fill(0x61);
  let taken = 0;
  const endless = function* () {
    for (;; taken++) yield filler;
  };
  for (const pieces of [[], [new Uint8Array(0)], [filler], endless()]) {
    await assert.rejects(() => readAll(pieces), RecordingError);
  }
  assert.ok(taken >= 65 && taken < 67, `${taken} kB`);
  await assert.rejects(() => readAll([], { format: "ydwg", startTime: new Date(NaN) }), RecordingError);
  const { summary } = await readAll([], { format: "ydwg" });
  assert.equal(summary.lines, 0);
});

Deno.test("a format that shows late is found, and one that was told is not looked for", async () => {
  const line = "00:29:58.617 R 0DFF180D A2 8C\n";
  const comments = "# nothing yet\n".repeat(4000);
  const { summary } = await readAll(comments + line);
  assert.deepEqual([summary.format, summary.frames, summary.passedOver.comment], ["ydwg", 1, 4000]);
  const told = await readAll(line, { format: "csv" });
  assert.deepEqual([told.summary.format, told.summary.bad], ["csv", 1]);
});

Deno.test("readers that stop early close the file", READ, async () => {
  let isClosed = false;
  const chunks = async function* () {
    try {
      yield* streamOf(cut(sampleBytes("ydwg_merrimac_head.txt"), { random: new Random(1), most: 99 }));
    } finally {
      isClosed = true;
    }
  };
  for await (const _ of readRecording(chunks())) break;
  assert.ok(isClosed);
});
