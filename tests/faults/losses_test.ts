import assert from "node:assert/strict";
import { openBlockFile } from "../../src/journal/mod.ts";
import { eventually } from "../support/eventually.ts";
import { journalFiles } from "../support/journal_run.ts";
import { PROCESSES } from "../support/replication_faults.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const NOTHING_WRONG = "missing 0, extra 0, different 0";

/** A lab whose cloud goes away for some thousand messages, which the boat records in many small files. */
async function afterOutage(boatFlags: readonly string[]): Promise<ReplicationLab> {
  const small = ["-journal-block-size", "4096", "-journal-rotate-size", "20KB"];
  const lab = await ReplicationLab.start({ rate: 1500, boatFlags: [...small, ...boatFlags] });
  try {
    await lab.connected();
    await eventually("traffic", () => lab.feed.count > 500);
    await lab.end("cloud", "SIGTERM");
    const until = lab.feed.count + 9000;
    await eventually("traffic without a cloud", () => lab.feed.count > until);
    return lab;
  } catch (error) {
    await lab[Symbol.asyncDispose]();
    throw error;
  }
}

Deno.test({
  name: "what a boat had to delete before it could send it is told as lost, and nothing else is missing",
  ...PROCESSES,
  fn: async () => {
    await using lab = await afterOutage(["-journal-retention-max-size", "60KB"]);
    await lab.begin("cloud");
    await lab.converged();
    const { text, isGood, truth, epochs } = await lab.audit();
    assert.ok(isGood && text.includes(NOTHING_WRONG), text);
    const lost = epochs[0]!.lost.count;
    assert.ok(lost > 1000, text);
    assert.equal(truth?.unrecorded, lost, text);
    assert.ok(epochs[0]!.pruned.count > 0, text);
  },
});

Deno.test({
  name: "a block that is damaged on the boat's disk is told as lost, and all others come",
  ...PROCESSES,
  fn: async () => {
    await using lab = await afterOutage([]);
    const journal = `${lab.folder}/journal`;
    const path = `${journal}/${journalFiles(journal).at(-3)!}`;
    const { blocks } = await openBlockFile(path);
    const { offset, bytes: length } = blocks[blocks.length >> 1]!;
    const bytes = Deno.readFileSync(path);
    // In the middle of what is packed, where more than a bit that means nothing is.
    for (let at = 0; at < 8; at++) bytes[offset + (length >> 1) + at]! ^= 0xff;
    Deno.writeFileSync(path, bytes);
    await lab.begin("cloud");
    await lab.converged();
    const { text, isGood, truth, epochs, damage } = await lab.audit();
    assert.ok(isGood && text.includes(NOTHING_WRONG), text);
    assert.equal(damage.boat.length, 1, text);
    const lost = epochs[0]!.lost.count;
    assert.ok(lost > 50 && lost < 2000, text);
    assert.equal(truth?.unrecorded, lost, text);
  },
});
