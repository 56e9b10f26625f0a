import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import type { JournalWriterOptions } from "../../src/journal/writer/journal_writer.ts";
import { recover } from "../../src/journal/wal/recovery.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldThread } from "../support/held_thread.ts";
import {
  afterPowerCut,
  appendRange,
  fillBlock,
  frameOf,
  makeWriter,
  readJournal,
  wantedRange,
} from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { PowerCutDisk } from "../support/power_cut.ts";
import { Random } from "../support/random.ts";

const FILES = needs({ permissions: ["read", "write"] });

function test(name: string, run: (folder: string) => Promise<void>): void {
  Deno.test({ name: `journal writer, packing: ${name}`, ...FILES, fn: () => inFolder(run) });
}

/** A writer whose blocks all wait for the thread, as long as they may. */
function makeSlow(folder: string, options: Partial<JournalWriterOptions> = {}) {
  const thread = new HeldThread();
  return { thread, ...makeWriter(folder, { slowBlockMs: 0, packThread: thread, ...options }) };
}

test("a block that is being packed is safe in its tail, and so is what comes after it", async (folder) => {
  const { writer, thread } = makeSlow(folder);
  let seq = await fillBlock(writer, 1);
  for (const _ of [1, 2]) {
    assert.deepEqual([writer.written.blocks, thread.waiting, writer.durableSeq], [0, 1, seq]);
    assert.deepEqual(await afterPowerCut(folder), { lastSeq: seq, frames: wantedRange(1, seq) });
    appendRange(writer, seq + 1, seq + 5);
    seq += 5;
    await writer.sync();
  }
  await thread.release();
  await eventually("the block", () => writer.written.blocks === 1);
  assert.deepEqual(await afterPowerCut(folder), { lastSeq: seq, frames: wantedRange(1, seq) });
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, seq));
  assert.equal(writer.lost, 0);
});

test("blocks lie in the file as the thread packed them", async (folder) => {
  const sizes = async (isSlow: boolean) => {
    const directory = await Deno.makeTempDir({ dir: folder });
    const { writer, thread } = makeSlow(directory, { blockBytes: 65_536, slowBlockMs: isSlow ? 0 : 3_600_000 });
    let size = 0;
    for (let seq = 1, block = 1; block <= 3; block++) {
      seq = await fillBlock(writer, seq) + 1;
      await thread.release();
      await eventually("the block", () => writer.written.blocks === block);
    }
    assert.equal(thread.taken, isSlow ? 3 : 0);
    for (const { name } of Deno.readDirSync(directory)) {
      if (name.endsWith(".lpj")) size += Deno.statSync(`${directory}/${name}`).size;
    }
    await writer.close();
    return size;
  };
  assert.ok(await sizes(true) < await sizes(false));
});

test("the next full block lets the one before be packed at once, and a thread that hangs none wait", async (folder) => {
  const { writer, thread } = makeSlow(folder);
  let seq = 0;
  for (let block = 0; block < 20; block++) {
    seq = await fillBlock(writer, seq + 1);
    assert.ok(writer.written.blocks >= block - 1 && writer.unwritten().length <= 3);
    assert.equal((await afterPowerCut(folder)).lastSeq, seq);
  }
  assert.equal(thread.taken, 1, "it was never done with the first");
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, seq));
});

test("blocks that fill while another one's tail is written do not overwrite it, wherever the power goes", async (folder) => {
  const directory = `${folder}/journal`;
  await Deno.mkdir(directory);
  using disk = new PowerCutDisk(directory);
  const tell = () => disk.mark(writer.durableSeq);
  const { writer, thread } = makeSlow(directory, { onWritten: () => tell() });
  let seq = 0;
  for (let round = 0; round < 3; round++) {
    // All at once: the thread gets the first, and its tail is being written when the last one begins.
    while (writer.unwritten().length < 3) {
      seq++;
      writer.append(seq, frameOf(seq));
    }
    await writer.sync();
    tell();
    await eventually("the blocks", async () => {
      await thread.release();
      return writer.unwritten().length === 1;
    });
  }
  await writer.close();
  disk[Symbol.dispose]();
  const random = new Random(52);
  for (let count = 0; count <= disk.length; count++) {
    const { files, marked } = disk.cut(count, random);
    const after = `${folder}/${count}`;
    await Deno.mkdir(after);
    for (const [name, bytes] of files) Deno.writeFileSync(`${after}/${name}`, bytes);
    const { lastSeq } = await recover({ directory: after, log: silentLogger });
    assert.ok(lastSeq >= marked, `cut after ${count} of ${disk.length}: ${lastSeq} of ${marked}`);
    assert.deepEqual(readJournal(after, { twice: false }).frames, wantedRange(1, lastSeq));
    await Deno.remove(after, { recursive: true });
  }
});

