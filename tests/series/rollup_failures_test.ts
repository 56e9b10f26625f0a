import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import type { Message } from "../../src/frame/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { keepWarnings, readLine, TestApi, TestJournal } from "../support/history.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { COARSE, FEW_FRAMES, journalFiles, openRollup, sidecars, WHOLE } from "../support/rollup.ts";
import { BUSES, checkRandomly, known, RECORDING, sensorTraffic } from "../support/series.ts";

const DISK = needs({ permissions: ["read", "write"] });
const SOME = { seed: 1, rounds: 2, buses: BUSES, points: COARSE };

/** Three ended files with hours of messages. */
async function recordFiles(folder: string, { seed = 1 } = {}): Promise<Message[]> {
  await using journal = await TestJournal.open(folder, RECORDING);
  const messages = sensorTraffic(new Random(seed), { count: 2400, everyMs: 6000 });
  for (let from = 0; from < messages.length; from += 800) {
    if (from > 0) await journal.writer.rotate();
    journal.append(1 + from, messages.slice(from, from + 800));
  }
  return messages;
}

const openIndex = (folder: string) => JournalIndex.open(folder, { log: silentLogger });
const sidecarOf = (path = "") => path.replace(/lpj$/, "lpr");

Deno.test(
  "a file whose sidecar always fails delays no other and is logged once",
  DISK,
  () =>
    inFolder(async (folder) => {
      const { log, warnings } = keepWarnings();
      const messages = await recordFiles(folder);
      const [oldest, , newest] = journalFiles(folder).map(sidecarOf);
      // Nobody, not even root, writes a file over a directory. The newest file is the first in turn.
      Deno.mkdirSync(newest ?? "");
      const index = await openIndex(folder);
      const rollup = openRollup(index, { log, retryMs: 5 });
      await eventually("the sidecars of other files", () => rollup.failures >= 1 && sidecars(folder).length === 3);
      const api = new TestApi({ index, rollup, buses: BUSES });
      await checkRandomly(api, known(messages), SOME);
      // Others that are rebuilt meanwhile do not make the fault a new one.
      for (let round = 1; round <= 3; round++) {
        const before = rollup.failures;
        // Its sidecar is missing: a request reports it, and it is rebuilt.
        Deno.removeSync(oldest ?? "");
        rollup.noteUnreadable((oldest ?? "").replace(/lpr$/, "lpj"), new Deno.errors.NotFound());
        await eventually("more attempts", () => rollup.failures >= before + 3);
        assert.match(rollup.fault ?? "", /directory/i);
      }
      assert.deepEqual(warnings.map((line) => readLine(line).path), [newest?.replace(/lpr$/, "lpj")]);
      Deno.removeSync(newest ?? "");
      await rollup.caughtUp();
      assert.equal(rollup.fault, undefined);
      const limited = new TestApi({ index, rollup, buses: BUSES, seriesLimits: { maxSeriesScan: FEW_FRAMES } });
      await limited.get(WHOLE);
      await rollup.stop();
    }),
);

for (
  const { why, isUnmounted, isLoaded } of [
    { why: "for a while", isUnmounted: false, isLoaded: true },
    { why: "at the start", isUnmounted: false, isLoaded: false },
    { why: "while its file system is not mounted", isUnmounted: true, isLoaded: true },
    { why: "while its file system is not mounted at the start", isUnmounted: true, isLoaded: false },
  ]
) {
  Deno.test(
    `a sidecar that cannot be read ${why} is kept, and its frames are read meanwhile`,
    DISK,
    () =>
      inFolder(async (folder) => {
        const messages = await recordFiles(folder);
        const mount = { isMissing: false };
        const index = await JournalIndex.open(folder, {
          log: silentLogger,
          isUnmounted: () => Promise.resolve(mount.isMissing),
        });
        const first = openRollup(index);
        await first.caughtUp();
        await first.stop();
        const { log, warnings } = keepWarnings();
        const rollup = openRollup(index, { log, retryMs: 5 });
        const limited = (maxSeriesScan: number) =>
          new TestApi({ index, rollup, buses: BUSES, seriesLimits: { maxSeriesScan } });
        const path = sidecars(folder)[1] ?? "";
        const { mtime } = Deno.statSync(path);
        if (isLoaded) {
          await rollup.caughtUp();
          await limited(1).get(WHOLE);
        }
        Deno.renameSync(path, `${path}.away`);
        mount.isMissing = isUnmounted;
        // Opening a link to itself fails, for root too, like reading a disk that fails.
        if (!isUnmounted) Deno.symlinkSync(path, path);
        const api = new TestApi({ index, rollup, buses: BUSES });
        await checkRandomly(api, known(messages), SOME);
        assert.equal((await limited(FEW_FRAMES).fetch(WHOLE)).status, 200);
        assert.equal((await limited(1).fetch(WHOLE)).status, 503);
        await eventually("a counted failure", () => rollup.failures > 0);
        assert.equal(warnings.length, 1);
        if (!isUnmounted) Deno.removeSync(path);
        mount.isMissing = false;
        Deno.renameSync(`${path}.away`, path);
        await rollup.caughtUp();
        await limited(1).get(WHOLE);
        assert.equal(rollup.fault, undefined);
        assert.deepEqual(Deno.statSync(path).mtime, mtime);
        await rollup.stop();
      }),
  );
}

