import assert from "node:assert/strict";
import type { Proof } from "../../src/client/mod.ts";
import { countsOf, whyText } from "../../web/shell/proof_counts.ts";

const PROOF: Proof = {
  ...{ epoch: "e", first: 1, as_of: null, seen: 2199, recorded: 2199, in_cloud: 1228 },
  on_the_way: { journal: 0, cloud: 0 },
  missing: [
    { count: 303, where: "cloud", reason: "sent, but not confirmed" },
    { count: 668, where: "cloud", reason: "no connection" },
  ],
  ...{ unclear: [], earlier: [], not_numbered: [] },
};

Deno.test("the line of frames says every reason, so that the counts add up to the missing frames", () => {
  const line = countsOf(PROOF, false);
  const counts = [...whyText(line).matchAll(/(?:^|; )(\d+) /g)].map(([, count]) => Number(count));
  assert.equal(counts.reduce((sum, count) => sum + count, 0), line.missing);
  assert.equal(line.missing, 2199 - 1228);
});

Deno.test("the line of frames says what is on the way where nothing is missing", () => {
  const line = countsOf({ ...PROOF, missing: [], on_the_way: { journal: 0, cloud: 971 } }, false);
  assert.deepEqual([line.missing, whyText(line)], [0, "971 on the way"]);
});
