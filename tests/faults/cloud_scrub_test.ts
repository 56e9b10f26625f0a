import assert from "node:assert/strict";
import { openBlockFile } from "../../src/journal/mod.ts";
import { eventually } from "../support/eventually.ts";
import { journalFiles } from "../support/journal_run.ts";
import { environment } from "../support/needs.ts";
import { PROCESSES } from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 1);
const NOTHING_WRONG = "missing 0, extra 0, different 0";

/** What the cloud says of itself. */
interface Health {
  status: string;
  components: Record<string, { status: string; message?: string }>;
}

const SMALL_FILES = ["-journal-block-size", "4096", "-journal-rotate-size", "20KB", "-scrub-rate", "1GB"];
const GONE = /boat frames missing from the disk/;

/** Waits until the cloud has acknowledged everything. Gives the newest number. */
async function allAcknowledged(lab: ReplicationLab): Promise<number> {
  await lab.converged();
  return await eventually("everything to be acknowledged", async () => {
    const status = await lab.boatStatus();
    return status && status.cloud_durable_seq === status.local_head_seq && status.local_head_seq;
  });
}

/** What the cloud says of its disk. */
async function storageHealth(lab: ReplicationLab): Promise<string | undefined> {
  return (await lab.get<Health>("cloud", "/healthz"))?.components["storage"]?.status;
}

/** Changes bytes in the middle of a block's packed ones, where more than a bit that means nothing is. */
async function damage(path: string): Promise<void> {
  const { blocks } = await openBlockFile(path);
  const { offset, bytes: length } = blocks[blocks.length >> 1]!;
  const bytes = Deno.readFileSync(path);
  for (let at = 0; at < 8; at++) bytes[offset + (length >> 1) + at]! ^= 0xff;
  Deno.writeFileSync(path, bytes);
}

Deno.test({
  name: "a file that is deleted from the cloud, and a block that is damaged there, come again from the boat",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({ rate: 1500, cloudFlags: SMALL_FILES });
    await lab.connected();
    await eventually("traffic", () => lab.feed.count > 3000);
    await allAcknowledged(lab);
    await lab.end("cloud", "SIGTERM");
    const directory = `${lab.folder}/cloud/boat-1`;
    const [deleted, damaged] = journalFiles(directory).map((name) => `${directory}/${name}`);
    assert.ok((await openBlockFile(deleted!)).blocks.length > 0);
    Deno.removeSync(deleted!);
    await damage(damaged!);
    const bytes = Deno.readFileSync(damaged!);
    await lab.begin("cloud");
    const reasons = () => lab.log("cloud").match(new RegExp(GONE, "g"))?.length ?? 0;
    await eventually("both to be found", () => reasons() >= 2);
    await lab.connected();
    await lab.converged();
    assert.equal(await storageHealth(lab), "ok");
    assert.deepEqual(Deno.readFileSync(damaged!), bytes);
    const { text, damage: found } = await lab.audit();
    assert.ok(text.includes(NOTHING_WRONG), text);
    // The file is left as it is.
    assert.equal(found.cloud.length, 1, text);
  },
});

Deno.test({
  name:
    "after a crash the cloud's status is right before the boat comes back, and what it deleted itself is not missed",
  ...PROCESSES,
  fn: async () => {
    const cloudFlags = [...SMALL_FILES, "-journal-rotate-size", "4KB", "-journal-retention-max-size", "20KB"];
    await using lab = await ReplicationLab.start({ rate: 1500, cloudFlags });
    await lab.connected();
    for (let round = 0; round < ROUNDS; round++) {
      lab.feed.rate = 1500;
      const deleted = () => lab.log("cloud").match(/journal file deleted/g)?.length ?? 0;
      const before = deleted();
      await eventually("files to be deleted", () => deleted() > before + 2);
      const head = await allAcknowledged(lab);
      await lab.end("cloud", "SIGKILL");
      await lab.end("boat", "SIGTERM");
      await lab.begin("cloud");
      const { connected, cursor, boat_head_seq, holes, lag_seqs } = (await lab.cloudStatus())!;
      assert.deepEqual(
        { connected, cursor, boat_head_seq, holes, lag_seqs },
        { connected: false, cursor: head, boat_head_seq: head, holes: [], lag_seqs: 0 },
      );
      await lab.begin("boat");
      await lab.connected();
      await lab.converged();
      assert.equal(await storageHealth(lab), "ok");
      assert.doesNotMatch(lab.log("cloud"), GONE);
      assert.equal((await lab.boatStatus())?.backfill_remaining_seqs, 0);
    }
  },
});
