// Blocks that are kept elsewhere than in files, such as in an object store.
import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { recover } from "../../src/journal/wal/recovery.ts";
import type { JournalWriterOptions, WrittenBlock } from "../../src/journal/writer/journal_writer.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
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
  Deno.test({ name: `journal writer, placing: ${name}`, ...FILES, fn: () => inFolder(run) });
}

/** A place that answers when a test says so. */
class HeldPlace {
  /** Numbers of the blocks that it has, first and last. */
  readonly has: [number, number][] = [];
  readonly #held: ((isTaken: boolean) => void)[] = [];
  offered = 0;

  /** Blocks that it has not answered for. */
  get waiting(): number {
    return this.#held.length;
  }

  readonly place: NonNullable<JournalWriterOptions["place"]> = ({ firstSeq, lastSeq, ...block }) => {
    this.offered++;
    const { promise, resolve } = Promise.withResolvers<WrittenBlock | undefined>();
    this.#held.push((isTaken) => {
      if (isTaken) this.has.push([firstSeq, lastSeq]);
      const { firstTimeUs, latestTimeUs, epochWord } = block;
      const header = { version: 2, blockBytes: block.bytes.length, compression: "zstd", epochWord } as const;
      const located = { path: "elsewhere", offset: 0, fileBytes: 0, header };
      resolve(isTaken ? { firstSeq, lastSeq, firstTimeUs, latestTimeUs, ...located } : undefined);
    });
    return promise;
  };

  /** Answers for the oldest block. */
  async answer(isTaken: boolean): Promise<void> {
    this.#held.shift()?.(isTaken);
    await pause();
  }
}

function makePlacing(folder: string, options: Partial<JournalWriterOptions> = {}) {
  const elsewhere = new HeldPlace();
  return { elsewhere, ...makeWriter(folder, { place: elsewhere.place, ...options }) };
}

test("until the answer a block is safe in its tail, then it is in no file", async (folder) => {
  const written: string[] = [];
  const { writer, elsewhere, ended } = makePlacing(folder, { onWritten: ({ path }) => written.push(path) });
  const seq = await fillBlock(writer, 1);
  appendRange(writer, seq + 1, seq + 5);
  await writer.sync();
  assert.deepEqual([elsewhere.waiting, writer.durableSeq, writer.oldestUnwritten], [1, seq + 5, 1]);
  assert.deepEqual(await afterPowerCut(folder), { lastSeq: seq + 5, frames: wantedRange(1, seq + 5) });
  await elsewhere.answer(true);
  await writer.placed();
  const [[first, last] = []] = elsewhere.has;
  assert.deepEqual([written, ended, first, writer.oldestUnwritten], [["elsewhere"], ["elsewhere"], 1, last! + 1]);
  assert.deepEqual(readJournal(folder, { twice: false }).frames, []);
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(last! + 1, seq + 5), "what is left goes into a file");
  assert.equal(writer.lost, 0);
});

test("what is not taken goes into a file, and is offered once", async (folder) => {
  const { writer, elsewhere } = makePlacing(folder);
  const seq = await fillBlock(writer, 1);
  await elsewhere.answer(false);
  await eventually("the block", () => writer.written.blocks === 1);
  await writer.sync();
  assert.equal(elsewhere.offered, 1);
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, seq));
});

test("no block waits for a place that hangs, and a late answer changes nothing", async (folder) => {
  const { writer, elsewhere } = makePlacing(folder);
  let seq = 0;
  for (let block = 0; block < 20; block++) {
    seq = await fillBlock(writer, seq + 1);
    assert.ok(writer.written.blocks >= block - 1 && writer.unwritten().length <= 3);
    assert.equal((await afterPowerCut(folder)).lastSeq, seq);
  }
  // But for the last one, for which nothing was known at the end.
  while (elsewhere.waiting > 1) await elsewhere.answer(true);
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, wantedRange(1, seq));
});

test("a rotation does not wait for the answer, and the next frames do", async (folder) => {
  const { writer, elsewhere } = makePlacing(folder);
  appendRange(writer, 1, 10);
  await writer.rotate();
  assert.equal(elsewhere.waiting, 1);
  const placed = writer.placed();
  await elsewhere.answer(true);
  await placed;
  assert.deepEqual([elsewhere.has, writer.oldestUnwritten, writer.openName], [[[1, 10]], undefined, undefined]);
  await writer.close();
  assert.deepEqual(readJournal(folder).frames, []);
});

test("a block that waits for the answer when the journal is closed goes into a file", async (folder) => {
  const { writer, elsewhere } = makePlacing(folder);
  appendRange(writer, 1, 10);
  await writer.rotate();
  assert.equal(elsewhere.waiting, 1);
  await writer.close();
  assert.deepEqual([readJournal(folder).frames, writer.lost], [wantedRange(1, 10), 0]);
});

test("wherever the power goes, each frame that was durable is in a tail, in a file or elsewhere", async (folder) => {
  const directory = `${folder}/journal`;
  await Deno.mkdir(directory);
  using disk = new PowerCutDisk(directory);
  const random = new Random(53);
  const marks: { durable: number; placed: number }[] = [];
  const { writer, elsewhere } = makePlacing(directory, { onWritten: () => tell() });
  const tell = () => {
    marks.push({ durable: writer.durableSeq, placed: elsewhere.has.length });
    disk.mark(marks.length);
  };
  let seq = 0;
  for (let round = 0; round < 8; round++) {
    const blocks = random.between(1, 3);
    while (writer.unwritten().length <= blocks) {
      seq++;
      writer.append(seq, frameOf(seq));
    }
    await writer.sync();
    tell();
    await eventually("the blocks", async () => {
      await elsewhere.answer(random.chance(0.7));
      return writer.unwritten().length <= 1;
    });
  }
  await writer.close();
  disk[Symbol.dispose]();
  assert.ok(elsewhere.has.length > 2, `${elsewhere.has.length}`);
  for (let count = 0; count <= disk.length; count++) {
    const { files, marked } = disk.cut(count, random);
    const { durable, placed } = marks[marked - 1] ?? { durable: 0, placed: 0 };
    const after = `${folder}/${count}`;
    await Deno.mkdir(after);
    for (const [name, bytes] of files) Deno.writeFileSync(`${after}/${name}`, bytes);
    await recover({ directory: after, log: silentLogger });
    const there = new Set(readJournal(after, { twice: false }).frames.map((frame) => frame.seq));
    for (const [first, last] of elsewhere.has.slice(0, placed)) {
      for (let each = first; each <= last; each++) there.add(each);
    }
    for (let each = 1; each <= durable; each++) {
      assert.ok(there.has(each), `cut after ${count} of ${disk.length}: ${each}`);
    }
    await Deno.remove(after, { recursive: true });
  }
});
