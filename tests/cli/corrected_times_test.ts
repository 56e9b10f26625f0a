// A boat records with a clock that stands in 1970; the corrections beside its journal hold for whatever reads it.
import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { CLOCK_FILE, encodeSpans, JournalIndex } from "../../src/journal/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { rowsOf } from "../support/query.ts";

const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const FRAMES = 20;
const SQL = "SELECT count(*) AS n, epoch_us(min(time)) AS first, epoch_us(max(time)) AS last FROM vessel_heading";

/** Records a frame a second, from a minute after 1970 on, and stores that it was in truth from START_US on. */
async function recordIn1970(folder: string): Promise<string> {
  const clock = new FakeClock();
  clock.jump(60_000 - START_US / 1000);
  const directory = `${folder}/journal`;
  {
    await using boat = await TestBoat.start({ stateDirectory: folder, journal: journalIn(folder), clock });
    for (let i = 1; i <= FRAMES; i++) {
      clock.advance(1000);
      boat.say();
      await eventually("the message", () => boat.boat.broker.head === i);
    }
  }
  const { files: [file] } = await JournalIndex.open(directory, { log: silentLogger });
  assert.ok(file);
  assert.equal(file.firstTimeUs, 61_000_000);
  const frames = { epochWord: file.epochWord, firstSeq: 1, lastSeq: FRAMES };
  const spans = [{ ...frames, recordedUs: 60_000_000, trueUs: START_US, rate: 1 }];
  await Deno.writeTextFile(`${directory}/${CLOCK_FILE}`, encodeSpans(spans));
  return file.path;
}

function journalIn(folder: string) {
  return { directory: `${folder}/journal`, stateDirectory: folder };
}

/** The true time of a frame. */
const trueUs = (frame: number) => START_US + frame * 1_000_000;
const timeOf = (frame: number) => new Date(trueUs(frame) / 1000).toISOString();

Deno.test(
  "SQL over a directory, a file of it, and a server's journal has corrected times, and ranges are of these",
  RUN,
  () =>
    inFolder(async (folder) => {
      const path = await recordIn1970(folder);
      await using boat = await TestBoat.start({
        stateDirectory: folder,
        journal: journalIn(folder),
        clock: new FakeClock(),
      });
      for (const words of [[`${folder}/journal`], [`${folder}/journal/`], [path], ["-server", boat.url]]) {
        const day = ["-from", timeOf(1), "-to", timeOf(FRAMES)];
        assert.deepEqual(await rowsOf(SQL, ...words, ...day), [{ n: FRAMES, first: trueUs(1), last: trueUs(FRAMES) }]);
        const some = ["-from", timeOf(5), "-to", timeOf(9)];
        assert.deepEqual(await rowsOf(SQL, ...words, ...some), [{ n: 5, first: trueUs(5), last: trueUs(9) }]);
      }
    }),
);

Deno.test("a file of a journal is dumped with corrected times", RUN, () =>
  inFolder(async (folder) => {
    const { code, out, err } = await runCommand(["dump", await recordIn1970(folder), "-json"]);
    assert.deepEqual([code, err], [0, ""]);
    const times = out.trimEnd().split("\n").map((line) => JSON.parse(line).ts);
    assert.deepEqual(times, Array.from({ length: FRAMES }, (_, i) => timeOf(i + 1)));
  }));
