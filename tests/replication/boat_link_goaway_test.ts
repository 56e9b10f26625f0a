import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { assertFrames, LINK, LinkFixture, seqs } from "./boat_link_fixture.ts";

/** RFC 9113 §7. */
const [NO_ERROR, INTERNAL_ERROR, ENHANCE_YOUR_CALM] = [0, 2, 11];

const goaways = [
  { what: "a first warning", word: "graceful_stop" },
  { what: "one for all streams", lastStream: 0 },
  { what: "one after a fault", lastStream: 1, code: INTERNAL_ERROR },
  { what: "one because of pings", code: ENHANCE_YOUR_CALM, word: "too_many_pings" },
];

for (const { what, ...goaway } of goaways) {
  Deno.test(`a cloud's GOAWAY, ${what}, is a lost link that comes back`, LINK, async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud, server } = fixture;
      await using boat = await fixture.boat();
      boat.link.start();
      await eventually("the connection", () => boat.link.status().connected);
      boat.bring(100);
      await eventually("the frames", () => cloud.frames.size === 100);
      server.goaway({ code: NO_ERROR, ...goaway });
      await eventually("the next connection", () => cloud.requests.length === 2 && boat.link.status().connected);
      const lost = boat.lines.filter((line) => line.includes("replication disconnected"));
      assert.equal(lost.length, 1);
      assert.match(lost[0]!, /UNAVAILABLE: the other side is closing the connection/);
      boat.bring(100);
      await eventually("frames on the next connection", () => cloud.frames.size === 200);
      assertFrames(cloud, seqs(1, 200));
    });
  });
}
