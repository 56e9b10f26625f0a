import assert from "node:assert/strict";
import { Ranges, silentLogger } from "../../src/base/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { BoatArchive } from "../../src/replication/link/archive.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { message } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const EPOCH_WORD = 0x07070707;

Deno.test(
  "locations are complete unless the disk does not give a file that may have some of them",
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
        return (await index.locations({ fromSeq, epochWord: EPOCH_WORD })).isComplete;
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

Deno.test(
  "files that are not there while their file system is away are not forgotten",
  DISK,
  () =>
    inFolder(async (folder) => {
      const directory = `${folder}/journal`;
      await Deno.mkdir(directory);
      {
        await using journal = await TestJournal.open(directory);
        journal.append(1, Array.from({ length: 100 }, (_, i) => message({ monoMs: i })));
      }
      let isUnmounted = false;
      const isAwayNow = () => Promise.resolve(isUnmounted);
      const index = await JournalIndex.open(directory, { log: silentLogger, isUnmounted: isAwayNow });
      const count = async () => {
        let frames = 0;
        for await (const block of index.blocks({})) frames += block.frameCount;
        return frames;
      };
      const range = { fromSeq: 1, epochWord: EPOCH_WORD };
      const { locations } = await index.locations(range);
      const epoch = Uint8Array.from({ length: 16 }, () => 7);
      const holes = new Ranges([{ start: 1, end: 101 }]);
      using archive = await BoatArchive.open({ journal: { index, oldestSeq: 1 }, epoch, head: 100, holes });
      const block = archive.find({ start: 1, end: 101 })!;

      isUnmounted = true;
      await Deno.rename(directory, `${directory}.away`);
      await Deno.mkdir(directory);
      assert.equal(await count(), 0);
      assert.deepEqual([index.oldestSeq, index.files.length], [1, 1]);
      assert.match(index.damage.join(), /^journal file "\S+" cannot be read$/);
      await assert.rejects(archive.read(block), Deno.errors.NotFound, "the cloud is not told that it is gone");

      isUnmounted = false;
      await Deno.remove(directory);
      await Deno.rename(`${directory}.away`, directory);
      await index.rescan();
      assert.deepEqual([index.damage, await count()], [[], 100]);
      assert.deepEqual((await index.locations(range)).locations, locations);
      assert.equal((await archive.read(block)).kind, "block");

      await Deno.remove(directory, { recursive: true });
      assert.equal(await count(), 0);
      assert.equal(index.files.length, 0, "now it is gone");
    }),
);
