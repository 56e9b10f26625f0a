import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { BackfillFiles } from "../../src/cloud/files/backfill_files.ts";
import { BlockBuilder, compress, JournalIndex, readMemoryBlock, recover } from "../../src/journal/mod.ts";
import { pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { keepWarnings, TestApi, TestJournal } from "../support/history.ts";
import { message } from "../support/messages.ts";
import { needs, rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { COARSE, FEW_FRAMES, openRollup, PGNS, sidecars, WHOLE } from "../support/rollup.ts";
import {
  BUSES,
  checkRandomly,
  childTraffic,
  known,
  RECORDING,
  sensorTraffic,
  type SeriesReply,
  TESTED_FIELDS,
} from "../support/series.ts";

const CHILD = new URL("../support/series_child.ts", import.meta.url).pathname;
const EPOCH = new Uint8Array(16).fill(7);
const RUN = needs({ permissions: ["read", "write", "run"] });
const DISK = needs({ permissions: ["read", "write"] });

/** Hours of messages in three files; the newest are not on disk yet. */
async function recordHours(journal: TestJournal, { count = 2400, seed = 1 } = {}): Promise<Message[]> {
  const messages = sensorTraffic(new Random(seed), { count, everyMs: 6000 });
  const third = Math.floor(count / 3);
  let seq = 1;
  for (const part of [messages.slice(0, third), messages.slice(third, 2 * third), messages.slice(2 * third)]) {
    if (seq > 1) await journal.writer.rotate();
    seq = journal.append(seq, part);
  }
  await journal.writer.sync();
  return messages;
}

Deno.test(
  "series from sidecars are those of the frames, while blocks are written and after a restart",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder, RECORDING);
      const rollup = openRollup(journal.index);
      const recorded = known(await recordHours(journal));
      await rollup.caughtUp();
      const live = new TestApi({ ...journal, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: FEW_FRAMES } });
      await live.get(WHOLE);
      const few = { seed: 5, rounds: rounds(300, 20), buses: BUSES, points: COARSE };
      const unlimited = new TestApi({ ...journal, rollup, buses: BUSES });
      await checkRandomly(unlimited, recorded, few);
      await rollup.stop();
      await journal.writer.close();
      assert.equal(sidecars(folder).length, 3);

      const index = await JournalIndex.open(folder, { log: silentLogger });
      const second = openRollup(index);
      await second.caughtUp();
      const api = new TestApi({ index, rollup: second, buses: BUSES, seriesLimits: { maxSeriesScan: FEW_FRAMES } });
      await api.get(WHOLE);
      await checkRandomly(new TestApi({ index, rollup: second, buses: BUSES }), recorded, { ...few, seed: 6 });
      await second.stop();
    }),
);

Deno.test(
  "a sidecar that is missing, damaged, cut short or of other settings is rebuilt",
  DISK,
  () =>
    inFolder(async (folder) => {
      const recorded = await (async () => {
        await using journal = await TestJournal.open(folder, RECORDING);
        return known(await recordHours(journal, { count: 1500 }));
      })();
      const index = await JournalIndex.open(folder, { log: silentLogger });
      const first = openRollup(index);
      await first.caughtUp();
      await first.stop();
      const good = sidecars(folder).map((path) => Deno.readFileSync(path));
      const random = new Random(9);
      const spoil = (path: string, bytes: Uint8Array<ArrayBuffer>) => {
        const at = random.int(bytes.length);
        switch (random.int(5)) {
          case 0:
            return Deno.removeSync(path);
          case 1:
            return Deno.writeFileSync(path, bytes.subarray(0, at));
          case 2:
            return Deno.writeFileSync(path, bytes.map((byte, i) => i === at ? byte ^ 0x10 : byte));
          case 3:
            return Deno.writeFileSync(path, bytes.map((byte, i) => i > at ? 0 : byte));
          default:
            return Deno.writeFileSync(path, random.bytes(at));
        }
      };
      for (let round = 0; round < rounds(40, 5); round++) {
        for (const [i, path] of sidecars(folder).entries()) spoil(path, good[i]!);
        const rollup = openRollup(index, round % 4 === 3 ? { pgns: PGNS.slice(1) } : {});
        const api = new TestApi({ index, rollup, buses: BUSES });
        // At once, and after it was rebuilt.
        const some = { rounds: 2, buses: BUSES, points: COARSE };
        await checkRandomly(api, recorded, { ...some, seed: 100 + round });
        await rollup.caughtUp();
        await checkRandomly(api, recorded, { ...some, seed: 200 + round });
        await rollup.caughtUp();
        if (round % 4 < 3) {
          const limited = new TestApi({ index, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: FEW_FRAMES } });
          await limited.get(WHOLE);
          assert.equal(rollup.failures, 0);
        }
        await rollup.stop();
      }
    }),
);

