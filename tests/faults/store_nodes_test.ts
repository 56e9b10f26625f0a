// Several nodes with one store behind a balancer: boats and readers connect to any.
import assert from "node:assert/strict";
import { openStore } from "../../src/object_store/mod.ts";
import { eventually } from "../support/eventually.ts";
import { MemoryS3 } from "../support/memory_s3.ts";
import { CEPH_WRITER } from "../support/ceph.ts";
import { needs, SLOW } from "../support/needs.ts";
import { START_MS } from "../support/program.ts";
import { BALANCER_PROGRAM, StoreCluster } from "../support/store_cluster.ts";
import { startFleet, STORE_BUCKET } from "../support/store_node.ts";
import { compareStore, fedFrames } from "../support/store_oracle.ts";

const CLUSTER = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: [BALANCER_PROGRAM],
  extras: SLOW,
});

Deno.test(
  "every node answers for every boat, and boats of a killed node are live at others within seconds",
  CLUSTER,
  async () => {
    await using s3 = new MemoryS3();
    const { endpoint } = s3;
    using store = await openStore({ url: `s3://${STORE_BUCKET}/fleet`, endpoint, credentials: CEPH_WRITER });
    await using cluster = await StoreCluster.start({ nodes: 3, endpoint });
    await using fleet = await startFleet(cluster, { boats: 9, rate: 50, maxReconnectMs: 1000 });
    fleet.begin();
    await eventually("the first frames", () => fleet.boats.every(({ head }) => head >= 100));
    for (const node of cluster.nodes) {
      for (const boat of fleet.boats) {
        const frames = fedFrames(boat, { last: 100 });
        await eventually(
          `the frames of ${boat.id}`,
          async () => (await node.history(boat.id, { limit: 100 })).length === 100,
        );
        assert.deepEqual(await node.history(boat.id, { limit: 100 }), frames);
      }
      const { instances } = await (await fetch(`${node.url}/instances`)).json();
      assert.equal(instances.filter(({ connected }: { connected: boolean }) => connected).length, 9);
    }
    const lostMs = performance.now();
    await cluster.nodes[0]!.lose();
    await eventually("all boats", () => fleet.sample().connected === 9, { deadlineMs: START_MS });
    fleet.silence();
    const isStored = () => fleet.boats.every(({ head, objectsThrough }) => objectsThrough === head);
    await eventually("all frames to be stored", isStored, { deadlineMs: START_MS });
    const { objects: _objects, duplicates: _duplicates, ...found } = await compareStore(store, fleet.boats);
    assert.deepEqual(found, { fed: fleet.sample().made, missing: 0, different: 0, extra: 0 });
  },
);
