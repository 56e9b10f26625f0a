import assert from "node:assert/strict";
import { openBlockFile } from "../../src/journal/mod.ts";
import { eventually } from "../support/eventually.ts";
import { journalFiles } from "../support/journal_run.ts";
import { environment, needs } from "../support/needs.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const PROCESSES = needs({ permissions: ["run", "read", "write", "net", "env", "sys"] });
const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 1);
const NOTHING_WRONG = "missing 0, extra 0, different 0";

/** What the cloud says of itself. */
interface Health {
  status: string;
  components: Record<string, { status: string; message?: string }>;
}

/** A cloud that has some files of a boat, all of whose frames it has acknowledged, and is down now. */
async function cloudWithFiles(): Promise<ReplicationLab> {
  const small = ["-journal-block-size", "4096", "-journal-rotate-size", "20KB"];
  const lab = await ReplicationLab.start({ rate: 1500, cloudFlags: [...small, "-scrub-rate", "1GB"] });
  try {
    await lab.connected();
    await eventually("traffic", () => lab.feed.count > 3000);
    await lab.converged();
    await eventually("everything to be acknowledged", async () => {
      const status = await lab.boatStatus();
      return status && status.cloud_durable_seq === status.local_head_seq;
    });
    await lab.end("cloud", "SIGTERM");
    return lab;
  } catch (error) {
    await lab[Symbol.asyncDispose]();
    throw error;
  }
}

/** The path of the oldest file that the cloud has. */
function oldestFile(lab: ReplicationLab): string {
  const directory = `${lab.folder}/cloud/boat-1`;
  const [oldest] = journalFiles(directory);
  assert.ok(oldest);
  return `${directory}/${oldest}`;
}

Deno.test({
  name: "a file that is deleted from the cloud comes again from the boat, and nothing is missing",
  ...PROCESSES,
  fn: async () => {
    await using lab = await cloudWithFiles();
    const path = oldestFile(lab);
    assert.ok((await openBlockFile(path)).blocks.length > 0);
    Deno.removeSync(path);
    await lab.begin("cloud");
    await lab.connected();
    await lab.converged();
    const health = await lab.get<Health>("cloud", "/healthz");
    assert.equal(health?.components["storage"]?.status, "ok");
    assert.match(lab.log("cloud"), /frames of a boat are gone from the disk/);
    const { text, isGood } = await lab.audit();
    assert.ok(isGood && text.includes(NOTHING_WRONG), text);
  },
});

Deno.test({
  name: "a block that is damaged on the cloud's disk is found, comes again from the boat, and nothing is missing",
  ...PROCESSES,
  fn: async () => {
    await using lab = await cloudWithFiles();
    const path = oldestFile(lab);
    const { blocks } = await openBlockFile(path);
    const { offset, bytes: length } = blocks[blocks.length >> 1]!;
    const bytes = Deno.readFileSync(path);
    // In the middle of what is packed, where more than a bit that means nothing is.
    for (let at = 0; at < 8; at++) bytes[offset + (length >> 1) + at]! ^= 0xff;
    Deno.writeFileSync(path, bytes);
    await lab.begin("cloud");
    await eventually("the damage to be found", () => /frames of a boat are gone from the disk/.test(lab.log("cloud")));
    await lab.connected();
    await lab.converged();
    const health = await lab.get<Health>("cloud", "/healthz");
    assert.equal(health?.components["storage"]?.status, "ok");
    assert.deepEqual(Deno.readFileSync(path), bytes);
    const { text, damage } = await lab.audit();
    assert.ok(text.includes(NOTHING_WRONG), text);
    // The file is left as it is.
    assert.equal(damage.cloud.length, 1, text);
  },
});

Deno.test({
  name: "files that the cloud deletes by its own limits are neither missed nor asked for",
  ...PROCESSES,
  fn: async () => {
    const small = ["-journal-block-size", "4096", "-journal-rotate-size", "4KB", "-journal-retention-max-size", "20KB"];
    await using lab = await ReplicationLab.start({ rate: 1500, cloudFlags: [...small, "-scrub-rate", "1GB"] });
    await lab.connected();
    await eventually("files to be deleted", () => (lab.log("cloud").match(/journal file deleted/g)?.length ?? 0) > 2);
    await lab.converged();
    await lab.end("cloud", "SIGKILL");
    await lab.begin("cloud");
    await lab.connected();
    const { holes } = await lab.converged();
    assert.deepEqual(holes, []);
    const health = await lab.get<Health>("cloud", "/healthz");
    assert.equal(health?.components["storage"]?.status, "ok");
    assert.doesNotMatch(lab.log("cloud"), /gone from the disk/);
    assert.equal((await lab.boatStatus())?.backfill_remaining_seqs, 0);
  },
});

Deno.test({
  name: "after a crash of the cloud its status is right before the boat comes back or anybody reads",
  ...PROCESSES,
  fn: async () => {
    await using lab = await ReplicationLab.start({ rate: 300 });
    await lab.connected();
    for (let round = 0; round < ROUNDS; round++) {
      const until = lab.feed.count + 400;
      lab.feed.rate = 300;
      await eventually("traffic", () => lab.feed.count > until);
      await lab.converged();
      const head = await eventually("everything to be acknowledged", async () => {
        const status = await lab.boatStatus();
        return status && status.cloud_durable_seq === status.local_head_seq && status.local_head_seq;
      });
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
    }
  },
});
