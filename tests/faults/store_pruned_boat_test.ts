// A boat whose journal has only what the cloud has not stored, and a cloud whose node is lost.
import assert from "node:assert/strict";
import { expectedLine } from "../../cli/commands/audit/expected.ts";
import { buildCanId } from "../../src/frame/mod.ts";
import { openStore } from "../../src/object_store/mod.ts";
import { eventually } from "../support/eventually.ts";
import { journalFiles } from "../support/journal_run.ts";
import { readLpj } from "../support/minimal_lpj_reader.ts";
import { environment, IS_FULL } from "../support/needs.ts";
import { START_MS } from "../support/program.ts";
import { PROCESSES } from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? (IS_FULL ? 20 : 1));
const PATIENT = { deadlineMs: START_MS };

/** All frames of the store, as the feed writes down what it puts on the bus. */
async function linesOf(url: string): Promise<Set<string>> {
  const lines = new Set<string>();
  using store = await openStore({ url });
  for await (const page of store.list({ prefix: "instances/" })) {
    for (const { key } of page) {
      for (const { frames } of readLpj(await store.get(key)).blocks) {
        for (const { data, ...id } of frames) lines.add(expectedLine(buildCanId(id), Uint8Array.fromHex(data)));
      }
    }
  }
  return lines;
}

/** Waits until each file that the boat's journal has now is deleted. */
async function pruned({ folder }: ReplicationLab): Promise<void> {
  const directory = `${folder}/journal`;
  const files = new Set(journalFiles(directory));
  await eventually("the files to be deleted", () => !journalFiles(directory).some((name) => files.has(name)), PATIENT);
}

Deno.test(
  `a boat deletes what is stored, its cloud's node is lost ${ROUNDS} times, and the store has every message of the bus`,
  PROCESSES,
  async () => {
    await using lab = await ReplicationLab.start({
      rate: 200,
      boatFlags: ["-journal-rotate-duration", "1s", "-journal-retention-max-age", "1s"],
      cloudFlags: (folder) => ["-store", `file://${folder}/store`, "-store-interval", "1s"],
    });
    await lab.connected();
    for (let round = 0; round < ROUNDS; round++) {
      await pruned(lab);
      await lab.end("cloud", "SIGKILL");
      await Deno.remove(`${lab.folder}/cloud`, { recursive: true });
      const until = lab.feed.count + 100;
      await eventually("traffic", () => lab.feed.count >= until);
      await lab.begin("cloud");
      await lab.connected();
    }
    await pruned(lab);
    lab.feed.rate = 0;
    await lab.converged();
    const head = (await lab.boatStatus())?.local_head_seq;
    assert.ok(head);
    const stored = () => lab.get<{ cloud_stored_seq: number }>("boat", "/replication/status");
    await eventually("all to be stored", async () => (await stored())?.cloud_stored_seq === head, PATIENT);
    const found = await linesOf(`file://${lab.folder}/store`);
    const fed = (await Deno.readTextFile(lab.feed.truthPath)).trimEnd().split("\n");
    assert.equal(fed.length, lab.feed.count);
    assert.deepEqual(fed.filter((line) => !found.has(line)), []);
    assert.equal(found.size, fed.length);
  },
);
