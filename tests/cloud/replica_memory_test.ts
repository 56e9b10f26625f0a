import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { message } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { BoatHere } from "./replica_fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });

Deno.test(
  "a replica that nobody reads keeps few frames in memory; all while somebody reads, and for a minute after",
  DISK,
  () =>
    inFolder(async (folder) => {
      const boat = await BoatHere.open(folder);
      const { clock } = boat;
      const replica = await boat.replica({ ringFrames: 8192 });
      const { ring } = replica.broker;
      const feed = (frames: number) => {
        for (let i = 0; i < frames; i++) boat.feed(message(), replica);
      };
      replica.runHousekeeping();
      feed(3000);
      assert.equal(ring.size, 1024);
      const letGo = replica.hold();
      feed(3000);
      assert.equal(ring.size, 1024 + 3000);
      clock.advance(10 * 60_000);
      replica.runHousekeeping();
      assert.equal(ring.size, 1024 + 3000);
      letGo();
      clock.advance(60_000 - 1);
      replica.runHousekeeping();
      assert.equal(ring.size, 1024 + 3000);
      clock.advance(1);
      replica.runHousekeeping();
      assert.deepEqual([ring.size, ring.evictedThrough], [0, 6000]);
      feed(3000);
      assert.equal(ring.size, 1024);
      await replica.stop();
      await boat.close();
    }),
);
