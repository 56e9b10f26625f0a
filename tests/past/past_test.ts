import assert from "node:assert/strict";
import { pathExists, silentLogger } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { Journal, tablesOf } from "../../src/journal/mod.ts";
import { removeJournalFile } from "../../src/journal/retention/listing.ts";
import { FrameClock } from "../../src/past/mod.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { journalFiles, makeWriter } from "../support/journal_run.ts";
import { message, START_US } from "../support/messages.ts";
import { IS_FULL, needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { range } from "../support/session.ts";
import { BUSES, IDLE_MS, openPast, pastOf, reader, recordRuns, type Shown, shownOf, traffic } from "./past_fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });

/** What the past shows at the instants of `wanted`. */
async function shownAgain(directory: string, wanted: readonly Shown[]): Promise<Shown[]> {
  const past = await openPast(directory);
  const found: Shown[] = [];
  for (const { timeUs } of wanted) {
    const tables = await past.at(timeUs, reader);
    assert.ok(tables);
    found.push(shownOf(tables.broker, { timeUs, isCounted: tables.isWhole }));
  }
  await past.stop();
  return found;
}

/** In full, 1000 instants. */
const INSTANTS = IS_FULL ? 1100 : 250;

Deno.test(
  "devices and values at random instants are what the server showed, over restarts, silent devices and changed addresses",
  DISK,
  () =>
    inFolder(async (folder) => {
      const wanted = await recordRuns(folder, { seed: 1, runs: 4, frames: 12_000, instants: INSTANTS });
      assert.ok(wanted.length > 0.6 * INSTANTS);
      const found = await shownAgain(folder, wanted);
      for (const [at, each] of wanted.entries()) assert.deepEqual(found[at], each);
    }),
);

Deno.test(
  "tables that are stored beside the files give the same, are made again when damaged, and go with their file",
  DISK,
  () =>
    inFolder(async (folder) => {
      const wanted = await recordRuns(folder, { seed: 2, runs: 2, frames: 5000, instants: 100 });
      const past = await openPast(folder, { framesBetweenTables: 1000 });
      await past.caughtUp();
      await past.stop();
      const files = journalFiles(folder);
      const stored: string[] = [];
      for (const name of files) if (await pathExists(`${folder}/${tablesOf(name)}`)) stored.push(name);
      assert.ok(stored.length >= 3);
      assert.deepEqual(await shownAgain(folder, wanted), wanted);
      for (const [at, name] of stored.entries()) {
        const path = `${folder}/${tablesOf(name)}`;
        const bytes = await Deno.readFile(path);
        await Deno.writeFile(path, at % 2 === 0 ? bytes.subarray(0, bytes.length / 2) : new Uint8Array(100));
      }
      assert.deepEqual(await shownAgain(folder, wanted), wanted);
      await removeJournalFile(folder, stored[0]!);
      await assert.rejects(Deno.stat(`${folder}/${tablesOf(stored[0]!)}`), Deno.errors.NotFound);
    }),
);

Deno.test(
  "after missing frames the devices come from the block, and their counters are not known until the next start",
  DISK,
  () =>
    inFolder(async (folder) => {
      const wanted = await recordRuns(folder, { seed: 3, runs: 2, frames: 4000, instants: 60 });
      const [, second = ""] = journalFiles(folder);
      await Deno.remove(`${folder}/${second}`);
      const past = await openPast(folder);
      let [unknown, known] = [0, 0];
      for (const { timeUs, devices } of wanted) {
        const tables = await past.at(timeUs, reader);
        assert.ok(tables);
        const found = shownOf(tables.broker, { timeUs, isCounted: tables.isWhole });
        if (tables.isWhole) {
          known++;
          assert.deepEqual(found.devices, devices);
        } else unknown++;
      }
      await past.stop();
      assert.ok(known > 20 && unknown > 10, `${known} ${unknown}`);
      assert.equal(await (await openPast(folder)).at(START_US - 1, reader), undefined);
    }),
);

Deno.test(
  "in a cloud nothing is forgotten at a restart of the boat, and a silent boat keeps its devices",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const live = new Broker({ buses: BUSES, ringFrames: 16 });
      const time = new FrameClock({ maxStepMs: IDLE_MS / 2 });
      let seq = 0;
      const random = new Random(4);
      for (let run = 0; run < 3; run++) {
        const { writer } = makeWriter(folder, { buses: BUSES, bootId: random.bytes(16), clock });
        for (const each of traffic(random, { clock, frames: 1500 })) {
          const monoMs = time.advance(each.timeUs / 1000);
          live.registry.expire(monoMs, IDLE_MS);
          live.updateTables(++seq, { ...each, monoMs });
          writer.append(seq, each);
        }
        await writer.close();
        clock.advance(3_600_000);
      }
      const past = await openPast(folder, { forgets: "epoch" });
      const tables = await past.at(clock.wallUs(), reader);
      assert.ok(tables?.isWhole);
      assert.deepEqual(shownOf(tables.broker, { timeUs: 0 }), shownOf(live, { timeUs: 0 }));
      await past.stop();
    }),
);

Deno.test(
  "while a journal is written its newest frames are in what is shown now",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const options = { directory: `${folder}/journal`, stateDirectory: `${folder}/state`, buses: BUSES };
      const journal = await Journal.open({ ...options, bootId: new Uint8Array(16), clock, log: silentLogger });
      const past = pastOf(journal.index);
      for (let seq = 1; seq <= 3; seq++) {
        clock.advance(1000);
        journal.append(journal.next(), message({ src: seq, timeUs: clock.wallUs(), monoMs: clock.monoMs() }));
        const tables = await past.at(clock.wallUs(), reader);
        assert.deepEqual([...tables?.broker.registry ?? []].map(({ src }) => src), range(1, seq));
      }
      await past.stop();
      await journal.close();
    }),
);
