import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { message } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const EPOCH_WORD = 0x07070707;

Deno.test(
  "places are complete unless the disk does not give a file that may have some of them",
  DISK,
  () =>
    inFolder(async (folder) => {
      {
        await using journal = await TestJournal.open(folder);
        for (let file = 0; file < 5; file++) {
          journal.append(1 + file * 100, Array.from({ length: 100 }, (_, i) => message({ monoMs: file * 100 + i })));
          await journal.writer.rotate();
        }
      }
      const index = await JournalIndex.open(folder, { log: silentLogger });
      const isComplete = async (fromSeq: number) => {
        return (await index.places({ fromSeq, epochWord: EPOCH_WORD })).isComplete;
      };
      const path = index.files[0]!.path;
      await Deno.rename(path, `${path}.away`);
      await Deno.mkdir(path);
      let frames = 0;
      for await (const block of index.blocks({})) frames += block.frameCount;
      assert.equal(frames, 400, "a query has met the file that cannot be read");
      assert.deepEqual([await isComplete(401), await isComplete(1), await isComplete(401)], [true, false, true]);
      await Deno.remove(path);
      await Deno.rename(`${path}.away`, path);
      assert.equal(await isComplete(1), true);
    }),
);
