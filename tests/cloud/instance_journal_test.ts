import assert from "node:assert/strict";
import { type Logger, silentLogger } from "../../src/base/mod.ts";
import { checkBlock, type CheckedBlock, type InstanceSettings } from "../../src/cloud/mod.ts";
import { InstanceJournal } from "../../src/cloud/instance/journal.ts";
import type { Message } from "../../src/frame/mod.ts";
import { type ClockSpan, encodeSpans, MAX_CLOCK_SPANS, readClockSpans } from "../../src/journal/mod.ts";
import { CLOCK_FILE } from "../../src/journal/clock/clock_file.ts";
import type { Range } from "../../src/replication/mod.ts";
import { syncsAndRenames } from "../support/disk_order.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import { journalFiles, keptLog } from "../support/journal_run.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { type BlockInit, EPOCH, wireBlock } from "./block_check_fixture.ts";
import { framesIn, framesOfIndex, liveFrame, SETTINGS, wanted } from "./cloud_fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });
const NEVER_MS = 3_600_000;
/** A journal that writes by itself, and soon. */
const SOON = { settings: { syncIntervalMs: 10 } };

function test(name: string, run: (directory: string) => Promise<void>): void {
  Deno.test({ name: `instance journal: ${name}`, ...DISK, fn: () => inFolder(run) });
}

/** A journal whose own timer does nothing during a test, unless it is to. */
async function open(
  directory: string,
  { log = silentLogger, epoch = EPOCH, settings = {} }: {
    log?: Logger;
    epoch?: Uint8Array<ArrayBuffer>;
    settings?: Partial<InstanceSettings>;
  } = {},
): Promise<InstanceJournal> {
  const all = { ...SETTINGS, syncIntervalMs: NEVER_MS, ...settings };
  const journal = await InstanceJournal.open({ directory, settings: () => all, clock: new FakeClock(), log });
  journal.use({ epoch, buses: ["can0"] });
  return journal;
}

/** Resolves when the live frames up to a number are on disk; gives what was told of that. */
async function durable(journal: InstanceJournal, through: number): Promise<Range> {
  return await eventually(`frame ${through} on disk`, () => {
    const range = journal.newlyDurable();
    assert.ok(range === undefined || range.end === through + 1, "what came at once is on disk at once");
    return range;
  });
}

function live(seq: number): Message {
  const { data } = liveFrame(seq);
  return message({ timeUs: START_US + seq * 1000, data });
}

function append(journal: InstanceJournal, from: number, to: number): void {
  for (let seq = from; seq <= to; seq++) assert.ok(journal.append(seq, live(seq)), `${seq}`);
}

function block(init: BlockInit): CheckedBlock {
  const epoch = init.epoch ?? EPOCH;
  const checked = checkBlock(wireBlock(init), { epoch });
  assert.ok(checked.ok);
  return checked;
}

function wantedRange(from: number, to: number) {
  return Array.from({ length: to - from + 1 }, (_, i) => wanted(from + i));
}

test("live frames and fetched blocks are read as one, what is not on disk yet included", async (directory) => {
  const journal = await open(directory);
  const files = journal.beginBackfill();
  append(journal, 301, 400);
  await files.write([block({ firstSeq: 101 }), block({ firstSeq: 1 })], EPOCH);
  append(journal, 401, 450);
  await files.write([block({ firstSeq: 201, frames: 150 })], EPOCH);
  assert.deepEqual(await framesOfIndex(journal.index), wantedRange(1, 450));
  await journal.endBackfill(files);
  await journal.close();
  assert.deepEqual(await framesIn(directory), wantedRange(1, 450));
});