Deno.test("a byte that changes anywhere in a sidecar changes no series", DISK, () =>
  inFolder(async (folder) => {
    {
      await using journal = await TestJournal.open(folder, RECORDING);
      journal.append(1, sensorTraffic(new Random(6), { count: 600, everyMs: 6000 }));
    }
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const path = `/series?${Object.keys(TESTED_FIELDS).map((field) => `field=${field}`).join("&")}` +
      "&from=2026-01-02T00:00:00Z&to=2026-01-03T00:00:00Z&points=50";
    const first = openRollup(index);
    await first.caughtUp();
    const expected = await new TestApi({ index, rollup: first, buses: BUSES }).get(path);
    await first.stop();
    const [sidecar = ""] = sidecars(folder);
    const good = Deno.readFileSync(sidecar);
    const count = rounds(1000, 40);
    for (let round = 0; round < count; round++) {
      const at = Math.floor(good.length * round / count);
      Deno.writeFileSync(sidecar, good.map((byte, i) => i === at ? byte ^ (1 << round % 8) : byte));
      const rollup = openRollup(index);
      // From the frames or from rebuilt buckets: sums may differ in their last digit.
      await new TestApi({ index, rollup, buses: BUSES }).get(path);
      await rollup.caughtUp();
      const limited = new TestApi({ index, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: 100 } });
      assert.deepEqual(await limited.get(path), expected, `byte ${at}`);
      await rollup.stop();
      assert.deepEqual(Deno.readFileSync(sidecar), good, `byte ${at}`);
    }
  }));

Deno.test("the last value of a bucket is the latest, whichever file it is in", DISK, () =>
  inFolder(async (folder) => {
    const startUs = Date.UTC(2026, 0, 2, 3, 4) * 1000;
    const messages = Array.from({ length: 30 }, (_, i) =>
      message({ pgn: 128267, data: [1, i, 0, 0, 0, 0, 0, 1], timeUs: startUs + i * 1_000_000 }));
    await using journal = await TestJournal.open(folder, RECORDING);
    const { index } = journal;
    const rollup = openRollup(index);
    journal.append(11, messages.slice(10, 20));
    await journal.writer.rotate();
    const backfills = [20, 0].map((from) => ({ from, files: backfillInto(folder, index) }));
    for (const { from, files } of backfills) {
      await files.write([blockOf(messages.slice(from, from + 10), from + 1)], EPOCH);
    }
    for (const { files } of backfills) {
      await files.end();
    }
    // In memory, then on disk.
    for (const isFirst of [true, false]) {
      const each = isFirst ? rollup : openRollup(index);
      await each.caughtUp();
      const api = new TestApi({ index, rollup: each, buses: BUSES, seriesLimits: { maxSeriesScan: 1 } });
      const path = "/series?field=128267.depth&from=2026-01-02T03:04:00Z&to=2026-01-02T03:04:29.999Z&points=1";
      const { series: [depth] } = await api.get<SeriesReply>(path);
      assert.deepEqual([depth?.count, depth?.last, depth?.min, depth?.max], [[30], [0.29], [0], [0.29]]);
      await each.stop();
    }
  }));

