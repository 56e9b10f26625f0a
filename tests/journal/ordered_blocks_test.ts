import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import {
  BlockError,
  type BlockFile,
  BlockReader,
  loadDictionaryDecoder,
  openBlockFile,
  orderBlocks,
  readJournalDirectory,
  SyncBlockReader,
} from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { appendRange, frameOf, journalFiles, makeWriter } from "../support/journal_run.ts";
import { framesOf } from "../support/journal_files.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { packWithDictionaries } from "../support/dictionary_journal.ts";

const DISK = needs({ permissions: ["read", "write"] });
const ZSTD = needs({ permissions: ["read", "run", "write"], programs: ["zstd"] });
const FOREIGN = fileURLToPath(new URL("../data/lplex_cloud/instances/oboat/journal", import.meta.url));

async function filesOf(directory: string): Promise<BlockFile[]> {
  return await Promise.all(journalFiles(directory).map((name) => openBlockFile(`${directory}/${name}`)));
}

/** Compares every block of the files with what the other reader reads. */
async function compareReaders(files: readonly BlockFile[]): Promise<number> {
  using reader = new BlockReader();
  using sync = new SyncBlockReader(await loadDictionaryDecoder());
  let blocks = 0;
  for (const { path, blocks: locations } of files) {
    for (const location of locations) {
      const [one, other] = [sync.read(path, location), await reader.read(path, location)];
      assert.deepEqual([framesOf(one), one.devices, one.metadata], [framesOf(other), other.devices, other.metadata]);
      blocks++;
    }
  }
  return blocks;
}

for (const compression of ["none", "zstd"] as const) {
  Deno.test(
    `blocks that are read without waiting are the same, compression ${compression}`,
    DISK,
    () =>
      inFolder(async (folder) => {
        const { writer } = makeWriter(folder, { compression });
        appendRange(writer, 1, 500);
        await writer.close();
        assert.ok(await compareReaders(await filesOf(folder)) > 2);
      }),
  );
}

Deno.test(
  "blocks that are read without waiting are the same with dictionaries",
  ZSTD,
  () =>
    inFolder(async (folder) => {
      const { writer } = makeWriter(folder, { compression: "none" });
      appendRange(writer, 1, 500);
      await writer.close();
      const [name = ""] = journalFiles(folder);
      assert.ok(await packWithDictionaries(`${folder}/${name}`, { folder, hasIndex: true }) > 0);
      const files = await filesOf(folder);
      assert.ok(await compareReaders(files) > 2);
      const [{ path, blocks } = assert.fail()] = files;
      using without = new SyncBlockReader();
      assert.throws(() => blocks.map((location) => without.read(path, location)), /dictionary decoder is not loaded/);
    }),
);

Deno.test(
  "blocks of other software and of a write-ahead log are read without waiting",
  DISK,
  () =>
    inFolder(async (folder) => {
      assert.ok(await compareReaders(await filesOf(FOREIGN)) > 2);
      const { writer } = makeWriter(folder);
      appendRange(writer, 1, 200);
      await writer.sync();
      const { wals } = await readJournalDirectory(folder);
      assert.ok(await compareReaders(wals) > 0);
      await writer.close();
    }),
);

Deno.test(
  "a damaged block read without waiting is a BlockError, and the next one can be read",
  DISK,
  () =>
    inFolder(async (folder) => {
      const { writer } = makeWriter(folder, { compression: "none" });
      appendRange(writer, 1, 300);
      await writer.close();
      const [{ path, blocks: [first, second] } = assert.fail()] = await filesOf(folder);
      assert.ok(first && second);
      const bytes = Deno.readFileSync(path);
      bytes[first.offset + 100]! ^= 1;
      Deno.writeFileSync(path, bytes);
      using reader = new SyncBlockReader();
      assert.throws(() => reader.read(path, first), BlockError);
      assert.equal(reader.read(path, second).baseSeq, second.seq);
      assert.throws(() => reader.read(`${folder}/missing.lpj`, first), Deno.errors.NotFound);
    }),
);

Deno.test(
  "blocks of several files are in the order of epochs and numbers, whatever the order of the files",
  DISK,
  () =>
    inFolder(async (folder) => {
      for (const [i, epoch] of [9, 4].entries()) {
        const { writer } = makeWriter(folder, { epoch: new Uint8Array(16).fill(epoch), prefix: `p${epoch}` });
        for (let seq = 1; seq <= 1500; seq++) {
          writer.append(seq, frameOf(seq, { timeUs: START_US + i * 3.6e9 + seq * 1000 }));
        }
        await writer.rotate();
        for (let seq = 1501; seq <= 1800; seq++) {
          writer.append(seq, frameOf(seq, { timeUs: START_US + i * 3.6e9 + seq * 1000 }));
        }
        await writer.close();
      }
      const files = await filesOf(folder);
      for (const order of [files, files.toReversed()]) {
        const blocks = orderBlocks(order);
        assert.equal(
          blocks.length,
          files.reduce((sum, file) => sum + file.blocks.length, 0),
        );
        const words = blocks.map(({ epochWord }) => epochWord);
        assert.deepEqual([...new Set(words)], [0x09090909, 0x04040404]);
        assert.deepEqual(words, words.toSorted((a, b) => b - a));
        for (const [i, { seq, epochWord }] of blocks.entries()) {
          const before = blocks[i - 1];
          assert.ok(before?.epochWord !== epochWord || before.seq < seq);
        }
      }
      const epochsIn = (range: Parameters<typeof orderBlocks>[1]) =>
        orderBlocks(files, range).map((each) => each.epochWord);
      assert.deepEqual(new Set(epochsIn({ toUs: START_US + 1.8e9 })), new Set([0x09090909]));
      assert.ok(blocksOf(files, 0x09090909) > 4);
      // The last two blocks of a file may last for ever.
      const late = epochsIn({ fromUs: START_US + 3.6e9 });
      assert.equal(late.filter((word) => word === 0x09090909).length, 4);
      assert.equal(late.filter((word) => word === 0x04040404).length, blocksOf(files, 0x04040404));
    }),
);

/** Blocks of an epoch. */
function blocksOf(files: readonly BlockFile[], epochWord: number): number {
  return files.filter(({ index }) => index.header.epochWord === epochWord)
    .reduce((sum, { blocks }) => sum + blocks.length, 0);
}
