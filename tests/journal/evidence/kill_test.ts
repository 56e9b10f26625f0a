import assert from "node:assert/strict";
import { pause } from "../../support/eventually.ts";
import { journalOf, recordSigned, verifyEvidence } from "../../support/evidence.ts";
import { inFolder } from "../../support/folder.ts";
import { needs, rounds } from "../../support/needs.ts";
import { Random } from "../../support/random.ts";

const CHILD = new URL("../../support/evidence_child.ts", import.meta.url).pathname;
const ROUNDS = rounds(100, 4);
const RUN = needs({ permissions: ["env", "read", "run", "sys", "write"] });

/** Records in a process of its own, and kills it some time after its first new statement. */
async function recordAndKill(folder: string, waitMs: number): Promise<void> {
  const args = ["run", "-A", "--no-check", "--quiet", CHILD, folder];
  const child = new Deno.Command(Deno.execPath(), { args, stdout: "piped" }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (text.split("\n").length < 3) {
    const { value, done } = await reader.read();
    assert.ok(!done, "the child did not end by itself");
    text += value;
  }
  await pause(waitMs);
  child.kill("SIGKILL");
  await reader.cancel();
  assert.equal((await child.status).signal, "SIGKILL");
}

Deno.test({
  name: `evidence: killed ${ROUNDS} times at any moment, the next start signs what is left, and nothing looks changed`,
  ...RUN,
  fn: () =>
    inFolder(async (folder) => {
      const random = new Random(41);
      for (let round = 0; round < ROUNDS; round++) {
        await recordAndKill(folder, random.int(60));
        const { faults } = await verifyEvidence(journalOf(folder));
        // A signature is written before its statement.
        const others = faults.filter(({ kind, what }) => kind !== "unsigned" && what !== "its statement is missing");
        assert.deepEqual(others, [], `round ${round}: a kill leaves only files that are not signed`);
      }
      await recordSigned(folder, 10);
      const { faults, signed, late } = await verifyEvidence(journalOf(folder));
      assert.deepEqual(faults, []);
      assert.ok(late >= 1 && signed > late, `${signed} signed, ${late} late`);
    }),
});
