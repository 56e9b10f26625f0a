import assert from "node:assert/strict";
import { recover } from "../../src/journal/wal/recovery.ts";
import { eventually } from "../support/eventually.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import {
  appendRange,
  frameOf,
  journalFiles,
  keptLog,
  makeWriter,
  readJournal,
  seenOf,
  wantedRange,
} from "../support/journal_run.ts";
import { fillDisk, mayMount, mount, onSmallDisk, unmount } from "../support/mounts.ts";
import { needs } from "../support/needs.ts";

const MOUNTS = needs({ permissions: ["read", "write"], extras: { "root who may mount": mayMount() } });

function test(name: string, run: (folder: string) => Promise<void>): void {
  Deno.test({ name: `journal writer: ${name}`, ...MOUNTS, fn: () => inFolder(run) });
}

test("a full disk is told, frames are counted, and recording goes on with the gap recorded", (folder) =>
  onSmallDisk(folder, async (disk) => {
    const { writer, clock, lines } = makeWriter(disk, { syncIntervalMs: 2, maxBacklogBytes: 16 * 4096 });
    appendRange(writer, 1, 1000);
    assert.deepEqual(writer.counts, { appended: 1000, lost: 0, waiting: 1000 });
    await writer.sync();
    assert.deepEqual(writer.counts, { appended: 1000, lost: 0, waiting: 0 });
    const filler = fillDisk(disk);
    let seq = 1000;
    const state = await eventually("the failure", () => {
      for (let i = 0; i < 50; i++) writer.append(++seq, frameOf(seq));
      return writer.state.kind === "failing" && writer.state;
    });
    assert.match(state.reason, /No space left/);
    await eventually("lost frames", () => {
      for (let i = 0; i < 50; i++) writer.append(++seq, frameOf(seq));
      clock.advance(500);
      return writer.lost > 1000;
    });
    const kept = seq - writer.lost;
    const { appended, lost, waiting } = writer.counts;
    assert.deepEqual([appended, lost], [kept, seq - kept]);
    assert.ok(waiting > 0 && waiting <= kept - 1000, `${waiting} wait while the disk is full`);
    assert.ok(journalFiles(disk).length <= 2, "tries leave no files behind");
    await Deno.remove(filler);
    await eventually("recording", () => {
      clock.advance(60_000);
      return writer.state.kind === "recording";
    });
    appendRange(writer, seq + 1, seq + 100);
    await writer.sync();
    assert.deepEqual(writer.counts, { appended: kept + 100, lost: seq - kept, waiting: 0 });
    await writer.close();
    const { frames, blocks } = readJournal(disk);
    assert.deepEqual(frames, [...wantedRange(1, kept), ...wantedRange(seq + 1, seq + 100)]);
    assert.deepEqual(blocks.at(-1)?.metadata.gap, { firstMissing: kept + 1, reason: "disk" });
    for (const told of ["journal cannot be written", "frames are not recorded", "recording again"]) {
      assert.equal(lines.filter((line) => line.includes(told)).length, 1, told);
    }
  }));

test("a disk that is full now and then loses nothing while the backlog has room", (folder) =>
  onSmallDisk(folder, async (disk) => {
    const { writer, clock } = makeWriter(disk, { syncIntervalMs: 1 });
    let seq = 0;
    for (let round = 0; round < 10; round++) {
      const filler = fillDisk(disk);
      await eventually("the failure", () => {
        for (let i = 0; i < 20; i++) writer.append(++seq, frameOf(seq));
        return writer.state.kind === "failing";
      });
      for (let i = 0; i < 20; i++) writer.append(++seq, frameOf(seq));
      await Deno.remove(filler);
      await eventually("recording", () => {
        clock.advance(60_000);
        return writer.state.kind === "recording" && writer.durableSeq === seq;
      });
    }
    await writer.close();
    assert.equal(writer.lost, 0);
    assert.deepEqual(readJournal(disk).frames, wantedRange(1, seq));
  }));

test("a directory that becomes read-only fails when a file is to be made, and nothing is lost", async (folder) => {
  const { writer, clock } = makeWriter(folder, { syncIntervalMs: 2 });
  appendRange(writer, 1, 500);
  await writer.sync();
  mount(["--bind", folder, folder]);
  try {
    mount(["-o", "remount,bind,ro", folder]);
    await writer.rotate();
    appendRange(writer, 501, 1000);
    const state = await eventually("the failure", () => writer.state.kind === "failing" && writer.state);
    assert.match(state.reason, /Read-only/);
  } finally {
    unmount(folder);
  }
  await eventually("recording", () => {
    clock.advance(60_000);
    return writer.state.kind === "recording";
  });
  await writer.close();
  assert.equal(writer.lost, 0);
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, 1000));
});

test("a start on a full disk recovers what it can hold, and the writer writes it when there is room", (folder) =>
  onSmallDisk(folder, async (disk) => {
    const { writer } = makeWriter(disk);
    appendRange(writer, 1, 700);
    await writer.sync();
    const copy = `${disk}/copy`;
    copyAsCrashed(disk, copy);
    await writer.close();
    const filler = fillDisk(disk);
    const { log, lines } = keptLog();
    const found = await recover({ directory: copy, log });
    assert.equal(found.lastSeq, 700);
    assert.ok(found.pending.length > 0 && lines.some((line) => line.includes("cannot be written")));
    assert.deepEqual((await recover({ directory: copy, log })).pending, found.pending);
    const { newestFile, pending, lastSeq } = found;
    const gap = { firstMissing: lastSeq + 1, reason: "restart" } as const;
    const next = makeWriter(copy, { newestFile, pending, gap, syncIntervalMs: 2 });
    for (let seq = 900; seq <= 950; seq++) next.writer.append(seq, frameOf(seq));
    await eventually("the failure", () => next.writer.state.kind === "failing");
    await Deno.remove(filler);
    next.clock.advance(60_000);
    await next.writer.sync();
    await next.writer.close();
    const { frames } = readJournal(copy);
    assert.deepEqual(frames, [...wantedRange(1, 700), ...wantedRange(900, 950)]);
    assert.deepEqual(frames.at(-1), seenOf(950));
  }));