/** Files for a backfill whose blocks are reported to the index. */
function backfillInto(directory: string, index: JournalIndex): BackfillFiles {
  return new BackfillFiles({
    ...{ directory, index, log: silentLogger, compression: "zstd" },
    onWritten: index.noteWritten.bind(index),
    isPaused: () => false,
    clock: { wallUs: () => Date.now() * 1000 },
  });
}

Deno.test("the sidecar of another file of the same name is not used", DISK, () =>
  inFolder(async (folder) => {
    const write = async (seed: number) => {
      await using journal = await TestJournal.open(folder, RECORDING);
      const messages = sensorTraffic(new Random(seed), { count: 900, everyMs: 6000 });
      journal.append(1 + seed, messages);
      return messages;
    };
    await write(1);
    const first = openRollup(await JournalIndex.open(folder, { log: silentLogger }));
    await first.caughtUp();
    await first.stop();
    const [sidecar = ""] = sidecars(folder);
    const lpj = sidecar.replace(/lpr$/, "lpj");
    Deno.removeSync(lpj);
    const messages = await write(2);
    const [file] = [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".lpj"));
    Deno.renameSync(`${folder}/${file?.name}`, lpj);
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const rollup = openRollup(index);
    const api = new TestApi({ index, rollup, buses: BUSES });
    const some = { rounds: 3, buses: BUSES, points: COARSE };
    await checkRandomly(api, known(messages), { ...some, seed: 1 });
    await rollup.caughtUp();
    await checkRandomly(api, known(messages), { ...some, seed: 2 });
    await rollup.stop();
  }));

Deno.test(
  "a sidecar that cannot be written costs no frame, and is written as soon as possible",
  DISK,
  () =>
    inFolder(async (folder) => {
      const { log, warnings } = keepWarnings();
      await using journal = await TestJournal.open(folder, RECORDING);
      const messages = sensorTraffic(new Random(3), { count: 2000, everyMs: 6000 });
      journal.append(1, messages);
      await journal.writer.rotate();
      const [name = ""] = [...Deno.readDirSync(folder)].map((each) => each.name).filter((each) =>
        each.endsWith(".lpj")
      );
      const path = `${folder}/${name.replace(/lpj$/, "lpr")}`;
      // Nobody, not even root, writes a file over a directory.
      Deno.mkdirSync(path);
      const rollup = openRollup(journal.index, { log, retryMs: 5 });
      const api = new TestApi({ ...journal, rollup, buses: BUSES });
      while (rollup.failures < 3) await new Promise((resolve) => setTimeout(resolve, 5));
      assert.match(rollup.fault ?? "", /\.lpr|directory/i);
      assert.equal(warnings.length, 1);
      await checkRandomly(api, known(messages), { seed: 1, rounds: 2, buses: BUSES, points: COARSE });
      journal.append(2001, messages);
      await journal.writer.sync();
      assert.equal(journal.writer.lost, 0);
      Deno.removeSync(path);
      await rollup.caughtUp();
      assert.equal(rollup.fault, undefined);
      assert.ok(Deno.statSync(path).isFile);
      await rollup.stop();
    }),
);

Deno.test("frames that two files hold count once", DISK, () =>
  inFolder(async (folder) => {
    const messages = sensorTraffic(new Random(4), { count: 2400, everyMs: 6000 });
    for (const [from, to] of [[0, 1500], [1000, 2000], [1800, 2400], [300, 900]] as const) {
      await using journal = await TestJournal.open(folder, RECORDING);
      journal.append(1 + from, messages.slice(from, to));
    }
    const index = await JournalIndex.open(folder, { log: silentLogger });
    const rollup = openRollup(index);
    await rollup.caughtUp();
    const api = new TestApi({ index, rollup, buses: BUSES });
    await checkRandomly(api, known(messages), { seed: 3, rounds: rounds(200, 12), buses: BUSES, points: COARSE });
    await rollup.stop();
  }));

