import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { newStoredFrame } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import type { BlockRange } from "../../src/journal/index/block_table.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });

/** Number and milliseconds of each frame of a range. */
async function framesIn(index: JournalIndex, range: BlockRange): Promise<{ seq: number; ms: number }[]> {
  const { fromUs = -Infinity, toUs = Infinity } = range;
  const found: { seq: number; ms: number }[] = [];
  const frame = newStoredFrame();
  for await (const block of index.blocks(range)) {
    for (const cursor = block.frames(); cursor.next(frame);) {
      const { seq, timeUs } = frame;
      if (timeUs >= fromUs && timeUs <= toUs) found.push({ seq, ms: (timeUs - START_US) / 1000 });
    }
  }
  return found;
}

Deno.test(
  "frames of two buses whose times interleave are found by their own times, in the order of numbers",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder, { buses: ["can0", "can1"] });
      // Every fourth frame is up to 6 s late, as after a stall of its bus.
      const late = (i: number) => i % 4 < 3 ? 0 : 3000 * ((i >> 6) % 3);
      const frames = Array.from({ length: 4000 }, (_, i) => message({ bus: i % 2, monoMs: i - late(i) }));
      journal.append(1, frames);
      await journal.writer.rotate();
      const index = await JournalIndex.open(folder, { log: silentLogger });
      for (let ms = -6000; ms < 4000; ms += 197) {
        const range = { fromUs: START_US + ms * 1000, toUs: START_US + (ms + 300) * 1000 };
        const wanted = frames.flatMap(({ timeUs }, i) => timeUs >= range.fromUs && timeUs <= range.toUs ? [i + 1] : []);
        for (const each of [journal.index, index]) {
          assert.deepEqual((await framesIn(each, range)).map(({ seq }) => seq), wanted, `${ms}`);
        }
      }
    }),
);

Deno.test(
  "epochs follow each other by the time at which they begin, and numbers ascend in each",
  DISK,
  () =>
    inFolder(async (folder) => {
      for (const [epoch, starts] of [[1, [90_000, 20_000]], [2, [10_000, 95_000]]] as const) {
        await using journal = await TestJournal.open(folder, { epoch: new Uint8Array(16).fill(epoch) });
        for (const [i, startMs] of starts.entries()) {
          journal.append(1 + 50 * i, Array.from({ length: 50 }, (_, ms) => message({ monoMs: startMs + ms })));
          await journal.writer.rotate();
        }
      }
      const index = await JournalIndex.open(folder, { log: silentLogger });
      const run = (seq: number, ms: number) => Array.from({ length: 50 }, (_, i) => ({ seq: seq + i, ms: ms + i }));
      const wanted = [...run(1, 10_000), ...run(51, 95_000), ...run(1, 90_000), ...run(51, 20_000)];
      assert.deepEqual(await framesIn(index, { fromUs: START_US }), wanted);
    }),
);

Deno.test(
  "what is fetched into a hole that a reader has passed waits for the next reader",
  DISK,
  () =>
    inFolder(async (folder) => {
      const messages = (count: number) => Array.from({ length: count }, (_, ms) => message({ monoMs: ms }));
      await using journal = await TestJournal.open(folder);
      const { index } = journal;
      for (const first of [1, 201]) {
        journal.append(first, messages(100));
        await journal.writer.rotate();
      }
      const seqs: number[] = [];
      const frame = newStoredFrame();
      for await (const block of index.blocks({ fromSeq: 1 })) {
        for (const cursor = block.frames(); cursor.next(frame);) seqs.push(frame.seq);
        if (seqs.at(-1) !== 300) continue;
        await using fetched = await TestJournal.open(folder, {
          prefix: "backfill",
          onWritten: (written) => index.noteWritten(written),
        });
        fetched.append(101, messages(100));
        await fetched.writer.rotate();
      }
      assert.deepEqual(
        seqs,
        [...Array(100).keys(), ...Array.from({ length: 100 }, (_, i) => i + 200)].map((i) => i + 1),
      );
      assert.equal((await framesIn(index, {})).length, 300);
    }),
);
