import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { BlockBuilder, compress, encodeBlockHeader, encodeFileHeader, JournalIndex } from "../../src/journal/mod.ts";
import type { BlockRange } from "../../src/journal/index/block_table.ts";
import { inFolder } from "../support/folder.ts";
import { keepWarnings, readLine, TestJournal } from "../support/history.ts";
import { type FrameSeen, framesOf } from "../support/journal_files.ts";
import { VECTOR_C, VECTOR_D } from "../support/journal_vectors.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const EPOCH_WORD = 0x07070707;

/** Messages a millisecond apart, unless a step is given. */
function messages(count: number, { startMs = 0, stepMs = 1, src = 1 } = {}): Message[] {
  return Array.from({ length: count }, (_, i) => message({ src, monoMs: startMs + i * stepMs }));
}

async function framesIn(index: JournalIndex, range: BlockRange): Promise<FrameSeen[]> {
  const frames: FrameSeen[] = [];
  for await (const block of index.blocks(range)) frames.push(...framesOf(block));
  return frames;
}

/** Frames of a range, cut to it exactly, as a reader of blocks does. */
async function seqsIn(index: JournalIndex, range: BlockRange): Promise<number[]> {
  const { fromUs = -Infinity, toUs = Infinity, fromSeq = -Infinity } = range;
  return (await framesIn(index, range)).filter(({ seq, timeUs }) =>
    timeUs >= fromUs && timeUs <= toUs && seq >= fromSeq
  )
    .map(({ seq }) => seq);
}

function numbers(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, i) => from + i);
}

function namesIn(folder: string): string[] {
  return Array.from(Deno.readDirSync(folder), ({ name }) => name).filter((name) => name.endsWith(".lpj")).sort();
}

/** 3000 frames in three files of several blocks each; the directory is left as a writer leaves it. */
async function threeFiles(
  folder: string,
  { compression = "zstd", stepMs = 1 }: { compression?: "zstd" | "none"; stepMs?: number } = {},
): Promise<void> {
  await using journal = await TestJournal.open(folder, { compression });
  for (let i = 0; i < 3; i++) {
    journal.append(1 + i * 1000, messages(1000, { startMs: i * 1000 * stepMs, stepMs }));
    await journal.writer.rotate();
  }
}

for (const compression of ["zstd", "none"] as const) {
  Deno.test(
    `blocks are found by time and by number, compression ${compression}`,
    DISK,
    () =>
      inFolder(async (folder) => {
        await threeFiles(folder, { compression });
        const index = await JournalIndex.open(folder, { log: silentLogger });
        assert.deepEqual(await seqsIn(index, {}), numbers(1, 3000));
        const bounds = [0, 1, 286, 288, 289, 500, 999, 1000, 1001, 1700, 2711, 2998, 2999];
        for (const from of bounds) {
          assert.deepEqual(await seqsIn(index, { fromSeq: from + 1 }), numbers(from + 1, 3000));
          for (const to of bounds) {
            const range = { fromUs: START_US + from * 1000, toUs: START_US + to * 1000 };
            assert.deepEqual(await seqsIn(index, range), numbers(from + 1, to + 1), `${from} to ${to}`);
          }
        }
        assert.deepEqual(await seqsIn(index, { fromSeq: 3001 }), []);
        assert.deepEqual(await seqsIn(index, { fromUs: START_US + 3_000_000 }), []);
        assert.deepEqual(await seqsIn(index, { toUs: START_US - 1 }), []);
      }),
  );
}

Deno.test("a range far from a file reads few of its blocks", DISK, () =>
  inFolder(async (folder) => {
    await threeFiles(folder, { stepMs: 1000 });
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const frames = await framesIn(index, { fromUs: START_US + 1_400_000_000, toUs: START_US + 1_410_000_000 });
    assert.ok(frames.length > 0 && frames.length < 1500, `${frames.length}`);
    assert.ok((await framesIn(index, { fromSeq: 2900 })).length < 300);
  }));

