import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { environment } from "../support/needs.ts";
import { assertAllThere, linkOf, PROCESSES, traffic } from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 1);
/** Slow enough that a backfill is still going on when it is looked for. */
const SLOW_BYTES_PER_SECOND = 10_000;
const OUTAGE_MESSAGES = 9000;

Deno.test({
  name: `a cloud that is stopped ${ROUNDS}× while its boat streams ends in good order and misses nothing`,
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start();
    for (let round = 0; round < ROUNDS; round++) {
      await lab.connected();
      await traffic(lab, 400);
      assert.equal(await lab.end("cloud", "SIGTERM"), 0, lab.log("cloud"));
      await traffic(lab, 200);
      await lab.begin("cloud");
    }
    await assertAllThere(lab);
  },
});

Deno.test({
  name: `boat and cloud that are stopped in turn ${ROUNDS}× during a backfill end in good order and go on with it`,
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({ boatFlags: ["-journal-block-size", "4096"] });
    await lab.connected();
    await lab.end("cloud", "SIGTERM");
    lab.feed.rate = 3000;
    await traffic(lab, OUTAGE_MESSAGES);
    // What is on the bus while there is no boat, nobody records.
    lab.feed.rate = 0;
    await eventually("all of it on the boat", async () => (await linkOf(lab))?.local_head_seq === lab.feed.count);
    lab.proxy.bytesPerSecond = SLOW_BYTES_PER_SECOND;
    await lab.begin("cloud");
    for (let round = 0; round < ROUNDS; round++) {
      for (const side of ["boat", "cloud"] as const) {
        await eventually("the backfill", async () => {
          const status = await linkOf(lab);
          return status?.connected && status.backfill_remaining_seqs > 0 && status.backfill_blocks_sent > 0;
        });
        assert.equal(await lab.end(side, "SIGTERM"), 0, lab.log(side));
        await lab.begin(side);
      }
    }
    lab.proxy.bytesPerSecond = 0;
    await assertAllThere(lab);
  },
});

Deno.test({
  name: "what is in the journal of a boat that is stopped under traffic is in the cloud, too, without another start",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start();
    await lab.connected();
    await eventually("what came before the connection", async () => (await lab.cloudStatus())?.holes.length === 0);
    await traffic(lab, 800);
    assert.equal(await lab.end("boat", "SIGTERM"), 0, lab.log("boat"));
    const { epochs: [epoch, ...others], isGood, text } = await lab.audit();
    assert.deepEqual([isGood, others], [true, []], text);
    assert.ok(epoch && epoch.same > 0, text);
  },
});
