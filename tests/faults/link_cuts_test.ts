import assert from "node:assert/strict";
import { eventually, pause } from "../support/eventually.ts";
import { environment } from "../support/needs.ts";
import { PROCESSES } from "../support/replication_faults.ts";
import { Random } from "../support/random.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 4);
const NOTHING_WRONG = "missing 0, extra 0, different 0";

/** Cuts the link once, in one of the ways in which links are cut. */
async function cut(lab: ReplicationLab, { kind, random }: { kind: string; random: Random }): Promise<void> {
  if (kind === "fin" || kind === "rst") return lab.proxy.cut(kind);
  lab.proxy.mode = kind === "hold" ? "hold" : "swallow";
  await pause(random.int(2000));
  lab.proxy.mode = "pass";
}

for (const kinds of [["fin", "rst", "hold"], ["swallow"]]) {
  const rounds = kinds.length === 1 ? Math.ceil(ROUNDS / 8) : ROUNDS;
  Deno.test({
    name: `a link cut ${rounds} times by ${kinds.join(", ")} under load: the cloud holds every frame once, the same`,
    ...PROCESSES,
    fn: async () => {
      const random = new Random(71 + kinds.length);
      await using lab = await ReplicationLab.start();
      await lab.connected();
      for (let round = 0; round < rounds; round++) {
        const until = lab.feed.count + random.between(50, 600);
        await eventually("traffic", () => lab.feed.count >= until);
        await cut(lab, { kind: random.pick(kinds), random });
      }
      await lab.converged();
      const { text, truth, isGood } = await lab.audit();
      assert.ok(isGood && text.includes(NOTHING_WRONG), text);
      assert.equal(truth?.unrecorded, 0, text);
      assert.match(text, /claimed 0$/m);
    },
  });
}