Deno.test(
  "blocks that a cloud gets later, newest first, are in the series at once and in the sidecars",
  DISK,
  () =>
    inFolder(async (folder) => {
      const messages = sensorTraffic(new Random(5), { count: 2000, everyMs: 6000 });
      await using journal = await TestJournal.open(folder, RECORDING);
      const { index } = journal;
      const rollup = openRollup(index);
      journal.append(1201, messages.slice(1200));
      await journal.writer.sync();
      const api = new TestApi({ index, rollup, buses: BUSES });
      const limited = new TestApi({ index, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: FEW_FRAMES } });
      const received = messages.map((_, i) => i >= 1200);
      // Two backfills at once, newest hole first; each has a file of its own.
      const backfills = [0, 1].map(() => backfillInto(folder, index));
      for (const [i, from] of [1100, 1000, 800, 900, 600, 700, 100, 400, 0].entries()) {
        const block = blockOf(messages.slice(from, from + 100), from + 1);
        await backfills[i % 2]!.write([block], EPOCH);
        received.fill(true, from, from + 100);
        if (i % 2 === 0) await rollup.caughtUp();
        const recorded = known(messages.filter((_, at) => received[at]));
        await checkRandomly(api, recorded, { seed: 10 + i, rounds: 1, buses: BUSES, points: COARSE });
      }
      await rollup.caughtUp();
      await limited.get(WHOLE);
      for (const each of backfills) await each.end();
      await rollup.stop();
      assert.equal(sidecars(folder).length, 3);
      assert.equal(rollup.failures, 0);
    }),
);

/** A block as a boat sends it, checked. */
function blockOf(messages: readonly Message[], firstSeq: number) {
  const builder = new BlockBuilder({ blockBytes: 16_384 });
  builder.begin({ devices: RECORDING.devices(), metadata: { buses: BUSES, epoch: EPOCH } });
  messages.forEach((each, i) => builder.append(firstSeq + i, each));
  const { firstTimeUs, latestTimeUs } = builder;
  const bytes = builder.finish();
  const seqs = { start: firstSeq, end: firstSeq + messages.length };
  return { block: readMemoryBlock(bytes), bytes, seqs, firstTimeUs, latestTimeUs, packed: compress(bytes, "zstd") };
}

Deno.test({
  name: "killed at any moment, series are those of the recorded frames, and sidecars are completed",
  ...RUN,
  fn: () =>
    inFolder(async (folder) => {
      const random = new Random(17);
      const messages = childTraffic(new Random(1));
      let lastSeq = 0;
      for (let round = 0; round < rounds(20, 3); round++) {
        const child = new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", "--no-check", "--quiet", CHILD, folder, "1", String(lastSeq + 1)],
          stdout: "piped",
        }).spawn();
        const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
        assert.equal((await output.read()).value, "recording\n");
        await pause(random.int(400));
        child.kill("SIGKILL");
        await child.status;
        assert.equal((await output.read()).value, undefined, "no sidecar has failed");
        ({ lastSeq } = await recover({ directory: folder, log: silentLogger }));
        const index = await JournalIndex.open(folder, { log: silentLogger });
        const rollup = openRollup(index);
        const api = new TestApi({ index, rollup, buses: BUSES });
        const recorded = known(messages.slice(0, lastSeq));
        if (recorded.length > 0) {
          await checkRandomly(api, recorded, { seed: round, rounds: 2, buses: BUSES, points: COARSE });
          await rollup.caughtUp();
          await checkRandomly(api, recorded, { seed: 50 + round, rounds: 2, buses: BUSES, points: COARSE });
        }
        assert.equal(rollup.failures, 0);
        await rollup.stop();
      }
      assert.ok(lastSeq > 100 && sidecars(folder).length > 0, `${lastSeq} frames`);
    }),
});
