import assert from "node:assert/strict";
import { Cable, mayHaveCables } from "../support/cable.ts";
import { eventually, pause } from "../support/eventually.ts";
import { environment, needs, SLOW } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const CABLE = needs({
  extras: SLOW,
  permissions: ["run", "read", "write", "net", "env", "sys"],
  programs: ["ip", "socat"],
  others: { "the right to make network namespaces": mayHaveCables() },
});
const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 2);

Deno.test({
  name: `a cable pulled out ${ROUNDS} times under load: the cloud holds every frame once, the same`,
  ...CABLE,
  fn: async () => {
    const random = new Random(83);
    await using lab = await ReplicationLab.start({ layCable: (port) => Cable.lay(port) });
    const { cable } = lab;
    assert.ok(cable);
    for (let round = 0; round < ROUNDS; round++) {
      await lab.connected();
      const until = lab.feed.count + random.between(50, 600);
      await eventually("traffic", () => lab.feed.count >= until);
      await cable.pull();
      const without = lab.feed.count + random.between(50, 1200);
      await eventually("traffic without a cable", () => lab.feed.count >= without);
      await cable.plug();
      // At once, or after connections were given up: both happen.
      if (random.chance(0.5)) await pause(random.int(1000));
    }
    await lab.converged();
    const { text, truth, isGood } = await lab.audit();
    assert.ok(isGood && text.includes("missing 0, extra 0, different 0"), text);
    assert.equal(truth?.unrecorded, 0, text);
    assert.match(text, /claimed 0$/m);
  },
});
