// The machine of the store loses its power, and the node is lost at the same time: what the store has not synced is gone.
// Its data are on a file system in a file of this machine, which is copied without a sync; it goes on with the copy.
//
// Needs root and Ceph: `VBG_TEST_FULL=1 deno test -A tests/faults/store_power_cut_test.ts`; VBG_TEST_ROUNDS changes the
// number of power cuts. It prints one line of JSON for each, and one for the end.
import assert from "node:assert/strict";
import { openStore } from "../../src/object_store/mod.ts";
import { Ceph, CEPH_PROGRAMS, CEPH_WRITER, type CephPart } from "../support/ceph.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { environment, IS_FULL, needs } from "../support/needs.ts";
import { START_MS } from "../support/program.ts";
import { Random } from "../support/random.ts";
import { startFleet, STORE_BUCKET, StoreNode, toldOf } from "../support/store_node.ts";
import { compareStore, toldButMissing } from "../support/store_oracle.ts";

const CEPH = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: [...CEPH_PROGRAMS, "mkfs.ext4", "mount", "umount"],
  extras: { "VBG_TEST_FULL=1": IS_FULL, root: IS_FULL && Deno.uid() === 0 },
});
const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 5);
const SIZE = { boats: 20, rate: 200, maxReconnectMs: 1000 };
const DISK_BYTES = 16 * 1024 ** 3;
const OSDS = 3;
const PARTS: readonly CephPart[] = ["mon.a", "osd.0", "osd.1", "osd.2", "client.rgw.a"];
/** Each boat stores several times before a power cut. */
const RUNS_MS = 15_000;

async function run(program: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(program, { args, stdin: "null", stdout: "null" }).output();
  if (!success) throw new Error(`${program} ${args.join(" ")} failed: ${new TextDecoder().decode(stderr)}`);
}

/** False while processes that were killed have files open. */
const unmount = (mount: string): Promise<boolean> => run("umount", mount).then(() => true, () => false);

/** Stops all parts at the same time, goes back to what the disk has, and starts them again. */
async function cutPower(ceph: Ceph, { disk, mount, lose }: { disk: string; mount: string; lose: () => Promise<void> }) {
  await Promise.all(PARTS.map((part) => ceph.signal(part, "STOP")));
  await run("cp", "--sparse=always", disk, `${disk}.copy`);
  await Promise.all(PARTS.map((part) => ceph.signal(part, "KILL")));
  await lose();
  await eventually("the disk to be unused", () => unmount(mount));
  await Deno.rename(`${disk}.copy`, disk);
  await run("mount", "-o", "loop", disk, mount);
  for (const part of PARTS) await ceph.startPart(part);
}

Deno.test(
  `after ${ROUNDS} power cuts the store has every frame of which a boat was told that it is stored`,
  CEPH,
  () =>
    inFolder(async (folder) => {
      const [disk, mount] = [`${folder}/disk`, `${folder}/mount`];
      const random = new Random(23);
      await Deno.mkdir(mount);
      await Deno.writeFile(disk, new Uint8Array());
      await Deno.truncate(disk, DISK_BYTES);
      await run("mkfs.ext4", "-q", disk);
      await run("mount", "-o", "loop", disk, mount);
      try {
        await using ceph = await Ceph.start({ osds: OSDS, directory: mount });
        await ceph.createBucket(STORE_BUCKET);
        const { endpoint } = ceph;
        using store = await openStore({ url: `s3://${STORE_BUCKET}/fleet`, endpoint, credentials: CEPH_WRITER });
        await using node = await StoreNode.start({ endpoint });
        await using fleet = await startFleet(node, SIZE);
        fleet.begin();
        for (let round = 0; round < ROUNDS; round++) {
          const before = fleet.boats.map(({ objectsThrough }) => objectsThrough);
          const isStoring = () => fleet.boats.every(({ objectsThrough }, i) => objectsThrough > before[i]!);
          await eventually("all boats to be told more", isStoring, { deadlineMs: START_MS });
          await pause(random.int(RUNS_MS));
          await cutPower(ceph, { disk, mount, lose: () => node.lose() });
          const told = toldOf(fleet);
          const isBack = () => store.head("none").then(() => true, () => false);
          await eventually("the store", isBack, { deadlineMs: START_MS });
          const missing = await toldButMissing(store, told);
          // deno-lint-ignore no-console -- the figures of a run by hand
          console.log(JSON.stringify({ round, told: told.reduce((sum, { through }) => sum + through, 0), missing }));
          assert.equal(missing, 0, `round ${round}`);
          await node.begin();
          const isConnected = () => fleet.sample().connected === SIZE.boats;
          await eventually("all boats", isConnected, { deadlineMs: START_MS });
        }
        fleet.silence();
        const isStored = () => fleet.boats.every(({ head, objectsThrough }) => objectsThrough === head);
        await eventually("all frames to be stored", isStored, { deadlineMs: START_MS });
        const { objects, duplicates, ...found } = await compareStore(store, fleet.boats);
        // deno-lint-ignore no-console -- the figures of a run by hand
        console.log(JSON.stringify({ rounds: ROUNDS, ...found, duplicates, objects }));
        assert.deepEqual(found, { fed: fleet.sample().made, missing: 0, different: 0, extra: 0 });
        assert.equal(fleet.sample().lost, 0);
      } finally {
        await eventually("the disk to be unused", () => unmount(mount));
      }
    }),
);
