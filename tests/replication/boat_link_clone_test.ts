import assert from "node:assert/strict";
import { RpcError } from "../../src/replication/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { assertFrames, LINK, type LinkedBoat, LinkFixture, seqs } from "./boat_link_fixture.ts";

const AWAY = () => new RpcError("UNAVAILABLE", "the cloud is away");

async function connected(boat: LinkedBoat, clock: FakeClock): Promise<void> {
  await eventually("the connection", () => {
    boat.waitFor(clock, 200);
    return boat.link.status().connected;
  });
}

Deno.test(
  "a boat whose old image was restored sees it by what the cloud has, however far it has gone on since",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud } = fixture;
      const clock = new FakeClock();
      cloud.held.add(1, 301);
      cloud.refuse = AWAY;
      await using boat = await fixture.boat({ firstSeq: 101, clock, journal: await fixture.journalFolder() });
      boat.link.start();
      await eventually("a try", () => cloud.requests.length > 0);
      boat.bring(400);
      cloud.refuse = undefined;
      await eventually("another run", () => {
        boat.waitFor(clock, 200);
        return boat.renewals.length > 0;
      });
      cloud.held.remove(1, 301);
      await connected(boat, clock);
      assert.deepEqual(boat.renewals, [
        "the cloud has sequence number 300 of this epoch, this boat has sent up to 100; 400 later frames stay on this boat",
      ]);
      boat.bring(50);
      await eventually("the frames of the new run", () => cloud.frames.size === 50);
      assertFrames(cloud, seqs(1, 50));
    });
  },
);

Deno.test(
  "a boat sees that somebody has sent in its name while it was cut off; what it sent itself is its own",
  LINK,
  async () => {
    await LinkFixture.run(async (fixture) => {
      const { cloud, server } = fixture;
      const clock = new FakeClock();
      await using boat = await fixture.boat({ clock, journal: await fixture.journalFolder() });
      boat.link.start();
      await connected(boat, clock);
      const cutAt = async (head: number) => {
        boat.bring(100);
        await eventually("the frames", () => cloud.held.covers(1, head + 1));
        cloud.refuse = AWAY;
        server.cut();
        await eventually("the cut", () => !boat.link.status().connected);
        boat.bring(500);
        cloud.refuse = undefined;
      };
      await cutAt(100);
      await connected(boat, clock);
      assert.deepEqual(boat.renewals, []);
      await eventually("all of it", () => cloud.held.covers(1, 601));
      await cutAt(700);
      cloud.held.add(701, 901);
      await eventually("another run", () => {
        boat.waitFor(clock, 200);
        return boat.renewals.length > 0;
      });
      assert.match(
        boat.renewals[0]!,
        /^the cloud has sequence number 900 of this epoch, this boat has sent up to 700; 500 later frames/,
      );
    });
  },
);
