import assert from "node:assert/strict";
import { assembleRecording, newDrops, type RecordingFormat } from "../../../src/can/mod.ts";
import { formatHex, type Message } from "../../../src/frame/mod.ts";
import { naiveItems } from "../../support/naive_recordings.ts";
import { allowed, needs } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";
import { cut, isComplete, readAll } from "../../support/recordings.ts";

/** Whole recordings, of which tests/data has the beginnings. */
const FOLDER = new URL("../../../../shared/data/recordings/", import.meta.url);
const WHOLE: Readonly<Record<string, RecordingFormat>> = {
  "actisense-522.candump.log": "candump",
  "actisense1.ebl": "ebl",
  "candumpSample1.txt": "candump",
  "candumpSample3.txt": "candump",
  "garmin-ap-reactor-126720.raw": "csv",
  "ikonvert.log": "ikonvert",
  "merrimac-ydwg-2020.raw": "ydwg",
  "sample-YDWG02.txt": "ydwg",
  "sample-fast.raw.txt": "csv",
  "scx20.raw": "csv",
  "simulator1.raw": "ydwg",
  "strings.raw": "csv",
  "susteranna2020.raw": "csv",
  "victron-61184-vreg.raw": "csv",
};

function pathExists(): boolean {
  try {
    return allowed("read") && Deno.statSync(FOLDER).isDirectory;
  } catch {
    return false;
  }
}
const THERE = needs({ permissions: ["read"], extras: { "whole recordings beside the repository": pathExists() } });

const bytesOf = (file: string) => Deno.readFileSync(new URL(file, FOLDER));

Deno.test("whole recordings have the items that a naive reader finds, however they are cut", THERE, async () => {
  for (const [file, format] of Object.entries(WHOLE)) {
    const bytes = bytesOf(file);
    const { items, summary } = await readAll(cut(bytes, { random: new Random(1), most: 5000 }));
    const expected = naiveItems(format, bytes);
    assert.deepEqual([summary.format, items.length], [format, expected.length], file);
    for (const [i, { id, data, timeUs }] of items.entries()) {
      const { timeUs: time = timeUs, ...rest } = expected[i]!;
      const item = { id: id.toString(16).padStart(8, "0"), data: formatHex(data) };
      assert.deepEqual([timeUs, item], [time, rest], `${file}, item ${i}`);
    }
    assert.ok(isComplete(summary), file);
    assert.equal(summary.bad > 0, file === "ikonvert.log", `${file}: ${JSON.stringify(summary.firstBad)}`);
  }
});

Deno.test("the EBL sample and its candump twin have the same messages, but for the times inside", THERE, async () => {
  const read = async (file: string) => {
    const { items } = await readAll([bytesOf(file)]);
    const drops = newDrops();
    const messages = await Array.fromAsync(assembleRecording(ReadableStream.from(items), { drops }));
    assert.deepEqual(drops, newDrops());
    return messages;
  };
  const [ebl, log] = [await read("actisense1.ebl"), await read("actisense-522.candump.log")];
  const heads = ({ id, length }: Message) => `${id.toString(16)} ${length}`;
  assert.equal(ebl.length, 14);
  assert.deepEqual(ebl.map(heads), log.map(heads));
  // Five of them tell when they were made, which is not the same in both.
  const same = ebl.filter(({ data }, i) => formatHex(data) === formatHex(log[i]!.data));
  assert.equal(same.length, 9);
});