Deno.test(
  "files tell what they begin with, in the order of their times, and the oldest number is theirs",
  DISK,
  () =>
    inFolder(async (folder) => {
      await threeFiles(folder);
      const names = namesIn(folder);
      await Deno.rename(`${folder}/${names[0]}`, `${folder}/zzz.lpj`);
      const index = await JournalIndex.open(folder, { log: silentLogger });
      const expected = ["zzz.lpj", names[1], names[2]].map((name, i) => ({
        path: `${folder}/${name}`,
        recordedUs: START_US + i * 1_000_000,
        firstTimeUs: START_US + i * 1_000_000,
        firstSeq: 1 + i * 1000,
        epochWord: EPOCH_WORD,
        bytes: Deno.statSync(`${folder}/${name}`).size,
        isOutside: false,
      }));
      assert.deepEqual(index.files, expected);
      assert.equal(index.oldestSeq, 1);
      index.noteRemoved(`${folder}/zzz.lpj`);
      assert.equal(index.oldestSeq, 1001);
      assert.equal(index.oldestSeqOf(EPOCH_WORD), 1001);
      assert.equal(index.oldestSeqOf(1), undefined);
      assert.deepEqual(await seqsIn(index, {}), numbers(1001, 3000));
    }),
);

Deno.test(
  "what the writer writes is known without looking, and what it has not written comes last",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      const { index, writer } = journal;
      assert.equal(index.oldestSeq, undefined);
      for (let seq = 1, i = 0; i < 20; i++) {
        seq = journal.append(seq, messages(100, { startMs: seq }));
        assert.deepEqual(await seqsIn(index, {}), numbers(1, seq - 1));
        assert.deepEqual(await seqsIn(index, { fromSeq: seq - 50, epochWord: EPOCH_WORD }), numbers(seq - 50, seq - 1));
        assert.deepEqual(await seqsIn(index, { fromSeq: 1, epochWord: 1 }), []);
        if (i % 7 === 6) await writer.rotate();
        if (i % 5 === 4) await writer.sync();
      }
      assert.equal(index.oldestSeq, 1);
    }),
);

Deno.test("frames that are written while somebody reads are read, each once", DISK, () =>
  inFolder(async (folder) => {
    await using journal = await TestJournal.open(folder);
    const { index, writer } = journal;
    let seq = journal.append(1, messages(1000));
    await writer.rotate();
    const seqs: number[] = [];
    for await (const block of index.blocks({})) {
      seqs.push(...framesOf(block).map((frame) => frame.seq));
      if (seq > 4000) continue;
      seq = journal.append(seq, messages(700, { startMs: seq }));
      await writer.sync();
    }
    assert.deepEqual(seqs.slice(0, 1000), numbers(1, 1000));
    assert.deepEqual(seqs, numbers(1, seqs.length));
    assert.ok(seqs.length > 3000);
  }));

Deno.test("where blocks are is read once", DISK, () =>
  inFolder(async (folder) => {
    await threeFiles(folder);
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const open = Deno.open;
    const opened: string[] = [];
    Deno.open = (path, options) => {
      opened.push(String(path));
      return open(path, options);
    };
    try {
      const last = { fromUs: START_US + 2_950_000 };
      await seqsIn(index, last);
      const first = opened.splice(0).length;
      await seqsIn(index, last);
      assert.ok(opened.length < first, `${opened.length} < ${first}`);
      assert.equal(new Set(opened).size, opened.length);
      opened.splice(0);
      await seqsIn(index, { toUs: START_US - 3_600_000_000 });
      assert.deepEqual(opened, []);
    } finally {
      Deno.open = open;
    }
  }));

