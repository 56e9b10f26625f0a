import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { type Message, newStoredFrame } from "../../src/frame/mod.ts";
import { TestJournal } from "../support/history.ts";
import { inFolder } from "../support/folder.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { ClockSteps } from "../../src/journal/writer/backlog.ts";
import { frameOf, makeWriter, readJournal } from "../support/journal_run.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { recover } from "../../src/journal/wal/recovery.ts";
import { FakeClock } from "../support/fake_clock.ts";

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

const BACKLOG = { maxBacklogBytes: 4 * 4096 };

Deno.test("clock steps: only a change of wall against monotonic time is one", () => {
  const steps = new ClockSteps();
  const at = (monoMs: number, setUs = 0) => steps.isStep(message({ monoMs, timeUs: START_US + monoMs * 1000 + setUs }));
  // Buses interleave, one of them a minute late.
  for (const monoMs of [0, 100, 50, 60_000, 1, 59_999, 2]) assert.equal(at(monoMs), false);
  // Slowed down or made faster by little steps.
  for (let i = 1; i <= 20; i++) assert.equal(at(i, i * 900_000), false);
  assert.equal(at(30, 20 * 900_000 - 1_000_001), true, "set back");
  assert.equal(at(30, 20 * 900_000 - 1_000_001), false, "runs on from there");
  assert.equal(at(30, 3_600_000_000), true, "set forward");
});

Deno.test(
  "a backlog that is full names why: a slow disk, or blocks that ended early",
  DISK,
  () =>
    inFolder(async (folder) => {
      const full = makeWriter(folder, BACKLOG);
      for (let seq = 1; full.writer.lost === 0; seq++) full.writer.append(seq, frameOf(seq));
      assert.match(
        full.lines.join(),
        /backlog is full: 4 blocks wait to be written, the disk is slower than the frames/,
      );
      await full.writer.close();

      const stepped = makeWriter(folder, BACKLOG);
      for (let seq = 1; stepped.writer.lost === 0; seq++) {
        stepped.writer.append(seq, frameOf(seq, { timeUs: START_US + seq * 1000 + (seq % 2) * 3_600_000_000 }));
      }
      assert.match(stepped.lines.join(), /4 blocks wait to be written, 4 of them ended early: clock step/);
      await stepped.writer.close();
    }),
);

Deno.test(
  "who can wait for the journal is told when there is capacity, and loses nothing",
  DISK,
  () =>
    inFolder(async (folder) => {
      const { writer } = makeWriter(folder, BACKLOG);
      for (let seq = 1; seq <= 3000; seq++) {
        for (let waiting = writer.ready(); waiting; waiting = writer.ready()) await waiting;
        writer.append(seq, frameOf(seq));
      }
      assert.equal(writer.lost, 0);
      await writer.close();
      assert.equal(readJournal(folder).frames.length, 3000);
    }),
);

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