Deno.test(
  "a journal file that is deleted while its sidecar is due is no fault, and leaves no sidecar",
  DISK,
  () =>
    inFolder(async (folder) => {
      await recordFiles(folder);
      const index = await openIndex(folder);
      const [oldest = "", , newest = ""] = journalFiles(folder);
      Deno.removeSync(newest);
      const rollup = openRollup(index, { retryMs: 5 });
      await rollup.caughtUp();
      assert.deepEqual([rollup.failures, rollup.fault], [0, undefined]);
      assert.equal(sidecars(folder).length, 2);
      await rollup.stop();
      // While buckets are in memory only: of the first block, the others are not full yet.
      const before = journalFiles(folder);
      await using journal = await TestJournal.open(folder, RECORDING);
      const second = openRollup(journal.index);
      journal.append(10_001, sensorTraffic(new Random(2), { count: 300, everyMs: 10 }));
      await eventually("a block in a file", () => journal.index.files.length > before.length);
      await second.caughtUp();
      const [written = ""] = journalFiles(folder).filter((path) => !before.includes(path));
      Deno.removeSync(written);
      journal.index.noteRemoved(written);
      await second.stop();
      assert.deepEqual([second.failures, sidecars(folder).includes(sidecarOf(written))], [0, false]);
      assert.ok(sidecars(folder).includes(sidecarOf(oldest)));
    }),
);

Deno.test(
  "no sidecar is written where another file system is mounted in place of the journal's",
  DISK,
  () =>
    inFolder(async (folder) => {
      await recordFiles(folder);
      const state = { isUnmounted: true };
      const index = await JournalIndex.open(folder, {
        log: silentLogger,
        isUnmounted: () => Promise.resolve(state.isUnmounted),
      });
      const rollup = openRollup(index, { retryMs: 5 });
      await eventually("failures", () => rollup.failures >= 3);
      assert.match(rollup.fault ?? "", /not mounted/);
      assert.deepEqual(sidecars(folder), []);
      state.isUnmounted = false;
      await rollup.caughtUp();
      assert.equal(sidecars(folder).length, 3);
      assert.equal(rollup.fault, undefined);
      await rollup.stop();
    }),
);

Deno.test(
  "when times are corrected, sidecars of other times are gone at once, before a crash can keep them; they are built again",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder, RECORDING);
      const messages = sensorTraffic(new Random(1), { count: 2000, everyMs: 6000 });
      const half = messages.length / 2;
      journal.append(1, messages.slice(0, half));
      await journal.writer.rotate();
      journal.append(half + 1, messages.slice(half));
      await journal.writer.rotate();
      const { index } = journal;
      const rollup = openRollup(index);
      await rollup.caughtUp();
      const [first, second] = index.files;
      assert.ok(first && second);
      assert.deepEqual(sidecars(folder), [first, second].map(({ path }) => sidecarOf(path)));
      const byUs = 12 * 3_600_000_000;
      const { epochWord, recordedUs } = second;
      const frames = { epochWord, firstSeq: half + 1, lastSeq: undefined };
      index.clock.spans.replace([{ ...frames, recordedUs, trueUs: recordedUs + byUs, rate: 1 }]);
      index.noteClock();
      assert.deepEqual(sidecars(folder), [sidecarOf(first.path)]);
      await rollup.caughtUp();
      assert.equal(sidecars(folder).length, 2);
      const later = messages.slice(half).map((each) => ({ ...each, timeUs: each.timeUs + byUs }));
      const api = new TestApi({ ...journal, rollup, buses: BUSES });
      await checkRandomly(api, known([...messages.slice(0, half), ...later]), { seed: 3, rounds: 10, buses: BUSES });
      await rollup.stop();
    }),
);
