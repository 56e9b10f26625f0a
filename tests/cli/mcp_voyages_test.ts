import assert from "node:assert/strict";
import type { VoyagesReply } from "../../src/client/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { TestJournal } from "../support/history.ts";
import { McpProgram } from "../support/mcp.ts";
import { START_US } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { messagesOfSamples } from "../voyages/frames_of.ts";
import { PassageMaker } from "../voyages/passage.ts";
import { RECEIVERS, START_MS } from "../voyages/passages.ts";

const RUN = needs({ permissions: ["env", "net", "read", "run", "sys", "write"] });
const HOUR = 3600;
const KNOT = 1852 / 3600;

/** Records two trips of half an hour under engine, with stays before, between and after them. */
async function recordTrips(directory: string): Promise<void> {
  const boat = new PassageMaker(new Random(8), { startMs: START_MS, receiver: RECEIVERS[0]! });
  for (const knots of [6, 5]) {
    boat.berth(0.7 * HOUR).voyage(() => boat.go(0.5 * HOUR, { knots, engine: true }));
  }
  boat.berth(0.7 * HOUR);
  await Deno.mkdir(directory);
  await using journal = await TestJournal.open(directory, { blockBytes: 16_384 });
  journal.append(1, messagesOfSamples(boat.samples));
  await journal.writer.rotate();
  await journal.writer.close();
  assert.equal(journal.writer.lost, 0);
}

Deno.test(
  "vbg mcp: voyages and stays are those of the server, the latest first",
  RUN,
  () =>
    inFolder(async (folder) => {
      await recordTrips(`${folder}/journal`);
      const clock = new FakeClock();
      clock.jump(START_MS + 5 * HOUR * 1000 - START_US / 1000);
      const journal = { directory: `${folder}/journal`, stateDirectory: folder };
      await using boat = await TestBoat.start({ stateDirectory: folder, journal, clock });
      const [from, to] = ["2026-07-01T00:00:00.000Z", "2026-07-01T11:00:00.000Z"];
      const { voyages, stays } = await boat.get<VoyagesReply>(`/voyages?from=${from}&to=${to}`);
      assert.deepEqual([voyages.length, stays.map(({ state }) => state)], [2, ["in_port", "in_port", "in_port"]]);
      await using mcp = await McpProgram.start(["-server", boat.url]);
      const [head, ...lines] = await mcp.read("voyages", { from, to });
      assert.equal(head, `Voyages from ${from} to ${to}: 2, the latest first`);
      const all = [...voyages, ...stays].sort((a, b) => a.start < b.start ? 1 : -1);
      assert.deepEqual(lines.map((line) => line.split(": ")[0]), all.map(({ start, end }) => `${start} to ${end}`));
      const under = lines.filter((line) => line.includes(": under way "));
      for (const [i, voyage] of voyages.toReversed().entries()) {
        const { duration_s, distance_m, avg_speed, max_speed, engines: [engine], fuel_l, wind } = voyage;
        const knots = (speed: number | null | undefined) => `${(Number(speed) / KNOT).toFixed(1)} kn`;
        const parts = [
          `under way ${(duration_s / 60).toFixed(1)} min`,
          `${(distance_m / 1852).toFixed(2)} nm over ground`,
          `average ${knots(avg_speed)}`,
          `maximum ${knots(max_speed)}`,
          `engine 0 ran ${(Number(engine?.running_s) / 60).toFixed(1)} min`,
          `fuel ${fuel_l?.toFixed(1)} L`,
          `true wind average ${knots(wind?.avg)}, maximum ${knots(wind?.max)}`,
        ];
        for (const part of parts) assert.ok(under[i]?.includes(part), `${part}: ${under[i]}`);
        assert.match(under[i]!, /, from 54°\d\d\.\d{3}′N 010°\d\d\.\d{3}′E to 54°/);
      }
      assert.match(lines[0]!, /: in port at 54°\d\d\.\d{3}′N 010°\d\d\.\d{3}′E$/);
      const none = await mcp.read("voyages", { from: "2026-06-01T00:00:00Z", to: "2026-06-02T00:00:00Z" });
      assert.match(none[0]!, /: 0, the latest first$/);
    }),
);
