import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { BlockBuilder, readBlock } from "../../src/journal/mod.ts";
import { parseFileName } from "../../src/journal/file/name.ts";
import { recover } from "../../src/journal/wal/recovery.ts";
import { eventually, pause } from "../support/eventually.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import {
  appendRange,
  frameOf,
  journalFiles,
  makeWriter,
  readJournal,
  seenOf,
  wantedRange,
} from "../support/journal_run.ts";
import { framesOf } from "../support/journal_files.ts";
import { START_US } from "../support/messages.ts";
import { needs, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const FILES = needs({ permissions: ["read", "write"] });
const HOUR_US = 3_600_000_000;

function test(name: string, run: (folder: string) => Promise<void>): void {
  Deno.test({ name: `journal writer: ${name}`, ...FILES, fn: () => inFolder(run) });
}

for (const compression of ["none", "zstd"] as const) {
  test(`frames come back as they went in, and the file ends in order, ${compression}`, async (folder) => {
    const { writer, ended } = makeWriter(folder, { compression });
    appendRange(writer, 1, 3000);
    await writer.close();
    const { frames, indexed, blocks } = readJournal(folder);
    assert.deepEqual(frames, wantedRange(1, 3000));
    assert.deepEqual(indexed, [compression === "zstd"]);
    assert.ok(blocks.every(({ metadata }) => metadata.buses?.join() === "can0,can1" && metadata.gap === undefined));
    assert.deepEqual(ended, [`${folder}/${journalFiles(folder)[0]}`]);
    assert.deepEqual(writer.state, { kind: "closed" });
    assert.deepEqual([...Deno.readDirSync(folder)].length, 1);
    assert.deepEqual([writer.lost, writer.durableSeq, writer.written.blocks], [0, 3000, blocks.length]);
  });
}

test("a gap in the numbers ends the block, and the next one tells it, sealed before or not", async (folder) => {
  const { writer } = makeWriter(folder, { gap: { firstMissing: 50, reason: "restart" } });
  appendRange(writer, 100, 110);
  appendRange(writer, 120, 130);
  await writer.rotate();
  appendRange(writer, 140, 150);
  await writer.close();
  const { blocks } = readJournal(folder);
  assert.deepEqual(blocks.map(({ firstSeq, metadata }) => [firstSeq, metadata.gap]), [
    [100, { firstMissing: 50, reason: "restart" }],
    [120, { firstMissing: 111, reason: "source" }],
    [140, { firstMissing: 131, reason: "source" }],
  ]);
});

test("a clock that steps back an hour or forward a decade loses no frame and no order", async (folder) => {
  const { writer } = makeWriter(folder);
  const steps = [0, -HOUR_US, 10 * 365 * 24 * HOUR_US, -HOUR_US, 0];
  const frames = Array.from({ length: 500 }, (_, i) => {
    const timeUs = START_US + i * 1000 + (steps[Math.floor(i / 100)] ?? 0);
    return frameOf(i + 1, { timeUs });
  });
  for (const [i, frame] of frames.entries()) {
    writer.append(i + 1, frame);
    if (i % 50 === 49) await writer.rotate();
  }
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, frames.map((frame, i) => seenOf(i + 1, frame)));
  assert.equal(journalFiles(folder).length, 10);
});

test("no file sorts before the newest there was, nor takes a name that is there", async (folder) => {
  const newestFile = "nmea2k-20310101T000000.000Z.lpj";
  const taken = "nmea2k-20310101T000000.001Z.lpj";
  await Deno.writeTextFile(`${folder}/${taken}`, "somebody's");
  const { writer } = makeWriter(folder, { newestFile });
  appendRange(writer, 1, 10);
  await writer.close();
  assert.deepEqual(journalFiles(folder), [taken, "nmea2k-20310101T000000.002Z.lpj"]);
  assert.equal(await Deno.readTextFile(`${folder}/${taken}`), "somebody's");
});

test("files end when they are large enough", async (folder) => {
  const { writer, ended } = makeWriter(folder, { compression: "none", rotateBytes: 16 + 4 * 4096 });
  appendRange(writer, 1, 5000);
  await writer.close();
  const { frames, blocks } = readJournal(folder);
  assert.deepEqual(frames, wantedRange(1, 5000));
  assert.equal(ended.length, Math.ceil(blocks.length / 4));
  const sizes = journalFiles(folder).map((name) => Deno.statSync(`${folder}/${name}`).size);
  assert.ok(sizes.slice(0, -1).every((size) => size === 16 + 4 * 4096), `sizes ${sizes}`);
});