test("blocks of each size and each run of numbers have a file of their own, and no name comes twice", async (directory) => {
  const journal = await open(directory);
  const other = new Uint8Array(16).fill(0xc3);
  for (let session = 0; session < 2; session++) {
    const files = journal.beginBackfill();
    const first = 1 + session * 100;
    await files.write([block({ firstSeq: first }), block({ firstSeq: first + 500, blockBytes: 8192 })], EPOCH);
    await files.write([block({ firstSeq: first, epoch: other })], other);
    await files.write([block({ firstSeq: first + 1000 })], EPOCH);
    assert.equal(journalFiles(directory).filter((name) => files.isOpen(name)).length, 3);
    await journal.endBackfill(files);
    assert.ok(!journalFiles(directory).some((name) => journal.isOpen(name)));
  }
  await journal.close();
  assert.equal(journalFiles(directory).length, 6);
  const found = await framesIn(directory);
  const seqs = [...wantedRange(1, 200), ...wantedRange(501, 700), ...wantedRange(1001, 1200)];
  assert.equal(found.length, seqs.length + 200, "and those of the other run");
});

test("frames of a tail survive a kill although a fetched block ends behind them", async (directory) => {
  const journal = await open(directory, SOON);
  append(journal, 1, 20);
  await durable(journal, 20);
  const files = journal.beginBackfill();
  append(journal, 311, 315);
  // Of the same run, newer by name, and its last numbers are behind the tail's.
  await files.write([block({ firstSeq: 10, frames: 301 }), block({ firstSeq: 320, frames: 81 })], EPOCH);
  await durable(journal, 315);
  const copy = `${directory}/copy`;
  copyAsCrashed(directory, copy);
  await journal.close();
  const after = await open(copy);
  assert.equal(after.lastLive, 315);
  assert.deepEqual(await framesOfIndex(after.index), [...wantedRange(1, 315), ...wantedRange(320, 400)]);
  append(after, 316, 319);
  await after.close();
  assert.deepEqual(await framesIn(copy), wantedRange(1, 400));
});

test("a fetched block that a kill has torn is cut off, those before it are there", async (directory) => {
  const journal = await open(directory);
  const files = journal.beginBackfill();
  await files.write([block({ firstSeq: 1 }), block({ firstSeq: 101 })], EPOCH);
  await files.write([block({ firstSeq: 201, blockBytes: 8192 })], EPOCH);
  const names = journalFiles(directory);
  const copy = `${directory}/copy`;
  copyAsCrashed(directory, copy);
  await journal.close();
  for (const name of names) {
    const path = `${copy}/${name}`;
    Deno.writeFileSync(path, Deno.readFileSync(path).slice(0, -7));
  }
  const { log, lines } = keptLog();
  const after = await open(copy, { log });
  assert.deepEqual(await framesOfIndex(after.index), wantedRange(1, 100));
  await after.close();
  assert.equal(lines.filter((line) => line.includes("a file was cut short")).length, 2);
  const again = keptLog();
  await (await open(copy, { log: again.log })).close();
  assert.deepEqual(again.lines, []);
});

test("live numbers only go up, also after a restart", async (directory) => {
  const journal = await open(directory);
  append(journal, 5, 10);
  assert.equal(journal.append(10, live(10)), false);
  assert.equal(journal.append(3, live(3)), false);
  append(journal, 20, 20);
  await journal.close();
  const after = await open(directory);
  assert.equal(after.lastLive, 20);
  assert.equal(after.append(20, live(20)), false);
  append(after, 21, 21);
  await after.close();
  assert.deepEqual((await framesIn(directory)).map(({ seq }) => seq), [5, 6, 7, 8, 9, 10, 20, 21]);
  const other = await open(directory, { epoch: new Uint8Array(16).fill(0xc3) });
  assert.equal(other.lastLive, 0, "of another run there is nothing");
  append(other, 1, 1);
  await other.close();
});

test("only what was taken and is on disk is told to be durable, and once", async (directory) => {
  const journal = await open(directory, SOON);
  append(journal, 7, 9);
  assert.equal(journal.newlyDurable(), undefined);
  assert.deepEqual(await durable(journal, 9), { start: 1, end: 10 });
  assert.equal(journal.newlyDurable(), undefined);
  journal.pause(true);
  assert.equal(journal.append(10, live(10)), false);
  journal.pause(false);
  append(journal, 11, 12);
  assert.deepEqual(await durable(journal, 12), { start: 10, end: 13 });
  await journal.close();
  assert.deepEqual((await framesIn(directory)).map(({ seq }) => seq), [7, 8, 9, 11, 12]);
});

