import assert from "node:assert/strict";
import { BackgroundTurns, silentLogger } from "../../src/base/mod.ts";
import { Decoder } from "../../src/broker/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi, TestJournal } from "../support/history.ts";
import { message, START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { openRollup, sidecars } from "../support/rollup.ts";
import { BUSES, RECORDING, type SeriesReply } from "../support/series.ts";

const DISK = needs({ permissions: ["read", "write"] });
const MINUTE_US = 60_000_000;

/** A message of one of many batteries: 100 devices with 100 batteries each. */
function battery(number: number, { atUs }: { atUs: number }): Message {
  const data = [number % 100, 0xb0, 0x04, 0x0a, 0, 0xff, 0xff, 1];
  const time = { timeUs: START_US + atUs, monoMs: atUs / 1000 };
  return message({ pgn: 127508, src: Math.floor(number / 100), data, ...time });
}

const ALL = "/series?field=127508.voltage&from=2026-01-01T00:00:00Z&to=2026-01-04T00:00:00Z";

/** Number of values in the reply for all batteries, as a whole. */
async function countOf(api: TestApi): Promise<number> {
  const { series } = await api.get<SeriesReply>(`${ALL}&points=1`);
  return series.flatMap(({ count }) => count).reduce((sum, count) => sum + count, 0);
}

Deno.test(
  "a file with more series than a part of its sidecar holds has them in several parts",
  DISK,
  () =>
    inFolder(async (folder) => {
      const sensors = 5200;
      const messages = Array.from({ length: 2 * sensors }, (_, i) => battery(i % sensors, { atUs: i * 1000 }));
      await using journal = await TestJournal.open(folder, { ...RECORDING, blockBytes: 16_384 });
      journal.append(1, messages);
      await journal.writer.rotate();
      const rollup = openRollup(journal.index, { pgns: [127508] });
      await rollup.caughtUp();
      assert.equal(await countOf(new TestApi({ ...journal, rollup, buses: BUSES })), messages.length);
      assert.equal(rollup.failures, 0);
      const api = new TestApi({ ...journal, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: 1 } });
      assert.equal(await countOf(api), messages.length);
      await rollup.stop();
    }),
);

Deno.test(
  "frames of a block with more series than a part of a sidecar holds count once",
  DISK,
  () =>
    inFolder(async (folder) => {
      const sensors = 6000;
      const few = (from: number) => Array.from({ length: 500 }, (_, i) => battery(i % 3, { atUs: from + i * 1000 }));
      const messages = [
        ...few(0),
        ...Array.from({ length: sensors }, (_, i) => battery(i, { atUs: MINUTE_US + i * 1000 })),
        ...few(5 * MINUTE_US),
      ];
      await using journal = await TestJournal.open(folder, { ...RECORDING, blockBytes: 1_048_576 });
      journal.append(1, messages.slice(0, 500));
      // A gap in the numbers ends a block.
      journal.append(1001, messages.slice(500, 500 + sensors));
      journal.append(10_001, messages.slice(500 + sensors));
      await journal.writer.rotate();
      for (const _ of ["first", "restarted"]) {
        const index = await JournalIndex.open(folder, { log: silentLogger });
        const rollup = openRollup(index, { pgns: [127508] });
        await rollup.caughtUp();
        assert.equal(await countOf(new TestApi({ index, rollup, buses: BUSES })), messages.length);
        const few = new TestApi({ index, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: 100 } });
        await assert.rejects(countOf(few), /frames would have to be read/);
        await rollup.stop();
        assert.equal(await countOf(new TestApi({ index, rollup, buses: BUSES })), messages.length);
      }
    }),
);

Deno.test(
  "buckets of a file that is being written go to disk before they need much memory",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder, { ...RECORDING, blockBytes: 16_384 });
      const sensors = 200;
      // A bucket for each of its fields.
      const messages = Array.from(
        { length: 20_000 },
        (_, i) => battery(i % sensors, { atUs: Math.floor(i / sensors) * MINUTE_US }),
      );
      const rollup = openRollup(journal.index, { pgns: [127508] });
      journal.append(1, messages);
      await journal.writer.sync();
      await rollup.caughtUp();
      assert.equal(sidecars(folder).length, 1);
      assert.equal(await countOf(new TestApi({ ...journal, rollup, buses: BUSES })), messages.length);
      await rollup.stop();
    }),
);

Deno.test("frames at the ends of a range count toward the limit", DISK, () =>
  inFolder(async (folder) => {
    await using journal = await TestJournal.open(folder, RECORDING);
    // In the half minute at which the range begins, which no bucket of a sidecar answers.
    const messages = Array.from({ length: 2000 }, (_, i) => battery(i % 3, { atUs: i * 1000 }));
    journal.append(1, [...messages, battery(1, { atUs: 10 * MINUTE_US })]);
    await journal.writer.rotate();
    const rollup = openRollup(journal.index);
    await rollup.caughtUp();
    const path = "/series?field=127508.voltage&from=2026-01-02T03:04:05Z&to=2026-01-02T03:20:00Z&points=1";
    const api = (maxSeriesScan: number) =>
      new TestApi({ ...journal, rollup, buses: BUSES, seriesLimits: { maxSeriesScan } });
    assert.deepEqual((await api(3000).get<SeriesReply>(path)).series.length, 3);
    const refused = await api(1000).fetch(path);
    assert.equal(refused.status, 400);
    assert.match(await refused.text(), /frames would have to be read, of at most 1000/);
    await rollup.stop();
  }));

Deno.test(
  "of the journals that share a turn one builds sidecars at a time, also after one has stopped waiting",
  DISK,
  () =>
    inFolder(async (folder) => {
      const turns = new BackgroundTurns();
      // Which journal decoded a frame, without repetitions.
      const order: number[] = [];
      const rollups = await Promise.all(Array.from({ length: 6 }, async (_, i) => {
        const directory = `${folder}/${i}`;
        Deno.mkdirSync(directory);
        {
          await using journal = await TestJournal.open(directory, RECORDING);
          journal.append(1, Array.from({ length: 3000 }, (_, at) => battery(at % 3, { atUs: at * 1000 })));
        }
        const decoder = new Decoder();
        const decode = (pgn: number, payload: Uint8Array) => {
          if (order.at(-1) !== i) order.push(i);
          return decoder.decode(pgn, payload);
        };
        const index = await JournalIndex.open(directory, { log: silentLogger });
        return { open: () => openRollup(index, { pgns: [127508], decoder: { decode }, turns }) };
      }));
      const opened = rollups.map(({ open }) => open());
      await opened[3]?.stop();
      for (const [i, rollup] of opened.entries()) if (i !== 3) await rollup.caughtUp();
      assert.deepEqual(order, [0, 1, 2, 4, 5]);
      for (const rollup of opened) await rollup.stop();
      const again = rollups[3]?.open();
      await again?.caughtUp();
      await again?.stop();
      assert.deepEqual(order, [0, 1, 2, 4, 5, 3]);
    }),
);