test("a file ends after its time, also when the bus is silent and no block is full", async (folder) => {
  const { writer, clock, ended } = makeWriter(folder, { rotateDurationMs: 60_000, syncIntervalMs: 5 });
  appendRange(writer, 1, 10);
  await writer.sync();
  clock.advance(59_000);
  await pause(50);
  assert.deepEqual(ended, []);
  clock.advance(1000);
  await eventually("the end of the file", () => ended.length === 1);
  clock.advance(600_000);
  await pause(50);
  assert.equal(ended.length, 1, "without frames there is no file");
  appendRange(writer, 11, 20);
  clock.advance(60_000);
  await eventually("the end of the next file", () => ended.length === 2);
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, 20));
});

test("sync resolves when the frames are on disk, in a tail or a block", async (folder) => {
  const { writer } = makeWriter(folder);
  let seq = 0;
  const random = new Random(5);
  for (let round = 0; round < rounds(40, 10); round++) {
    const from = seq + 1;
    seq += random.between(1, 300);
    appendRange(writer, from, seq);
    await writer.sync();
    assert.ok(writer.durableSeq >= seq);
    const copy = await Deno.makeTempDir();
    copyAsCrashed(folder, copy);
    assert.equal((await recover({ directory: copy, log: silentLogger })).lastSeq, seq);
    assert.deepEqual(readJournal(copy).frames, wantedRange(1, seq));
    await Deno.remove(copy, { recursive: true });
  }
  await writer.close();
});

test("an interval of syncs that is longer than a timer of the runtime is no interval of a millisecond", async (folder) => {
  const { writer } = makeWriter(folder, { syncIntervalMs: 2 ** 32 });
  appendRange(writer, 1, 5);
  await pause(50);
  assert.equal(writer.durableSeq, 0);
  await writer.sync();
  assert.equal(writer.durableSeq, 5);
  await writer.close();
});

test("durable numbers never go back, whatever happens at the same time", async (folder) => {
  const { writer } = makeWriter(folder, { syncIntervalMs: 1 });
  const random = new Random(6);
  let durable = 0;
  for (let seq = 1; seq <= 30_000; seq++) {
    writer.append(seq, frameOf(seq));
    if (random.chance(0.002)) await pause();
    if (random.chance(0.0005)) void writer.rotate();
    if (random.chance(0.001)) {
      const at = seq;
      void writer.sync().then(() => assert.ok(writer.durableSeq >= at));
    }
    assert.ok(writer.durableSeq >= durable);
    durable = writer.durableSeq;
  }
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, 30_000));
  assert.equal(writer.durableSeq, 30_000);
});

test("what is not on disk is what is in no file, at any moment", async (folder) => {
  let written = 0;
  const { writer } = makeWriter(folder, { onWritten: ({ lastSeq }) => written = lastSeq });
  for (let seq = 1; seq <= 5000; seq++) {
    writer.append(seq, frameOf(seq));
    if (seq % 97 === 0) await pause();
    if (seq % 31 !== 0) continue;
    const blocks = writer.unwritten().map((bytes) => readBlock(bytes, { version: 2, blockBytes: 4096 }));
    assert.deepEqual(blocks.flatMap(framesOf), wantedRange(written + 1, seq));
  }
  await writer.close();
  assert.deepEqual(writer.unwritten(), []);
});

test("a message that no block has room for is counted and told, and costs no other frame", async (folder) => {
  const { writer, lines } = makeWriter(folder);
  const huge = () => frameOf(1, { length: 4090 });
  writer.append(1, huge());
  appendRange(writer, 2, 10);
  await writer.sync();
  writer.append(11, huge());
  writer.append(12, { ...frameOf(12), timeUs: NaN });
  appendRange(writer, 13, 20);
  await writer.close();
  const { blocks, frames } = readJournal(folder);
  assert.deepEqual(frames, [...wantedRange(2, 10), ...wantedRange(13, 20)]);
  assert.deepEqual(blocks.map(({ metadata }) => metadata.gap), [
    { firstMissing: 1, reason: "disk" },
    { firstMissing: 11, reason: "disk" },
  ]);
  assert.equal(writer.lost, 3);
  assert.equal(lines.filter((line) => line.includes("frames are not recorded")).length, 2);
});

test("blocks that fill faster than the disk takes them wait, and none is lost", async (folder) => {
  const { writer } = makeWriter(folder, { maxBacklogBytes: 64 * 1024 * 1024 });
  appendRange(writer, 1, 50_000);
  assert.ok(writer.unwritten().length > 100);
  await writer.sync();
  assert.equal(writer.unwritten().length, 1, "only the open block is left");
  await writer.close();
  assert.equal(writer.lost, 0);
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, 50_000));
});

