import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import {
  clockFile,
  type ClockSpan,
  ClockSpans,
  encodeSpans,
  epochWordOf,
  JournalIndex,
  readClockSpans,
  trueTimeOf,
} from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { framesOf } from "../support/journal_files.ts";
import { EPOCH, makeWriter } from "../support/journal_run.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const DISK = needs({ permissions: ["read", "write"] });
const EPOCH_WORD = epochWordOf(EPOCH);
const DAY_US = 86_400_000_000;

/** Frames of numbers, each a second after the one before; those of `wrong` are recorded in 1970. */
async function recordWrong(
  directory: string,
  { frames, wrong, rotateEvery }: { frames: number; wrong: readonly [number, number]; rotateEvery: number },
): Promise<void> {
  const { writer } = makeWriter(directory, { hasForeignTimes: true });
  for (let seq = 1; seq <= frames; seq++) {
    const isWrong = seq >= wrong[0] && seq <= wrong[1];
    writer.append(seq, message({ timeUs: trueOf(seq) - (isWrong ? START_US - DAY_US : 0) }));
    if (seq % rotateEvery === 0) await writer.rotate();
  }
  await writer.close();
}

const trueOf = (seq: number) => START_US + seq * 1_000_000;
const spanOf = ([firstSeq, lastSeq]: readonly [number, number | undefined]): ClockSpan => ({
  ...{ epochWord: EPOCH_WORD, firstSeq, lastSeq, recordedUs: DAY_US, trueUs: START_US, rate: 1 },
});

async function timesIn(index: JournalIndex, range: Parameters<JournalIndex["blocks"]>[0]): Promise<[number, number][]> {
  const found: [number, number][] = [];
  for await (const block of index.blocks(range)) {
    for (const { seq, timeUs } of framesOf(block)) {
      if (timeUs >= (range.fromUs ?? -Infinity) && timeUs <= (range.toUs ?? Infinity)) found.push([seq, timeUs]);
    }
  }
  return found;
}

Deno.test(
  "frames that were recorded with a wrong clock are found by their true time, also by readers that were open before",
  DISK,
  () =>
    inFolder(async (folder) => {
      const wrong = [250, 600] as const;
      await recordWrong(folder, { frames: 1000, wrong, rotateEvery: 100 });
      const clock = new ClockSpans();
      const index = await JournalIndex.open(folder, { log: silentLogger, clock });
      const random = new Random(1);
      const check = async () => {
        for (let round = 0; round < 50; round++) {
          const [from, to] = [random.int(1000), random.int(1000)].sort((a, b) => a - b) as [number, number];
          const found = await timesIn(index, { fromUs: trueOf(from), toUs: trueOf(to), isCorrected: true });
          const wanted = Array.from({ length: to - from + 1 }, (_, i): [number, number] => [from + i, trueOf(from + i)])
            .filter(([seq]) => seq > 0);
          assert.deepEqual(found, wanted);
        }
      };
      // Tables are read before they are corrected.
      assert.equal((await timesIn(index, { fromUs: trueOf(300), toUs: trueOf(500), isCorrected: true })).length, 0);
      const changed: string[][] = [];
      index.clock.onChange((paths) => changed.push(paths));
      clock.replace([spanOf(wrong)]);
      index.noteClock();
      assert.deepEqual(changed.map((paths) => paths.length), [4]);
      await check();
      const firstTimes = index.files.map(({ firstTimeUs }) => firstTimeUs);
      assert.deepEqual(firstTimes, firstTimes.toSorted((a, b) => a - b));
      index.noteClock();
      assert.equal(changed.length, 1, "what has not changed is not reported");
      const recorded = await timesIn(index, { fromSeq: 1 });
      assert.deepEqual(recorded[299], [300, trueOf(300) - START_US + DAY_US]);
      assert.equal(recorded.length, 1000);
    }),
);

Deno.test(
  "corrections are stored beside the journal, and a file of nonsense corrects nothing",
  DISK,
  () =>
    inFolder(async (folder) => {
      const log = silentLogger;
      assert.deepEqual((await readClockSpans(folder, { log })).all, []);
      const spans = [spanOf([1, 20]), { ...spanOf([30, undefined]), rate: 1.0002 }];
      await clockFile(folder).write(encodeSpans(spans));
      assert.deepEqual((await readClockSpans(folder, { log })).all, spans);
      for (const text of ["", "{}", '{"version":1,"spans":[{}]}', encodeSpans(spans).replace("1.0002", "17")]) {
        await clockFile(folder).write(text);
        assert.deepEqual((await readClockSpans(folder, { log })).all, [], text);
      }
    }),
);

Deno.test("a correction keeps the order of times, whatever the drift", () => {
  const random = new Random(2);
  for (let round = 0; round < 1000; round++) {
    const rate = 1 + (random.next() - 0.5) * 4e-4;
    const mapping = { recordedUs: random.int(2 ** 31) * 1000, trueUs: START_US, rate };
    const first = random.int(2 ** 31) * 1000;
    const second = first + random.int(2000);
    assert.ok(trueTimeOf(first, mapping) <= trueTimeOf(second, mapping));
  }
});
