import assert from "node:assert/strict";
import type { VoyagesReply } from "../../src/client/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { runCommand } from "../support/command.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { assertAlmostEqual } from "../voyages/almost_equal.ts";
import { messagesOfSamples } from "../voyages/frames_of.ts";
import { PassageMaker } from "../voyages/passage.ts";
import { START_MS } from "../voyages/passages.ts";

const FILES = needs({ permissions: ["env", "read", "sys", "write"] });
const SERVER = needs({ permissions: ["env", "net", "read", "sys", "write"] });
const HOUR = 3600;
const STILL = { whiteM: 0, slowM: 0, speedMps: 0, outliers: 0 };

/** A journal of a trip of half an hour, with 6 kn and the engine, between two stays. */
function withTrip(test: (folder: string) => Promise<void>): Promise<void> {
  return inFolder(async (folder) => {
    const boat = new PassageMaker(new Random(1), { startMs: START_MS, receiver: STILL });
    boat.berth(0.7 * HOUR).go(0.5 * HOUR, { knots: 6, engine: true, rampS: 1 }).stop(5).berth(0.7 * HOUR);
    await Deno.mkdir(`${folder}/journal`);
    await using journal = await TestJournal.open(`${folder}/journal`, { blockBytes: 16_384 });
    journal.append(1, messagesOfSamples(boat.samples));
    await journal.writer.rotate();
    await journal.writer.close();
    assert.equal(journal.writer.lost, 0);
    await test(folder);
  });
}

/** Positions and times of the points of a track. */
function pointsOf(gpx: string): unknown[] {
  return Array.from(
    gpx.matchAll(/<trkpt lat="(.*?)" lon="(.*?)"><time>(.*?)</g),
    ([, latitude, longitude, time]) => [Number(latitude), Number(longitude), time],
  );
}

const TABLE = [
  /^START +LASTED +STATE +NM +AVG +MAX +ENGINE +FUEL +WIND$/,
  /^2026-07-01 06:00 +0:42 +in port$/,
  /^2026-07-01 06:42 +0:30 +under way +3\.0 +6\.0 +6\.0 +0\.5 +2\.0 +\d+\/\d+ T$/,
  /^2026-07-01 07:12 +0:42 +in port$/,
];

function checkTable(out: string): void {
  const lines = out.trimEnd().split("\n");
  assert.equal(lines.length, TABLE.length, out);
  for (const [i, expected] of TABLE.entries()) assert.match(lines[i]!, expected);
}

Deno.test(
  "vbg voyages prints the voyages of a journal and the stays between them as a table, or as JSON",
  FILES,
  () =>
    withTrip(async (folder) => {
      const table = await runCommand(["voyages", `${folder}/journal`], { columns: 80 });
      assert.deepEqual([table.code, table.err], [0, ""]);
      checkTable(table.out);
      const wide = await runCommand(["voyages", `${folder}/journal`], { columns: 140 });
      assert.match(wide.out, /FROM +TO\n/);
      assert.match(wide.out, /under way .* T {2}54°24\.000′N 010°12\.000′E {2}54°21\.9\d\d′N 010°08\.3\d\d′E\n/);
      const { out } = await runCommand(["voyages", `${folder}/journal`, "-format", "json"]);
      const { voyages: [voyage, ...others], stays } = JSON.parse(out) as VoyagesReply;
      assert.equal(others.length, 0);
      assert.ok(Math.abs(voyage!.distance_m - 3 * 1852) < 60 && voyage!.is_complete);
      assert.deepEqual(stays.map(({ state }) => state), ["in_port", "in_port"]);
    }),
);

Deno.test(
  "vbg voyages -gpx writes a file for each voyage, from files and from a server",
  SERVER,
  () =>
    withTrip(async (folder) => {
      const clock = new FakeClock();
      clock.jump(START_MS + 5 * HOUR * 1000 - START_US / 1000);
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ stateDirectory: folder, journal, clock });
      const sources = [[`${folder}/journal`], ["-server", boat.url, "-from", "2026-07-01T00:00:00Z"]];
      const written: string[] = [];
      for (const [i, source] of sources.entries()) {
        const { code, out, err } = await runCommand(["voyages", ...source, "-gpx", `${folder}/gpx${i}`], {
          columns: 80,
        });
        assert.deepEqual([code, err], [0, ""]);
        checkTable(out);
        const [file, ...more] = [...Deno.readDirSync(`${folder}/gpx${i}`)];
        assert.equal(more.length, 0);
        assert.match(file!.name, /^2026-07-01T0642\d\dZ\.gpx$/);
        written.push(await Deno.readTextFile(`${folder}/gpx${i}/${file!.name}`));
      }
      const [offline, live] = written.map(pointsOf);
      assert.ok(offline!.length > 55);
      assertAlmostEqual(offline, live);
    }),
);

Deno.test(
  "vbg voyages keeps to a range, and says when there is nothing in it",
  FILES,
  () =>
    withTrip(async (folder) => {
      const journal = `${folder}/journal`;
      const before = await runCommand(["voyages", journal, "-to", "2026-07-01T06:30:00Z"], { columns: 80 });
      assert.match(before.out, /\n2026-07-01 06:00 +0:30 {2}in port\n$/);
      const later = await runCommand(["voyages", journal, "-from", "2026-07-03T00:00:00Z"]);
      assert.deepEqual([later.code, later.out], [0, "No positions were recorded in this time\n"]);
    }),
);

Deno.test("vbg voyages refuses what does not go together, and files that are none", FILES, async () => {
  const check = async (args: readonly string[], words: RegExp) => {
    const { code, err } = await runCommand(["voyages", ...args]);
    assert.ok(code > 0, args.join(" "));
    assert.match(err, words);
  };
  await check(["a.lpj", "-server", "boat:8089"], /Cannot use -server with files/);
  await check(["a.lpj", "-boat", "aurora"], /Cannot use -boat with files/);
  await check(["-store-endpoint", "http://s3:9000"], /Cannot use -store-endpoint without/);
  await check(["/nowhere/a.lpj"], /Cannot read "\/nowhere\/a\.lpj"/);
  await check(["-format", "csv"], /expected table, json/);
  await check(["-from", "noon"], /Cannot read the time "noon"/);
});

Deno.test(
  "vbg export -format gpx writes the tracks that vbg voyages finds, and refuses filters and directories",
  FILES,
  () =>
    withTrip(async (folder) => {
      const journal = `${folder}/journal`;
      assert.equal((await runCommand(["voyages", journal, "-gpx", `${folder}/tracks`])).code, 0);
      const [name] = [...Deno.readDirSync(`${folder}/tracks`)].map((entry) => entry.name);
      const track = pointsOf(await Deno.readTextFile(`${folder}/tracks/${name}`));
      assert.ok(track.length > 20);
      const { code, out } = await runCommand(["export", journal, "-format", "gpx"]);
      assert.deepEqual([code, pointsOf(out)], [0, track]);
      assert.equal((await runCommand(["export", journal, "-out", `${folder}/all.gpx`])).code, 0);
      assert.deepEqual(pointsOf(await Deno.readTextFile(`${folder}/all.gpx`)), track);
      for (
        const [flags, why] of [[["-pgn", "129025"], "all messages"], [["-out", `${folder}/x/`], "directory"]] as const
      ) {
        const refused = await runCommand(["export", journal, "-format", "gpx", ...flags]);
        assert.deepEqual([refused.code, refused.err.includes(why)], [2, true], refused.err);
      }
    }),
);
