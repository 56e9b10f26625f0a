// A boat is at least as far as its frames, whatever it has said of itself, and whether its files are open or not.
import assert from "node:assert/strict";
import { ObjectCache } from "../../src/cloud/mod.ts";
import { openStore } from "../../src/object_store/mod.ts";
import { type CloudProofSource, proofInCloud } from "../../src/http/cloud/proof.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { wireBlock } from "./block_check_fixture.ts";
import { batch, CloudFixture } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });

/** What a cloud says of the boat, in short. */
function told(cloud: CloudFixture) {
  const summary = cloud.boat.summary();
  const { boatHeadSeq: head, cursor, holes, lagSeqs: lag } = summary;
  const { seen, in_cloud: inCloud } = proofInCloud(summary satisfies CloudProofSource);
  return { head, cursor, holes, lag, seen, inCloud };
}

Deno.test(
  "after a restart a boat is as far as its frames, which came after its last status",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      const wanted = { head: 200, cursor: 0, holes: [{ start: 1, end: 10 }], lag: 200, seen: 200, inCloud: 191 };
      {
        await using cloud = await CloudFixture.start(folder);
        const live = (await cloud.greeted({ headSeq: 10 })).client.live();
        await live.send(batch(10, 200));
        await eventually("all on disk", () => cloud.boat.summary().durableCount === 191);
        live.end();
        await eventually("the end of the stream", () => !cloud.boat.connected);
        assert.deepEqual(told(cloud), wanted);
      }
      await using cloud = await CloudFixture.start(folder);
      assert.equal(cloud.boat.isOpen, false);
      assert.deepEqual(told(cloud), wanted);
    }),
);

Deno.test(
  "a block with frames after the boat's head makes it as far as they are",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudFixture.start(folder);
      const backfill = (await cloud.greeted({ headSeq: 50 })).client.backfill();
      await backfill.send({ block: wireBlock({ firstSeq: 11, frames: 90 }) });
      await eventually("the block", () => cloud.boat.summary().durableCount === 90);
      const holes = [{ start: 1, end: 11 }];
      assert.deepEqual(told(cloud), { head: 100, cursor: 0, holes, lag: 100, seen: 100, inCloud: 90 });
    }),
);

Deno.test(
  "a node that comes back says how far the boat was at another one, and what is missing before",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      using store = await openStore({ url: `file://${folder}/store` });
      const start = (node: string) =>
        CloudFixture.start(`${folder}/${node}`, { frameStore: { store, cache: new ObjectCache({ store }), node } });
      for (const [node, from, to] of [["one", 1, 100], ["two", 151, 200]] as const) {
        await using cloud = await start(node);
        const live = (await cloud.greeted({ headSeq: from })).client.live();
        await live.send(batch(from, to));
        await eventually("all on disk", () => cloud.boat.received.has(to) && cloud.boat.acknowledge() >= 100);
        live.end();
        await eventually("the end of the stream", () => !cloud.boat.connected);
        await cloud.boat.ship();
      }
      await using cloud = await start("one");
      await cloud.boat.withFiles(() => {});
      const holes = [{ start: 101, end: 151 }];
      assert.deepEqual(told(cloud), { head: 200, cursor: 100, holes, lag: 100, seen: 200, inCloud: 150 });
    }),
);
