import assert from "node:assert/strict";
import type { DiagnosticEvent } from "../../src/cloud/mod.ts";
import { code } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { wireBlock } from "./block_check_fixture.ts";
import { batch, BOAT, CloudFixture, request, statusWith } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const EVENTS_FILE = "events.log";

function test(name: string, run: (cloud: CloudFixture, folder: string) => Promise<void>): void {
  Deno.test({
    name: `events: ${name}`,
    ...CLOUD,
    fn: () =>
      inFolder(async (folder) => {
        await using cloud = await CloudFixture.start(`${folder}/data`);
        await run(cloud, folder);
      }),
  });
}

/** Types of the events, oldest first. */
async function typesOf(cloud: CloudFixture, only: (event: DiagnosticEvent) => boolean = () => true) {
  return (await cloud.boat.events.list()).filter(only).map(({ type }) => type).reverse();
}

const isLive = ({ type }: DiagnosticEvent) => type === "live_start" || type === "live_stop";

/** What a power cut would leave of the boat's directory, served by another cloud. */
async function afterCrash(cloud: CloudFixture, folder: string): Promise<CloudFixture> {
  copyAsCrashed(`${cloud.directory}/${BOAT}`, `${folder}/crashed/${BOAT}`);
  return await CloudFixture.start(`${folder}/crashed`);
}

test("live_start and live_stop alternate, whoever takes over, and nothing else is either", async (cloud) => {
  const [one, other] = [new Uint8Array(16).fill(1), new Uint8Array(16).fill(2)];
  const first = (await cloud.greeted({ epoch: one })).client.live();
  await first.send(batch(1, 10));
  await eventually("its frames", () => cloud.boat.received.cursor === 10);
  const second = (await cloud.greeted({ epoch: one, headSeq: 10 })).client.live();
  await statusWith(second, () => true);
  await assert.rejects(statusWith(first, () => false), code("ABORTED"));
  // Another epoch while frame 11 is missing, and then the former one again.
  await cloud.greeted({ epoch: one, headSeq: 11 });
  await cloud.greeted({ epoch: other });
  await assert.rejects(statusWith(second, () => false), code("ABORTED"));
  await assert.rejects(cloud.greeted({ epoch: one, headSeq: 11 }), code("FAILED_PRECONDITION"));
  await eventually("the end", () => !cloud.boat.connected);
  assert.deepEqual(await typesOf(cloud, isLive), ["live_start", "live_stop", "live_start", "live_stop"]);
  const checkpoints = (await cloud.boat.events.list()).filter(({ type }) => type === "checkpoint")
    .map(({ detail }) => detail).reverse();
  assert.equal(checkpoints.length, 3, String(checkpoints));
  assert.match(checkpoints[0]!, /^epoch 01.* begins: the boat is here for the first time/);
  assert.match(checkpoints[1]!, /^epoch 02.* begins: .*; 1 frames of epoch 01.* never came/);
  assert.match(checkpoints[2]!, /^refused: epoch 01.* was followed by 02/);
});

test("a block with other content than what is here is a checkpoint, and no block_received", async (cloud) => {
  const features = ["batch", "void", "bus", "quiet-status", "digest"];
  const { client } = await cloud.greeted({ headSeq: 200, features });
  const backfill = client.backfill();
  const answers = backfill[Symbol.asyncIterator]();
  await backfill.send({ block: wireBlock({ firstSeq: 1, frames: 100 }) });
  await answers.next();
  await backfill.send({ block: wireBlock({ firstSeq: 51, frames: 100, startUs: 1_000_000 }) });
  await assert.rejects(
    async () => {
      while (!(await answers.next()).done);
    },
    code("FAILED_PRECONDITION"),
  );
  await eventually("the end", async () => (await typesOf(cloud)).includes("backfill_stop"));
  assert.equal((await typesOf(cloud)).filter((type) => type === "block_received").length, 1);
  const refusals = (await cloud.boat.events.list()).filter(({ detail }) => detail.startsWith("refused: "));
  assert.ok(refusals.length > 0 && refusals.every(({ type }) => type === "checkpoint"), JSON.stringify(refusals));
});

test("events are there after a restart, and a stream that was cut by a crash has its stop", async (cloud, folder) => {
  const live = (await cloud.greeted()).client.live();
  await live.send(batch(1, 10));
  await eventually("the start in the file", () => {
    try {
      return Deno.readTextFileSync(`${cloud.directory}/${BOAT}/${EVENTS_FILE}`).includes("live_start");
    } catch {
      return false;
    }
  });
  const before = await cloud.boat.events.list();
  {
    await using crashed = await afterCrash(cloud, folder);
    const [stop, ...others] = await crashed.boat.events.list();
    assert.deepEqual(others, before);
    assert.deepEqual([stop?.type, stop?.detail], ["live_stop", "the cloud has ended without notice"]);
    assert.ok(stop!.timeMs >= others[0]!.timeMs);
    await crashed.boat.handshake(request({ headSeq: 10 }));
    assert.equal((await crashed.boat.events.list()).length, before.length + 1, "it is told once");
  }
  {
    await using again = await CloudFixture.start(`${folder}/crashed`);
    assert.deepEqual(await typesOf(again, isLive), ["live_start", "live_stop"]);
  }
  live.end();
  await eventually("the end", () => !cloud.boat.connected);
  assert.deepEqual(await typesOf(cloud, isLive), ["live_start", "live_stop"]);
});

test("a stream that is open when the cloud stops has its stop in the file", async (cloud) => {
  const live = (await cloud.greeted()).client.live();
  await statusWith(live, () => true);
  cloud.service.stop();
  await cloud.instances.stop();
  const text = Deno.readTextFileSync(`${cloud.directory}/${BOAT}/${EVENTS_FILE}`);
  assert.match(text, /live_stop.*the server is stopping/);
});