test("where nothing can be written, frames are refused at last, and nothing of them is told", async (directory) => {
  await Deno.mkdir(`${directory}/boat`);
  const before = await open(`${directory}/boat`);
  append(before, 1, 10);
  await before.close();
  const journal = await open(`${directory}/boat`);
  await Deno.rename(`${directory}/boat`, `${directory}/away`);
  await Deno.writeTextFile(`${directory}/boat`, "no directory");
  let seq = 11;
  await eventually("a refusal", () => {
    for (let i = 0; i < 500; i++) if (!journal.append(seq, live(seq++))) return true;
    return false;
  });
  await eventually("the reason", () => journal.state.kind === "failing");
  assert.ok(seq > 1000, "some blocks may wait");
  assert.equal(journal.newlyDurable(), undefined);
  const files = journal.beginBackfill();
  await assert.rejects(files.write([block({ firstSeq: 1 })], EPOCH));
  await journal.close();
  assert.equal(journal.newlyDurable(), undefined);
  const after = await open(`${directory}/away`);
  assert.deepEqual(await framesOfIndex(after.index), wantedRange(1, 10));
  await after.close();
});

test("what goes along with the files is told, open ones not included", async (directory) => {
  const journal = await open(directory);
  assert.deepEqual(journal.accounted, { live: 0, backfill: undefined });
  const first = journal.beginBackfill();
  await first.write([block({ firstSeq: 1 })], EPOCH);
  assert.equal(journal.accounted.backfill, undefined);
  await journal.endBackfill(first);
  const [name] = journalFiles(directory);
  assert.equal(journal.accounted.backfill, name);
  const second = journal.beginBackfill();
  await second.write([block({ firstSeq: 101 })], EPOCH);
  assert.equal(journal.accounted.backfill, name);
  await journal.endBackfill(second);
  assert.equal(journal.accounted.backfill, journalFiles(directory)[1]);
  await journal.close();
});

test("of corrections of times without end the newest are kept, and at most one write of them waits", async (directory) => {
  const journal = await open(directory);
  const spans = (firstWord: number, count: number): ClockSpan[] =>
    Array.from({ length: count }, (_, i) => {
      return { epochWord: firstWord + i, firstSeq: 1, lastSeq: undefined, recordedUs: 1000, trueUs: 2000, rate: 1 };
    });
  const done = await syncsAndRenames(async () => {
    // Each message names other epochs, as many as it can.
    for (let at = 0; at < 3 * MAX_CLOCK_SPANS; at += MAX_CLOCK_SPANS) journal.correct(spans(at, MAX_CLOCK_SPANS));
    for (let word = 0; word < 50; word++) journal.correct(spans(3 * MAX_CLOCK_SPANS + word, 1));
    await journal.close();
  });
  const text = encodeSpans(spans(2 * MAX_CLOCK_SPANS + 50, MAX_CLOCK_SPANS));
  const { all } = journal.index.clock.spans;
  assert.equal(all.length, MAX_CLOCK_SPANS);
  assert.ok(encodeSpans(all) === text, "other corrections than the newest");
  assert.ok(encodeSpans((await readClockSpans(directory, { log: silentLogger })).all) === text, "the file has others");
  const writes = done.filter((each) => each.startsWith("rename ") && each.includes(CLOCK_FILE)).length;
  assert.ok(writes <= 2, `${writes} writes`);
  assert.ok(journal.corrections === text, "others are stored");
});

test("corrections of times that could not be stored are stored when the boat sends them again", async (directory) => {
  const { log, lines } = keptLog();
  const journal = await open(directory, { log });
  const span = { epochWord: 7, firstSeq: 1, lastSeq: undefined, recordedUs: 1000, trueUs: 2000, rate: 1 };
  // A folder with the name of the file.
  await Deno.mkdir(`${directory}/${CLOCK_FILE}/x`, { recursive: true });
  journal.correct([span]);
  await eventually("the failed write", () => lines.some((line) => line.includes("not stored")));
  await Deno.remove(`${directory}/${CLOCK_FILE}`, { recursive: true });
  journal.correct([span]);
  await journal.close();
  assert.deepEqual((await readClockSpans(directory, { log: silentLogger })).all, [span]);
});