Deno.test("what is no journal is warned of once and passed over", DISK, () =>
  inFolder(async (folder) => {
    await threeFiles(folder);
    const whole = Deno.readFileSync(`${folder}/${namesIn(folder)[0]}`);
    const header = whole.slice(0, 16);
    const bad: Record<string, Uint8Array> = {
      "empty.lpj": new Uint8Array(0),
      "random.lpj": crypto.getRandomValues(new Uint8Array(5000)),
      "foreign.lpj": new TextEncoder().encode("PNG and more text than a header has"),
      "bare.lpj": header,
      "torn.lpj": whole.slice(0, 60),
      "zeros.lpj": new Uint8Array([...header, ...new Uint8Array(5000)]),
      "huge.lpj": new Uint8Array([...header, ...new Uint8Array(5000).fill(0xff)]),
    };
    for (const [name, bytes] of Object.entries(bad)) Deno.writeFileSync(`${folder}/${name}`, bytes);
    Deno.writeTextFileSync(`${folder}/metadata.txt`, "not looked at");
    Deno.mkdirSync(`${folder}/folder.lpj`);
    const { log, warnings } = keepWarnings();
    const index = await JournalIndex.open(folder, { log });
    assert.deepEqual(await seqsIn(index, {}), numbers(1, 3000));
    const passed = warnings.map(readLine).filter(({ message }) => message === "journal file skipped");
    assert.deepEqual(passed.map(({ path }) => String(path).split("/").at(-1)).sort(), Object.keys(bad).sort());
    assert.ok(warnings.length <= passed.length + 1, warnings.join("\n"));
  }));

Deno.test("a file cut at any place gives the frames of its whole blocks", DISK, () =>
  inFolder(async (folder) => {
    await threeFiles(folder);
    const [, name] = namesIn(folder);
    const path = `${folder}/${name}`;
    const whole = Deno.readFileSync(path);
    for (let bytes = whole.length - 1; bytes > 16; bytes -= 97) {
      Deno.truncateSync(path, bytes);
      const { log, warnings } = keepWarnings();
      const index = await JournalIndex.open(folder, { log });
      const seqs = await seqsIn(index, {});
      const middle = seqs.filter((seq) => seq > 1000 && seq <= 2000);
      assert.deepEqual(middle, numbers(1001, 1000 + middle.length));
      assert.equal(seqs.length, 2000 + middle.length);
      assert.equal(index.damagedBlocks, 0);
      assert.ok(warnings.length <= 1, warnings.join("\n"));
    }
  }));

Deno.test("a damaged block is told of once, and reading goes on behind it", DISK, () =>
  inFolder(async (folder) => {
    await threeFiles(folder);
    const path = `${folder}/${namesIn(folder)[1]}`;
    const whole = Deno.readFileSync(path);
    const footer = new DataView(whole.buffer);
    const count = footer.getUint32(whole.length - 8, true);
    const offsets = numbers(0, count - 1).map((i) =>
      Number(footer.getBigUint64(whole.length - 8 - 8 * (count - i), true))
    );
    assert.equal(count, 4);
    // In the compressed bytes, in the length, and in the first block's length.
    for (const [block, at] of [[1, 50], [2, 18], [0, 18]] as const) {
      const damaged = whole.slice();
      damaged.fill(0xff, offsets[block]! + at, offsets[block]! + at + 2);
      Deno.writeFileSync(path, damaged);
      const { log, warnings } = keepWarnings();
      const index = await JournalIndex.open(folder, { log });
      const lost = numbers(1001 + block * 288, 1000 + (block + 1) * 288);
      for (let round = 0; round < 2; round++) {
        const expected = numbers(1, 3000).filter((seq) => !lost.includes(seq));
        assert.deepEqual(await seqsIn(index, {}), expected, `block ${block}`);
        assert.deepEqual(await seqsIn(index, { fromSeq: 1 }), expected);
      }
      assert.equal(index.damagedBlocks, 1);
      assert.deepEqual(warnings.map((line) => readLine(line).offset), [offsets[block]]);
    }
  }));

