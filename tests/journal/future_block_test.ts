import assert from "node:assert/strict";
import { JournalIndex } from "../../src/journal/mod.ts";
import { recover } from "../../src/journal/wal/recovery.ts";
import { silentLogger } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { message } from "../support/messages.ts";
import { needs } from "../support/needs.ts";

const DISK = needs({ permissions: ["read", "write"] });
const DAYS = 86_400_000;

function at(clock: FakeClock, year?: number): Message {
  const timeUs = year === undefined ? clock.wallUs() : Date.UTC(year, 5, 1) * 1000;
  return { ...message({ monoMs: clock.monoMs() }), timeUs };
}

Deno.test(
  "a block of the year 2252 dates no file, and the order of files stays that of their numbers",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      let seq = 1;
      let newestFile: string | undefined;
      // Each round is a file: right, wrong, right again.
      for (const year of [undefined, 2252, undefined, 2252, 2040, undefined]) {
        await using journal = await TestJournal.open(folder, { clock, newestFile });
        seq = journal.append(seq, [at(clock, year), at(clock, year)]);
        await journal.writer.close();
        newestFile = (await recover({ directory: folder, log: silentLogger })).newestFile;
        clock.advance(3 * DAYS);
      }
      const names = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".lpj"))
        .toSorted();
      assert.equal(names.length, 6);
      assert.ok(names.every((name) => name.startsWith("nmea2k-2026")), names.join(" "));
      const index = await JournalIndex.open(folder, { log: silentLogger });
      const found: (number | undefined)[] = [];
      for await (const block of index.blocks({ fromSeq: 1 })) found.push(block.baseSeq);
      assert.deepEqual(found, [1, 3, 5, 7, 9, 11]);
      assert.equal((await recover({ directory: folder, log: silentLogger })).lastSeq, 12);
    }),
);
