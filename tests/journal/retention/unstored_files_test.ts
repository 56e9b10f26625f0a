import assert from "node:assert/strict";
import { silentLogger } from "../../../src/base/mod.ts";
import { epochWordOf, JournalIndex, JournalRetention } from "../../../src/journal/mod.ts";
import { type EpochRanges, UnstoredFiles } from "../../../src/journal/retention/unstored_files.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { inFolder } from "../../support/folder.ts";
import { appendRange, EPOCH, journalFiles, makeWriter, readJournal } from "../../support/journal_run.ts";
import { needs } from "../../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const FORMER = EPOCH.map((byte) => byte ^ 0xff);
const [WORD, FORMER_WORD] = [epochWordOf(EPOCH), epochWordOf(FORMER)];

/** Records in files of few blocks. @param ranges numbers, both included */
async function record(directory: string, { epoch = EPOCH, ranges }: { epoch?: typeof EPOCH; ranges: number[][] }) {
  const { writer } = makeWriter(directory, { epoch, rotateBytes: 6000, compression: "none" });
  for (const [from = 0, to = 0] of ranges) appendRange(writer, from, to);
  await writer.close();
}

/** Numbers of each file, read without the code under test. */
function seqsByFile(directory: string): Map<string, number[]> {
  const seqs = new Map<string, number[]>();
  for (const { file, frames } of readJournal(directory).blocks) {
    seqs.set(file, [...seqs.get(file) ?? [], ...frames.map(({ seq }) => seq)]);
  }
  return seqs;
}

async function unstoredFiles(directory: string, through: ReadonlyMap<number, number>) {
  const deleted: EpochRanges[] = [];
  const index = await JournalIndex.open(directory, { log: silentLogger });
  const stored = {
    isKept: true,
    storedThrough: (word: number) => through.get(word) ?? 0,
    noteDeleted: (each: EpochRanges) => deleted.push(each),
  };
  return new UnstoredFiles(directory, { index, stored });
}

Deno.test("whatever number is stored, exactly the files with later frames are not", DISK, async () => {
  await inFolder(async (directory) => {
    await record(directory, { ranges: [[1, 800], [900, 1500]] });
    const seqs = seqsByFile(directory);
    assert.ok(seqs.size > 3, `${seqs.size} files`);
    const through = new Map<number, number>();
    const files = await unstoredFiles(directory, through);
    for (const number of [0, 1, ...[...seqs.values()].flatMap((each) => [each.at(-1)! - 1, each.at(-1)!]), 850, 2000]) {
      through.set(WORD, number);
      const wanted = [...seqs].filter(([, each]) => each.some((seq) => seq > number)).map(([file]) => file);
      assert.deepEqual([...await files.among([...seqs.keys()])].sort(), wanted, `through ${number}`);
    }
  });
});

Deno.test("the frames of a file that are not stored are those that it has, without gaps", DISK, async () => {
  await inFolder(async (directory) => {
    await record(directory, { ranges: [[1, 60], [71, 100]] });
    const [name = ""] = journalFiles(directory);
    assert.equal(journalFiles(directory).length, 1);
    const through = new Map([[WORD, 20]]);
    const files = await unstoredFiles(directory, through);
    const ranges = [{ start: 21, end: 61 }, { start: 71, end: 101 }];
    assert.deepEqual(await files.framesOf(name), { epochWord: WORD, ranges });
    through.set(WORD, 100);
    assert.deepEqual(await files.framesOf(name), { epochWord: WORD, ranges: [] });
  });
});

Deno.test("a former epoch counts as a whole, and by its own numbers", DISK, async () => {
  await inFolder(async (directory) => {
    await record(directory, { epoch: FORMER, ranges: [[1, 300]] });
    const former = journalFiles(directory);
    await record(directory, { ranges: [[1, 300]] });
    const all = journalFiles(directory);
    const unstored = async (through: [number, number][]) => {
      const files = await unstoredFiles(directory, new Map(through));
      return new Set(all).difference(await files.among(all));
    };
    assert.deepEqual(await unstored([[WORD, 300]]), new Set(all).difference(new Set(former)));
    assert.deepEqual(await unstored([[FORMER_WORD, Infinity]]), new Set(former));
    assert.deepEqual(await unstored([[WORD, 300], [FORMER_WORD, 300]]), new Set(all));
  });
});

Deno.test(
  "a file that cannot be read may have such frames, one of older software without an epoch has not",
  DISK,
  async () => {
    await inFolder(async (directory) => {
      await record(directory, { epoch: new Uint8Array(16), ranges: [[1, 50]] });
      const [old = ""] = journalFiles(directory);
      const damaged = "nmea2k-20200101T000000.000Z.lpj";
      Deno.writeTextFileSync(`${directory}/${damaged}`, "not a journal");
      const files = await unstoredFiles(directory, new Map());
      assert.deepEqual(await files.among([old, damaged]), new Set([damaged]));
      assert.deepEqual((await files.framesOf(damaged)).ranges, []);
    });
  },
);

Deno.test("a file that is completed during a check is not taken for stored", DISK, async () => {
  await inFolder(async (directory) => {
    await record(directory, { ranges: [[1, 300]] });
    const all = journalFiles(directory);
    let open = all.at(-1);
    const clock = new FakeClock();
    clock.advance(3_600_000);
    const retention = new JournalRetention({
      directory,
      instanceId: "boat",
      settings: { maxAgeMs: 1, softPercent: 80, overflow: "delete-unarchived", archive: "off" },
      unstored: await unstoredFiles(directory, new Map([[WORD, 1]])),
      isOpen: (name) => name === open,
      // In the middle of the check.
      diskSpace: () => {
        open = undefined;
        return Promise.resolve({ freeBytes: 1000, totalBytes: 1000 });
      },
      clock,
      log: silentLogger,
    });
    await retention.check();
    assert.equal(open, undefined);
    assert.deepEqual(journalFiles(directory), all);
    assert.equal(retention.status.kept, all.length - 1);
    await retention.check();
    assert.deepEqual([journalFiles(directory), retention.status.kept], [all, all.length]);
  });
});