test("blocks that fill fast do not wait for a thread", async (folder) => {
  const { writer, thread } = makeSlow(folder, { slowBlockMs: 3_600_000 });
  await fillBlock(writer, 1);
  assert.deepEqual([writer.written.blocks, thread.taken], [1, 0]);
  await writer.close();
});

test("no frame is lost for a thread that takes its time where two blocks may wait", async (folder) => {
  const { writer, thread } = makeSlow(folder, { maxBacklogBytes: 8192 });
  for (let seq = 1; seq <= 3000; seq++) {
    writer.append(seq, frameOf(seq));
    if (seq % 50 === 0) await writer.sync();
  }
  assert.deepEqual([writer.lost, thread.taken], [0, 0]);
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, 3000));
});

test("rotating, a new epoch and closing do not wait for the thread", async (folder) => {
  const { writer, ended } = makeSlow(folder);
  const first = await fillBlock(writer, 1);
  await writer.rotate();
  assert.equal(ended.length, 1);
  const second = await fillBlock(writer, first + 1);
  writer.beginEpoch(new Uint8Array(16).fill(9));
  appendRange(writer, 1, 5);
  await writer.sync();
  const third = await fillBlock(writer, 6);
  await writer.close();
  assert.equal(ended.length, 3);
  assert.deepEqual(readJournal(folder).frames, [...wantedRange(1, second), ...wantedRange(1, third)]);
});

test("a thread that fails costs no frame", async (folder) => {
  const { writer, thread, lines } = makeSlow(folder);
  const seq = await fillBlock(writer, 1);
  await thread.release(new Error("gone"));
  await eventually("the block", () => writer.written.blocks === 1);
  const last = await fillBlock(writer, seq + 1);
  await eventually("the next block", () => writer.written.blocks === 2);
  assert.equal(lines.length, 1);
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, last));
});

test("a directory that goes while a block is packed is told, and nothing is lost when it is back", async (folder) => {
  const directory = `${folder}/journal`;
  await Deno.mkdir(directory);
  const { writer, thread, clock } = makeSlow(directory, { syncIntervalMs: 5 });
  const seq = await fillBlock(writer, 1);
  await Deno.remove(directory, { recursive: true });
  await thread.release();
  await eventually("the failure", () => writer.state.kind === "failing");
  await Deno.mkdir(directory);
  clock.advance(60_000);
  await eventually("the thread", () => thread.waiting === 1);
  await eventually("the tails", async () => (await afterPowerCut(directory)).frames.length === seq);
  await thread.release();
  await eventually("the block", () => writer.written.blocks === 1);
  await writer.close();
  assert.deepEqual(readJournal(directory).frames, wantedRange(1, seq));
});

test("a real worker, frames at any pace, rotations and syncs: everything is there, in order", async (folder) => {
  const random = new Random(51);
  const { writer } = makeWriter(folder, { slowBlockMs: 0, syncIntervalMs: 1 });
  let [seq, durable] = [0, 0];
  for (let turn = 0; turn < 400; turn++) {
    const from = seq + 1;
    seq += random.int(random.chance(0.05) ? 900 : 60);
    appendRange(writer, from, seq);
    if (random.chance(0.02)) void writer.rotate();
    if (random.chance(0.2)) await writer.sync();
    if (random.chance(0.7)) await pause();
    assert.ok(writer.durableSeq >= durable);
    durable = writer.durableSeq;
    if (turn % 40 === 0) assert.ok((await afterPowerCut(folder)).lastSeq >= durable);
  }
  await writer.close();
  assert.equal(writer.lost, 0);
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, seq));
});
