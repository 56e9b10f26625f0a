// A boat whose numbers have begun again, and that has frames of the former ones which the cloud never got.
import assert from "node:assert/strict";
import { audit } from "../../cli/commands/audit/compare.ts";
import { eventually } from "../support/eventually.ts";
import { eventsOf, linkOf, PROCESSES } from "../support/replication_faults.ts";
import { type InstanceStatus, ReplicationLab } from "../support/replication_lab.ts";

const ID = "boat-1";

type StatusWithEpochs = InstanceStatus & {
  epoch: string;
  former_epochs: { epoch: string; holes: unknown[]; lost: unknown[] }[];
};

function cloudStatus(lab: ReplicationLab): Promise<StatusWithEpochs | undefined> {
  return lab.get("cloud", `/instances/${ID}/status`);
}

/** What the cloud has of each epoch of the boat's journal: frames that are the same, missing, strange, different. */
async function auditEpochs(lab: ReplicationLab): Promise<Map<string, number[]>> {
  for (const side of ["boat", "cloud"] as const) await lab.end(side, "SIGTERM");
  const dirs = { boat: `${lab.folder}/journal`, cloud: `${lab.folder}/cloud/${ID}` };
  const { epochs } = await audit({ ...dirs, truth: lab.feed.truthPath });
  return new Map(epochs.map(({ epoch, same, missing, extra, different }) => [
    epoch,
    [same, missing.count, extra.count, different.count],
  ]));
}

/** Hears messages while the cloud is away, and loses its state: at the next start its numbers begin again. */
async function hearAndForget(lab: ReplicationLab, messages: number): Promise<void> {
  const before = (await linkOf(lab))?.local_head_seq ?? 0;
  await lab.feed.burst(messages);
  await eventually("all of it", async () => (await linkOf(lab))?.local_head_seq === before + messages);
  assert.equal(await lab.end("boat", "SIGTERM"), 0);
  await Deno.remove(`${lab.folder}/state/head.json`);
}

Deno.test({
  name: "frames of former epochs that the cloud never got are sent when it is back, and nothing of them is live or " +
    "counts for the cursor",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({ rate: 0 });
    await lab.connected();
    await lab.feed.burst(400);
    await lab.converged();
    const first = (await cloudStatus(lab))?.epoch ?? "";
    assert.equal(await lab.end("cloud", "SIGTERM"), 0);
    await hearAndForget(lab, 700);
    await lab.begin("boat");
    await hearAndForget(lab, 300);
    await lab.begin("boat");
    await lab.feed.burst(200);
    const told = await eventually("what is not in the cloud", async () => {
      const { former_epochs: former = [] } = await linkOf(lab) ?? {};
      return former.length === 2 && former;
    });
    assert.deepEqual(told.map(({ head_seq, oldest_seq, holes }) => [head_seq, oldest_seq, holes]), [
      [300, 1, null],
      [1100, 1, null],
    ]);
    await lab.begin("cloud");
    await lab.connected();
    const status = await eventually("all of it", async () => {
      const boat = await linkOf(lab);
      const cloud = await cloudStatus(lab);
      return boat?.former_epochs?.length === 0 && cloud?.former_epochs.length === 0 && cloud?.cursor === 200 && cloud;
    });
    assert.deepEqual([status.boat_head_seq, status.holes], [200, []]);
    const blocks = await eventsOf(lab, { id: ID, type: "block_received" });
    const ofFirst = blocks.flatMap((detail) =>
      new RegExp(`of epoch ${first}, (\\d+) of them new`).exec(detail)?.[1] ?? []
    );
    assert.equal(ofFirst.reduce((sum, count) => sum + Number(count), 0), 700, blocks.join("\n"));
    // By time they are all there, each once.
    const history = await lab.text("cloud", `/instances/${ID}/history?from=2020-01-01T00:00:00Z&limit=10000`) ?? "";
    assert.equal(JSON.parse(history).length, lab.feed.count);
    const epochs = await auditEpochs(lab);
    assert.equal(epochs.size, 3);
    assert.deepEqual(epochs.get(first), [1100, 0, 0, 0]);
    assert.deepEqual([...epochs.values()].map(([same]) => same).sort(), [1100, 200, 300].sort());
    for (const [, missing, extra, different] of epochs.values()) {
      assert.deepEqual([missing, extra, different], [0, 0, 0]);
    }
  },
});

/** Deletes the journal's oldest file. */
async function deleteOldest(lab: ReplicationLab): Promise<void> {
  const names = Array.from(Deno.readDirSync(`${lab.folder}/journal`), ({ name }) => name);
  const [oldest] = names.filter((name) => name.endsWith(".lpj")).sort();
  await Deno.remove(`${lab.folder}/journal/${oldest}`);
}

Deno.test({
  name: "what the boat has no more of a former epoch is told on both sides, and the rest comes",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({ rate: 0 });
    await lab.connected();
    assert.equal(await lab.end("cloud", "SIGTERM"), 0);
    await lab.feed.burst(300);
    await eventually("all of it", async () => (await linkOf(lab))?.local_head_seq === 300);
    assert.equal(await lab.end("boat", "SIGTERM"), 0);
    await lab.begin("boat");
    await hearAndForget(lab, 250);
    await deleteOldest(lab);
    await lab.begin("boat");
    await lab.begin("cloud");
    await lab.connected();
    const lost = [{ start: 1, end: 301, reason: "deleted on the boat" }];
    const [ofCloud, ofBoat] = await eventually("what is told", async () => {
      const [boat] = (await linkOf(lab))?.former_epochs ?? [];
      const { former_epochs: [cloud] } = await cloudStatus(lab) ?? { former_epochs: [] };
      return boat?.lost.length === 1 && cloud?.lost.length === 1 && [cloud, boat];
    });
    assert.deepEqual([ofCloud?.lost, ofCloud?.holes], [lost, []]);
    assert.deepEqual([ofBoat?.lost, ofBoat?.holes, ofBoat?.oldest_seq], [lost, [], 301]);
    const epochs = await auditEpochs(lab);
    assert.deepEqual(epochs.get(ofBoat?.epoch ?? ""), [250, 0, 0, 0]);
  },
});
