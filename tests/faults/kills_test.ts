import assert from "node:assert/strict";
import { eventually, pause } from "../support/eventually.ts";
import { environment, IS_FULL } from "../support/needs.ts";
import { PROCESSES } from "../support/replication_faults.ts";
import { Random } from "../support/random.ts";
import { ReplicationLab } from "../support/replication_lab.ts";

const ROUNDS = Number(environment("VBG_TEST_ROUNDS") ?? 2);
/** Everyday once for one of them: both are killed twice. */
const SINGLE_ROUNDS = IS_FULL ? ROUNDS : Number(environment("VBG_TEST_ROUNDS") ?? 1);
const NOTHING_WRONG = "missing 0, extra 0, different 0";

/** Lets traffic flow for a random while. */
async function traffic(lab: ReplicationLab, random: Random): Promise<void> {
  const until = lab.feed.count + random.between(50, 1200);
  await eventually("traffic", () => lab.feed.count >= until);
}

Deno.test({
  name:
    `a cloud killed ${SINGLE_ROUNDS} times under load keeps what it acknowledged, and ends up with every frame once`,
  ...PROCESSES,
  fn: async () => {
    const random = new Random(73);
    await using lab = await ReplicationLab.start();
    await lab.connected();
    for (let round = 0; round < SINGLE_ROUNDS; round++) {
      await traffic(lab, random);
      const acknowledged = (await lab.boatStatus())?.cloud_durable_seq ?? 0;
      await lab.end("cloud", "SIGKILL");
      await pause(random.int(500));
      await lab.begin("cloud");
      // What it knows of its files is some seconds old until it opens them for the boat.
      const { cursor } = await lab.connected();
      assert.ok(cursor >= acknowledged, `round ${round}: ${acknowledged} were acknowledged, ${cursor} are here`);
    }
    await lab.converged();
    const { text, truth, isGood } = await lab.audit();
    assert.ok(isGood && text.includes(NOTHING_WRONG), text);
    assert.equal(truth?.unrecorded, 0, text);
    assert.match(text, /claimed 0$/m);
  },
});

Deno.test({
  name:
    `a boat killed ${SINGLE_ROUNDS} times under load: the cloud holds what the boat has, and what it lost, each once`,
  ...PROCESSES,
  fn: async () => {
    const random = new Random(79);
    await using lab = await ReplicationLab.start();
    for (let round = 0; round < SINGLE_ROUNDS; round++) {
      await lab.connected();
      await traffic(lab, random);
      await lab.end("boat", "SIGKILL");
      await eventually("the end of its streams", async () => (await lab.cloudStatus())?.connected === false);
      await pause(random.int(500));
      await lab.begin("boat");
    }
    await lab.converged();
    const { text, isGood } = await lab.audit();
    assert.ok(isGood && text.includes(NOTHING_WRONG), text);
    assert.match(text, /claimed 0$/m);
    assert.doesNotMatch(lab.log("cloud"), /a boat is refused/);
  },
});

Deno.test({
  name: `both killed ${ROUNDS} times, in any order: no frame is missing, none is there twice, none is another one`,
  ...PROCESSES,
  fn: async () => {
    const random = new Random(83);
    await using lab = await ReplicationLab.start();
    for (let round = 0; round < ROUNDS; round++) {
      await traffic(lab, random);
      const [first, second] = random.shuffle(["boat", "cloud"] as const);
      await lab.end(first!, "SIGKILL");
      await pause(random.int(300));
      await lab.end(second!, "SIGKILL");
      const [third, fourth] = random.shuffle(["boat", "cloud"] as const);
      await lab.begin(third!);
      await lab.begin(fourth!);
    }
    await lab.converged();
    const { text, isGood } = await lab.audit();
    assert.ok(isGood && text.includes(NOTHING_WRONG), text);
    assert.match(text, /claimed 0$/m);
  },
});
