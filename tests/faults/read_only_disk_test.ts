import assert from "node:assert/strict";
import { audit } from "../../cli/commands/audit/compare.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { mayMount, mount, unmount } from "../support/mounts.ts";
import { needs, SLOW } from "../support/needs.ts";
import { assertAllThere, healthOf, linkOf, traffic } from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const MOUNTS = needs({
  extras: SLOW,
  permissions: ["run", "read", "write", "net", "env", "sys"],
  others: { "the right to mount": mayMount() },
});
/** So that new files are wanted soon; those that are open can be written all the same. */
const SMALL_FILES = ["-journal-block-size", "4096", "-journal-rotate-size", "8KB"];

/** What the boat has been told is safe is in the cloud's files. */
async function assertAcknowledged(lab: ReplicationLab, dataDirectory: string): Promise<void> {
  const acknowledged = (await linkOf(lab))?.cloud_durable_seq ?? 0;
  assert.ok(acknowledged > 0);
  // The boat's newest frames may come to the cloud before they are in a file of its own.
  const { missing, different } = await eventually("what the cloud has on the boat's disk", async () => {
    const { epochs } = await audit({ boat: `${lab.folder}/journal`, cloud: `${dataDirectory}/boat-1` });
    const [{ extra, ...rest }] = epochs as [typeof epochs[0]];
    return extra.count === 0 && rest;
  });
  assert.equal(different.count, 0);
  const first = missing.first[0]?.start ?? Infinity;
  assert.ok(first > acknowledged, `${acknowledged} is said to be safe, and ${first} is missing`);
}

Deno.test({
  name:
    "a cloud whose disk turns read-only says so, acknowledges nothing more, and has every frame once when it is over",
  ...MOUNTS,
  fn: () =>
    inFolder(async (folder) => {
      const dataDirectory = `${folder}/data`;
      await Deno.mkdir(dataDirectory);
      await using lab = await ReplicationLab.start({ rate: 800, dataDirectory, cloudFlags: SMALL_FILES });
      await lab.connected();
      await eventually("something safe", async () => ((await linkOf(lab))?.cloud_durable_seq ?? 0) > 0);
      mount(["--bind", dataDirectory, dataDirectory]);
      try {
        mount(["-o", "remount,bind,ro", dataDirectory]);
        await eventually("the cloud to say so", async () => {
          return (await lab.cloudStatus())?.recording.state === "failing";
        });
        const { status, components } = await healthOf(lab, "cloud");
        assert.deepEqual([status, components["recording"]?.status], ["unhealthy", "unhealthy"]);
        assert.match(components["recording"]?.message ?? "", /1 of 1 boats cannot be recorded/);
        // Frames wait in memory; a boat that comes is told.
        lab.proxy.cut("rst");
        await eventually("the boat to be told", async () => {
          const { status, message = "" } = (await healthOf(lab, "boat")).components["replication"] ?? {};
          return status === "degraded" && /UNAVAILABLE: .*nothing can be recorded/.test(message);
        });
        await traffic(lab, 500);
        await assertAcknowledged(lab, dataDirectory);
        assert.notEqual(await lab.text("cloud", "/livez"), undefined);
      } finally {
        unmount(dataDirectory);
      }
      await assertAllThere(lab);
    }),
});