Deno.test(
  "a file that is deleted while it is read ends its part with a warning",
  DISK,
  () =>
    inFolder(async (folder) => {
      await threeFiles(folder);
      const [first, second, third] = namesIn(folder).map((name) => `${folder}/${name}`);
      const { log, warnings } = keepWarnings();
      const index = await JournalIndex.open(folder, { log });
      const seqs: number[] = [];
      for await (const block of index.blocks({})) {
        seqs.push(...framesOf(block).map(({ seq }) => seq));
        if (seqs.length > 288) continue;
        Deno.removeSync(first!);
        index.noteRemoved(first!);
        Deno.removeSync(second!);
      }
      assert.deepEqual(seqs, [...numbers(1, 288), ...numbers(2001, 3000)]);
      assert.deepEqual(warnings.map((line) => readLine(line).path), [first, second]);
      assert.deepEqual(index.files.map(({ path }) => path), [third]);
    }),
);

Deno.test(
  "blocks of an epoch follow each other by number across steps of the clock, whatever is asked",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      const { index, writer } = journal;
      let seq = journal.append(1, messages(500, { startMs: 7_200_000 }));
      await writer.rotate();
      seq = journal.append(seq, messages(500, { startMs: 3_600_000 }));
      seq = journal.append(seq, messages(500, { startMs: 0 }));
      await writer.rotate();
      journal.append(seq, messages(500, { startMs: 5_000_000 }));
      await writer.rotate();
      const again = await JournalIndex.open(folder, { log: silentLogger });
      for (const each of [index, again]) {
        assert.deepEqual(await seqsIn(each, {}), numbers(1, 2000));
        assert.deepEqual(await seqsIn(each, { fromSeq: 1 }), numbers(1, 2000));
        assert.deepEqual(await seqsIn(each, { toUs: START_US + 100_000 }), numbers(1001, 1101));
        assert.deepEqual(await seqsIn(each, { fromUs: START_US + 7_200_000_000 }), numbers(1, 500));
        const hour = { fromUs: START_US + 3_600_000_000, toUs: START_US + 3_600_099_000 };
        assert.deepEqual(await seqsIn(each, hour), numbers(501, 600));
      }
    }),
);

Deno.test("a step of the clock within a block's length loses nothing", DISK, () =>
  inFolder(async (folder) => {
    await using journal = await TestJournal.open(folder);
    let seq = journal.append(1, messages(280, { startMs: 0 }));
    for (let i = 0; i < 5; i++) seq = journal.append(seq, messages(280, { startMs: i * 280 + 200 }));
    await journal.writer.rotate();
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const all = await framesIn(index, {});
    for (let ms = 0; ms < 1700; ms += 10) {
      const range = { fromUs: START_US + ms * 1000, toUs: START_US + ms * 1000 };
      const expected = all.filter(({ timeUs }) => timeUs === range.fromUs).map((frame) => frame.seq);
      assert.deepEqual(await seqsIn(index, range), expected, `${ms}`);
    }
  }));

