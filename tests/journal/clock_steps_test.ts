import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { type Message, newStoredFrame } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/index/journal_index.ts";
import { TestJournal } from "../support/history.ts";
import { inFolder } from "../support/folder.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });

/** Messages a millisecond apart. */
function messages(count: number, { startMs = 0 } = {}): Message[] {
  return Array.from({ length: count }, (_, i) => message({ monoMs: startMs + i }));
}

/** Numbers of frames of a time, and of any that are read for it. */
async function framesAt(index: JournalIndex, timeUs?: number): Promise<{ seq: number; timeUs: number }[]> {
  const found: { seq: number; timeUs: number }[] = [];
  const frame = newStoredFrame();
  for await (const block of index.blocks({ fromUs: timeUs, toUs: timeUs })) {
    for (const frames = block.frames(); frames.next(frame);) {
      if (timeUs === undefined || frame.timeUs === timeUs) found.push({ seq: frame.seq, timeUs: frame.timeUs });
    }
  }
  return found;
}

Deno.test(
  "a machine that is switched on several times with the time that it wrote down last loses nothing",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      let seq = journal.append(1, messages(100));
      await journal.writer.rotate();
      for (let start = 0; start < 6; start++) {
        seq = journal.append(seq, messages(5, { startMs: 50 + start }));
        await journal.writer.rotate();
      }
      for (let file = 0; file < 12; file++) {
        seq = journal.append(seq, messages(40, { startMs: 60 + file * 40 }));
        await journal.writer.rotate();
      }
      const index = await JournalIndex.open(folder, { log: silentLogger });
      const all = await framesAt(index);
      assert.equal(all.length, seq - 1);
      for (let ms = 0; ms < 540; ms++) {
        const timeUs = START_US + ms * 1000;
        const expected = all.filter((each) => each.timeUs === timeUs).map((each) => each.seq);
        const found = (await framesAt(index, timeUs)).map((each) => each.seq);
        assert.deepEqual(found.sort((a, b) => a - b), expected.sort((a, b) => a - b), `${ms} ms`);
      }
    }),
);

Deno.test(
  "a machine that was switched on twice within the hour keeps the history of the time before",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      const minutes = [[0, 50], [17], [23], [78], [138], [198]];
      let seq = 1;
      for (const file of minutes) {
        for (const minute of file) seq = journal.append(seq, messages(1, { startMs: minute * 60_000 }));
        await journal.writer.rotate();
      }
      const index = await JournalIndex.open(folder, { log: silentLogger });
      for (const minute of minutes.flat()) {
        assert.equal((await framesAt(index, START_US + minute * 60_000_000)).length, 1, `${minute} min`);
      }
    }),
);
