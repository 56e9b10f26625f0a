// A store that answers what is not true, or late, or not at all: no frame counts as stored that is not there.
import assert from "node:assert/strict";
import { ObjectCache } from "../../../src/cloud/mod.ts";
import { openStore } from "../../../src/object_store/mod.ts";
import { eventually } from "../../support/eventually.ts";
import { inFolder } from "../../support/folder.ts";
import { type Fault, HttpProxy } from "../../support/http_proxy.ts";
import { MemoryS3 } from "../../support/memory_s3.ts";
import { needs } from "../../support/needs.ts";
import { range } from "../../support/session.ts";
import { toldButMissing } from "../../support/store_oracle.ts";
import { EPOCH } from "../block_check_fixture.ts";
import { batch, BOAT, CloudFixture, framesOfStore, wanted } from "../cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const CREDENTIALS = { accessKeyId: "any", secretAccessKey: "any" };
const ATTEMPTS = 3;
const FRAMES = 100;
const FAULTS: readonly Fault[] = [
  "drop",
  "lose answer",
  "stall",
  "fail",
  "slow down",
  "login page",
  "forget",
  "forget with a tag",
  "cut upload",
];

Deno.test(
  "no frame is told as stored that a lying, failing, slow or silent store does not have",
  CLOUD,
  () =>
    inFolder(async (folder) => {
      await using s3 = new MemoryS3();
      await using proxy = await HttpProxy.start(s3.endpoint);
      const options = { url: "s3://boats/fleet", credentials: CREDENTIALS };
      using direct = await openStore({ ...options, endpoint: s3.endpoint });
      const limits = { attempts: ATTEMPTS, retry: { firstMs: 1, capMs: 4 }, requestTimeoutMs: 500 };
      using store = await openStore({ ...options, endpoint: proxy.endpoint, ...limits });
      const frameStore = { store, cache: new ObjectCache({ store }) };
      await using cloud = await CloudFixture.start(`${folder}/data`, { frameStore });
      const { client } = await cloud.greeted();
      const live = client.live();
      let fed = 0;
      const told = () => cloud.boat.record.storedThrough() ?? NaN;
      const feed = async () => {
        await live.send(batch(fed + 1, fed + FRAMES));
        fed += FRAMES;
        await eventually("all to be durable", () => cloud.boat.acknowledge() === fed);
      };
      for (const fault of FAULTS) {
        for (const times of [1, Infinity]) {
          await feed();
          const before = told();
          proxy.next("PUT", fault, times);
          const isStored = await cloud.boat.ship().then(() => true, () => false);
          proxy.heal();
          assert.equal(told(), isStored ? fed : before, `${fault} ${times}`);
          assert.equal(isStored && times > 1, false, `${fault}: stored by no answer`);
          assert.equal(await toldButMissing(direct, [{ id: BOAT, epoch: EPOCH, through: told() }]), 0, fault);
          await cloud.boat.ship();
          assert.equal(told(), fed, `${fault}: stored once the store answers`);
        }
      }
      assert.deepEqual(await framesOfStore(direct, { folder }), range(1, fed).map(wanted));
      live.end();
    }),
);
