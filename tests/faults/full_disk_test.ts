import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { fillDisk, mayMount, onSmallDisk } from "../support/mounts.ts";
import { needs, SLOW } from "../support/needs.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const MOUNTS = needs({
  permissions: ["run", "read", "write", "net", "env", "sys"],
  others: { "the right to mount": mayMount() },
  extras: SLOW,
});

for (const isKilled of [false, true]) {
  Deno.test({
    name: `a cloud whose disk is full${isKilled ? ", and that is killed then," : ""} acknowledges nothing that it ` +
      "has not stored, and has every frame once when there is room again",
    ...MOUNTS,
    fn: () =>
      inFolder((folder) =>
        onSmallDisk(folder, async (dataDirectory) => {
          await using lab = await ReplicationLab.start({ rate: 800, dataDirectory });
          await lab.connected();
          await eventually("traffic", () => lab.feed.count > 1000);
          const filler = fillDisk(dataDirectory);
          const isFailing = async () => (await lab.cloudStatus())?.recording.state === "failing";
          await eventually("the cloud to say that it cannot record", isFailing);
          const until = lab.feed.count + 2000;
          await eventually("traffic while the disk is full", () => lab.feed.count > until);
          const acknowledged = (await lab.boatStatus())?.cloud_durable_seq ?? 0;
          assert.ok(acknowledged < until, `${acknowledged} of ${until} are said to be safe`);
          if (isKilled) await lab.end("cloud", "SIGKILL");
          await Deno.remove(filler);
          if (isKilled) await lab.begin("cloud");
          await lab.converged();
          const { text, isGood, truth } = await lab.audit();
          assert.ok(isGood && text.includes("missing 0, extra 0, different 0"), text);
          assert.equal(truth?.unrecorded, 0, text);
        }, { size: "4m" })
      ),
  });
}