test("a full backlog costs frames, which are counted, and the gap is recorded", async (folder) => {
  const { writer, lines } = makeWriter(folder, { maxBacklogBytes: 10 * 4096 });
  appendRange(writer, 1, 20_000);
  const kept = 20_000 - writer.lost;
  assert.ok(writer.lost > 0);
  await writer.sync();
  appendRange(writer, 20_001, 20_100);
  await writer.close();
  const { frames, blocks } = readJournal(folder);
  assert.deepEqual(frames, [...wantedRange(1, kept), ...wantedRange(20_001, 20_100)]);
  assert.deepEqual(blocks.at(-1)?.metadata.gap, { firstMissing: kept + 1, reason: "disk" });
  assert.equal(lines.length, 1);
});

test("a directory that is gone is told, and recording goes on when it is back", async (folder) => {
  const directory = `${folder}/journal`;
  await Deno.mkdir(directory);
  const { writer, clock, lines } = makeWriter(directory, { syncIntervalMs: 5 });
  appendRange(writer, 1, 300);
  await writer.sync();
  await Deno.remove(directory, { recursive: true });
  const before = writer.durableSeq;
  appendRange(writer, 301, 310);
  const state = await eventually("the failure", () => writer.state.kind === "failing" && writer.state);
  assert.match(state.reason, /No such file|another file/i);
  assert.equal(writer.durableSeq, before);
  await Deno.mkdir(directory);
  clock.advance(1000);
  await eventually("recording", () => writer.state.kind === "recording");
  appendRange(writer, 311, 400);
  await writer.close();
  const { frames } = readJournal(directory);
  assert.deepEqual(frames, wantedRange(frames[0]?.seq ?? 0, 400));
  assert.ok((frames[0]?.seq ?? 999) <= 301, "the open block was in memory");
  assert.equal(lines.filter((line) => line.includes("journal cannot be written")).length, 1);
  assert.equal(lines.filter((line) => line.includes("recording again")).length, 1);
});

test("closing while nothing can be written ends, counts the frames, and lies to nobody", async (folder) => {
  const directory = `${folder}/journal`;
  const { writer, lines } = makeWriter(directory);
  appendRange(writer, 1, 500);
  const synced = assert.rejects(writer.sync(), /closed before/);
  await Promise.all([writer.close(), writer.close()]);
  await synced;
  await assert.rejects(writer.sync(), /closed before/);
  assert.deepEqual([writer.durableSeq, writer.lost, writer.state.kind], [0, 500, "closed"]);
  assert.match(lines.at(-1) ?? "", /journal closed with frames that could not be written frames=500/);
  writer.append(501, frameOf(501));
  assert.equal(
    writer.unwritten().flatMap((bytes) => framesOf(readBlock(bytes, { version: 2, blockBytes: 4096 }))).length,
    500,
  );
});

test("blocks that a recovery could not write go first", async (folder) => {
  const builder = new BlockBuilder({ blockBytes: 4096 });
  builder.begin({ metadata: {} });
  for (let seq = 1; seq <= 9; seq++) builder.append(seq, frameOf(seq));
  const { firstSeq, lastSeq, firstTimeUs, latestTimeUs } = builder;
  const pending = [{ firstSeq, lastSeq, firstTimeUs, latestTimeUs, epochWord: 1, bytes: builder.finish() }];
  const { writer } = makeWriter(folder, { pending });
  appendRange(writer, 10, 20);
  await writer.sync();
  assert.equal(writer.durableSeq, 20);
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, 20));
});

test("names of files say the time of their first frame", async (folder) => {
  const { writer } = makeWriter(folder, { prefix: "backfill" });
  appendRange(writer, 1, 2);
  await writer.close();
  assert.deepEqual(parseFileName(journalFiles(folder)[0] ?? ""), { prefix: "backfill", timeMs: START_US / 1000 + 1 });
});

test("numbers that begin again go into a file of their own, and nobody waits in vain", async (folder) => {
  const { writer, ended } = makeWriter(folder);
  appendRange(writer, 1, 200);
  const older = writer.sync();
  writer.beginEpoch(new Uint8Array(16).fill(9));
  assert.deepEqual([writer.durableSeq, writer.oldestUnwritten], [0, undefined]);
  appendRange(writer, 1, 5);
  assert.equal(writer.oldestUnwritten, 1);
  await older;
  await writer.sync();
  assert.deepEqual([writer.durableSeq, ended.length], [5, 1]);
  appendRange(writer, 6, 300);
  await writer.close();
  assert.equal(journalFiles(folder).length, 2);
  assert.deepEqual(readJournal(folder).frames, [...wantedRange(1, 200), ...wantedRange(1, 300)]);
});

test("frames lost right after a start that skipped numbers are told as lost", async (folder) => {
  const { writer } = makeWriter(folder, { gap: { firstMissing: 11, reason: "restart" } });
  writer.pause(true);
  appendRange(writer, 21, 30);
  writer.pause(false);
  appendRange(writer, 31, 40);
  await writer.close();
  assert.deepEqual(readJournal(folder).blocks[0]?.metadata.gap, { firstMissing: 21, reason: "disk" });
});
