import assert from "node:assert/strict";
import { JournalIndex } from "../../src/journal/mod.ts";
import { silentLogger } from "../../src/base/mod.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { VECTOR_C } from "../support/journal_vectors.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
/** Frames that a block of 4096 bytes has room for, were they empty. */
const ROOM = 4096 / 6;

/** Messages a second apart. */
function messages(count: number, startS: number) {
  return Array.from({ length: count }, (_, i) => message({ monoMs: (startS + i) * 1000 }));
}

async function framesIn(index: JournalIndex, range: { fromUs?: number; toUs?: number }): Promise<number> {
  let frames = 0;
  for await (const block of index.blocks(range)) frames += block.frameCount;
  return frames;
}

Deno.test(
  "the most frames that a range can hold are those of its blocks, and the room of each file's last one",
  DISK,
  () =>
    inFolder(async (folder) => {
      {
        await using journal = await TestJournal.open(folder);
        for (const from of [0, 1000, 2000]) {
          journal.append(from + 1, messages(1000, from));
          await journal.writer.rotate();
        }
      }
      const index = await JournalIndex.open(folder, { log: silentLogger });
      for (const [from, to] of [[0, 3000], [0, 10], [900, 1100], [1400, 1410], [2990, 3000], [500, 2500]] as const) {
        const range = { fromUs: START_US + from * 1e6, toUs: START_US + to * 1e6 };
        const [most, frames] = [await index.framesAtMost(range), await framesIn(index, range)];
        assert.ok(most >= frames && most <= frames + 3 * ROOM, `${from} to ${to}: ${most} for ${frames}`);
      }
    }),
);

Deno.test(
  "frames that are not on disk yet, and those of older software, are among the most that a range can hold",
  DISK,
  () =>
    inFolder(async (folder) => {
      Deno.writeFileSync(`${folder}/c.lpj`, VECTOR_C.bytes);
      await using journal = await TestJournal.open(folder);
      journal.append(1, messages(700, 0));
      await journal.writer.sync();
      const [most, frames] = [await journal.index.framesAtMost({}), await framesIn(journal.index, {})];
      assert.ok(frames > 700 && most >= frames && most <= frames + 4 * ROOM, `${most} for ${frames}`);
    }),
);
