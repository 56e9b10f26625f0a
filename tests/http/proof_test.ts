import assert from "node:assert/strict";
import { type BoatProofSource, proofOfBoat } from "../../src/http/mod.ts";
import { proofInCloud } from "../../src/http/cloud/proof.ts";
import type { ReplicationStatus } from "../../src/replication/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { assertAddsUp } from "../support/proof.ts";
import type { Proof } from "../../src/http/mod.ts";

const DISK = needs({ permissions: ["read", "write"] });

/** A link on which everything up to `head` was confirmed. */
function link(head: number, given: Partial<ReplicationStatus> = {}): ReplicationStatus {
  return {
    ...{ connected: true, instance_id: "boat", local_head_seq: head, cloud_cursor: head, holes: [], live_lag: 0 },
    ...{ backfill_remaining_seqs: 0, last_ack: null, state: "connected", cloud_durable_seq: head, lost: [] },
    ...{ live_frames_sent: 0, backfill_blocks_sent: 0, backfill_bytes_sent: 0, reconnects: 0, lag_reconnects: 0 },
    ...given,
  };
}

function proofOf(given: Partial<BoatProofSource>): Proof {
  const numbered = { first: 101, frames: 100 };
  const nothing = { journal: undefined, replication: undefined, buses: [] };
  return assertAddsUp(proofOfBoat({ asOf: "2026-01-02T03:04:05Z", epoch: "ab", numbered, ...nothing, ...given }));
}

const cloudOf = (
  { in_cloud, on_the_way, missing }: Proof,
) => [in_cloud, on_the_way.cloud, missing.map(({ count, reason }) => [count, reason])];

Deno.test("frames that are not recorded are missing by reason: lost, waiting for a disk that fails, or not explained", () => {
  const counts = { appended: 90, lost: 10, waiting: 7 };
  const recording = proofOf({ journal: { counts, state: { kind: "recording" }, uncleanRange: { from: 91, to: 100 } } });
  assert.deepEqual(recording.unclear.map(({ count, where }) => [count, where]), [[10, "journal"]]);
  assert.deepEqual([recording.recorded, recording.on_the_way.journal], [83, 7]);
  assert.deepEqual(recording.missing.map(({ count, where }) => [count, where]), [[10, "journal"]]);
  const failing = proofOf({
    journal: { counts, state: { kind: "failing", reason: "No space left", since: 0 }, uncleanRange: undefined },
  });
  assert.deepEqual([failing.recorded, failing.on_the_way.journal], [83, 0]);
  assert.deepEqual(failing.missing.map(({ count }) => count), [10, 7]);
  assert.match(failing.missing[1]?.reason ?? "", /No space left/);
  const unexplained = proofOfBoat({
    ...{ asOf: "", epoch: "ab", numbered: { first: 1, frames: 101 }, replication: undefined, buses: [] },
    journal: { counts, state: { kind: "recording" }, uncleanRange: undefined },
  });
  assert.deepEqual(unexplained.missing.at(-1), { count: 1, where: "journal", reason: "not explained" });
});

Deno.test("what the cloud lacks is counted from the start on; what it lacks from before is told apart", () => {
  assert.deepEqual(cloudOf(proofOf({ replication: link(200) })), [100, 0, []]);
  const sending = proofOf({ replication: link(200, { cloud_durable_seq: 150, live_lag: 20 }) });
  assert.deepEqual(cloudOf(sending), [50, 50, []]);
  const silent = proofOf({ replication: link(200, { cloud_durable_seq: 150, last_ack: "2026-01-02T03:03:54Z" }) });
  assert.deepEqual(cloudOf(silent), [50, 0, [[50, "not confirmed by the cloud for more than 10 s"]]]);
  const away = proofOf({ replication: link(200, { connected: false, cloud_durable_seq: 150, live_lag: 20 }) });
  assert.deepEqual(cloudOf(away), [50, 0, [[20, "no connection to the cloud"], [
    30,
    "sent, but not confirmed: no connection to the cloud",
  ]]]);
  const holes = [{ start: 40, end: 60 }, { start: 120, end: 130 }];
  const lost = [{ start: 10, end: 15, reason: "deleted" }, { start: 140, end: 144, reason: "deleted" }];
  const filling = proofOf({ replication: link(200, { cloud_durable_seq: 39, holes, lost }) });
  assert.deepEqual(cloudOf(filling), [0, 86, [[4, "deleted"], [10, "being sent again"]]]);
  assert.deepEqual(filling.earlier?.map(({ count, reason }) => [count, reason]), [[5, "deleted"], [
    20,
    "not sent yet",
  ]]);
});

Deno.test("before the first connection nothing is claimed of the cloud", () => {
  const none = { connected: false, cloud_cursor: 0, cloud_durable_seq: null, live_lag: 100 };
  const { in_cloud, earlier, missing } = proofOf({ replication: link(200, none) });
  assert.deepEqual([in_cloud, earlier, missing.map(({ count }) => count)], [0, null, [100]]);
});

Deno.test("frames without a number are told by bus and reason", () => {
  const bus = { name: "can1", received: 50, dropped: 3, incomplete: { timeout: 2, replaced: 0 } };
  assert.deepEqual(proofOf({ buses: [bus] }).not_numbered?.map(({ count, bus }) => [count, bus]), [[3, "can1"], [
    2,
    "can1",
  ]]);
});

Deno.test(
  "a boat that starts again counts from its start, and every frame of each run",
  DISK,
  () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: `${folder}/state` };
      for (const count of [70, 30]) {
        await using boat = await TestBoat.start({ journal });
        const before = boat.boat.broker.head;
        for (let i = 0; i < count; i++) boat.say();
        const proof = await eventually("all frames on the disk", async () => {
          const now = assertAddsUp(await boat.get<Proof>("/proof"));
          return now.recorded === count && now;
        });
        assert.deepEqual([proof.seen, proof.first, proof.in_cloud, proof.missing], [count, before + 1, null, []]);
      }
    }),
);

Deno.test("frames that disappeared from the cloud's disk are counted once, whether or not they are asked for again", () => {
  const known = { connected: true, epoch: "ab", boatHeadSeq: 100, voidCount: 0, lastSeenMs: 0, lost: [] };
  const vanished = [{ start: 11, end: 21 }];
  const others = { formerEpochs: [], recording: { kind: "recording" as const }, durableCount: 80 };
  const hole = { start: 31, end: 41 };
  for (const holes of [[...vanished, hole], [{ start: 15, end: 21 }, hole], [hole]]) {
    const { missing } = assertAddsUp(proofInCloud({ ...known, ...others, vanished, holes }));
    assert.deepEqual(missing.map(({ count }) => count), [10, 10]);
  }
});