/** A file of version 2 without an epoch, or with one, that holds blocks of given frames. */
function fileOf(blocks: { seq: number; frames: Message[] }[], epochWord: number): Uint8Array<ArrayBuffer> {
  const pieces = [encodeFileHeader({ version: 2, blockBytes: 4096, compression: "zstd", epochWord })];
  const builder = new BlockBuilder({ blockBytes: 4096 });
  for (const { seq, frames } of blocks) {
    builder.begin();
    frames.forEach((frame, i) => assert.equal(builder.append(seq + i, frame), "added"));
    const { firstSeq: baseSeq, firstTimeUs: baseTimeUs } = builder;
    const data = compress(builder.finish(), "zstd");
    const header = { baseSeq, baseTimeUs, dictionaryBytes: 0, dataBytes: data.length };
    pieces.push(encodeBlockHeader(header, { version: 2, compression: "zstd" }), data);
  }
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

Deno.test(
  "a number comes once, also where blocks overlap; without an epoch only the same block is the same",
  DISK,
  () =>
    inFolder(async (folder) => {
      const at = (seq: number, count: number) => ({ seq, frames: messages(count, { startMs: seq }) });
      Deno.writeFileSync(`${folder}/a.lpj`, fileOf([at(1, 100), at(101, 100)], EPOCH_WORD));
      Deno.writeFileSync(`${folder}/b.lpj`, fileOf([at(51, 20), at(101, 100), at(151, 200)], EPOCH_WORD));
      const index = await JournalIndex.open(folder, { log: silentLogger });
      assert.deepEqual(await seqsIn(index, {}), numbers(1, 350));
      assert.deepEqual(await seqsIn(index, { fromSeq: 60 }), numbers(60, 350));
      assert.deepEqual((await framesIn(index, { fromSeq: 201 })).at(-1)?.timeUs, START_US + 350_000);

      const runs = [{ seq: 1, frames: messages(10) }, { seq: 1, frames: messages(10, { startMs: 5000 }) }];
      for (const name of ["a.lpj", "b.lpj"]) Deno.writeFileSync(`${folder}/${name}`, fileOf(runs, 0));
      const older = await JournalIndex.open(folder, { log: silentLogger });
      assert.deepEqual(await seqsIn(older, {}), [...numbers(1, 10), ...numbers(1, 10)]);
    }),
);

Deno.test(
  "the sizes of all files are known, of those that are written and those that were there",
  DISK,
  () =>
    inFolder(async (folder) => {
      const sizes = () =>
        [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".lpj"))
          .reduce((sum, { name }) => sum + Deno.statSync(`${folder}/${name}`).size, 0);
      await using journal = await TestJournal.open(folder);
      let seq = 1;
      for (let i = 0; i < 3; i++) {
        seq = journal.append(seq, messages(500, { startMs: i * 500 }));
        await journal.writer.rotate();
      }
      const blocks = (await Array.fromAsync(journal.index.blocks({}))).length;
      // What ends a file is written when nobody needs it: eight bytes for each block, and eight more.
      assert.equal(journal.index.bytes, sizes() - 8 * blocks - 3 * 8);
      const index = await JournalIndex.open(folder, { log: silentLogger });
      assert.equal(index.bytes, sizes());
      const { path } = index.files[0]!;
      Deno.removeSync(path);
      index.noteRemoved(path);
      assert.equal(index.bytes, sizes());
    }),
);

Deno.test("blocks fetched newest hole first are found by number", DISK, () =>
  inFolder(async (folder) => {
    const at = (seq: number) => ({ seq, frames: messages(100, { startMs: seq }) });
    Deno.writeFileSync(`${folder}/nmea2k-1.lpj`, fileOf([at(101), at(401)], EPOCH_WORD));
    Deno.writeFileSync(`${folder}/backfill-1.lpj`, fileOf([at(301), at(201), at(1)], EPOCH_WORD));
    const index = await JournalIndex.open(folder, { log: silentLogger });
    assert.deepEqual(await seqsIn(index, { fromSeq: 1 }), numbers(1, 500));
    assert.deepEqual(await seqsIn(index, { fromUs: START_US + 150_000 }), numbers(150, 500));
  }));

Deno.test("older software's files are read, version 1 by time only", DISK, () =>
  inFolder(async (folder) => {
    Deno.writeFileSync(`${folder}/c.lpj`, VECTOR_C.bytes);
    Deno.writeFileSync(`${folder}/d.lpj`, VECTOR_D.bytes);
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const all = await framesIn(index, {});
    assert.equal(all.length > 1, true);
    assert.deepEqual(all.map(({ timeUs }) => timeUs), all.map(({ timeUs }) => timeUs).sort((a, b) => a - b));
    const numbered = await framesIn(index, { fromSeq: 1 });
    assert.equal(numbered.length, all.length - 1);
    assert.equal(index.oldestSeq, numbered[0]?.seq);
  }));
