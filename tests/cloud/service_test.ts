import assert from "node:assert/strict";
import { silentLogger } from "../../src/base/mod.ts";
import { loadState, STATE_FILE, stateFile } from "../../src/cloud/mod.ts";
import { JournalIndex } from "../../src/journal/mod.ts";
import type { BackfillStatus, BackfillUpstream, MessageStream } from "../../src/replication/mod.ts";
import { code, TIMEOUT } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { copyAsCrashed, inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { range as seqs } from "../support/session.ts";
import { EPOCH, wireBlock } from "./block_check_fixture.ts";
import {
  batch,
  BOAT,
  CloudFixture,
  type CloudInit,
  framesIn,
  liveFrame,
  request,
  statusWith,
  wanted,
} from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });

function test(name: string, run: (cloud: CloudFixture, folder: string) => Promise<void>, init: CloudInit = {}): void {
  Deno.test({
    name: `cloud service: ${name}`,
    ...CLOUD,
    fn: () =>
      inFolder(async (folder) => {
        await using cloud = await CloudFixture.start(`${folder}/data`, init);
        await run(cloud, folder);
      }),
  });
}

function range(start: number, end: number): { start: number; end: number } {
  return { start, end };
}

test("a boat that comes for the first time is asked for all, and live begins with its head", async (cloud) => {
  const { response } = await cloud.greeted({ headSeq: 2000 });
  assert.deepEqual(response, {
    cursor: 0,
    holes: [range(1, 2000)],
    liveStartFrom: 2000,
    features: ["batch", "void", "bus", "quiet-status"],
    known: false,
    durableThrough: 0,
    rateLimit: 0,
    rateBurst: 500,
  });
  assert.equal((await cloud.greeted({ headSeq: 2000 })).response.known, true);
  assert.equal((await cloud.greeted({ instanceId: "boat-002" })).response.liveStartFrom, 1);
  assert.deepEqual([...cloud.instances].map(({ id }) => id), [BOAT, "boat-002"]);
});

test("live frames are acknowledged when they are on disk, and are there after a restart", async (cloud, folder) => {
  const { client } = await cloud.greeted();
  const live = client.live();
  await live.send(batch(1, 500));
  await live.send({ kind: "frame", frame: liveFrame(501) });
  await live.send({ kind: "status", status: { headSeq: 501, journalBytes: 77 } });
  await eventually("all to be durable", () => cloud.boat.acknowledge() === 501);
  copyAsCrashed(`${cloud.directory}/${BOAT}`, `${folder}/second/${BOAT}`);
  const { connected, cursor, ackSeq, boatHeadSeq, boatJournalBytes, holes, lagSeqs } = cloud.boat.summary();
  assert.deepEqual([connected, cursor, ackSeq, boatHeadSeq, boatJournalBytes], [true, 501, 501, 501, 77]);
  assert.deepEqual([holes, lagSeqs], [[], 0]);
  live.end();
  await eventually("the stream to end", () => !cloud.boat.connected);
  await using second = await CloudFixture.start(`${folder}/second`);
  assert.equal(second.boat.connected, false);
  const { response } = await second.greeted({ headSeq: 501 });
  assert.deepEqual([response.cursor, response.holes, response.liveStartFrom], [501, [], 502]);
  assert.deepEqual(await framesIn(second.boat.directory), seqs(1, 501).map(wanted));
});

test("a status comes at once, and every few seconds although nothing else does", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 5 });
  const live = client.live();
  assert.deepEqual(await statusWith(live, () => true), { ackSeq: 0, receivedThrough: 0 });
  await live.send(batch(5, 9));
  const status = await statusWith(live, ({ receivedThrough }) => receivedThrough === 9);
  assert.equal(status.ackSeq, 0, "the frames below 5 are missing");
});

test("blocks fill holes, newest state is told, and what comes twice is stored once", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 2001 });
  const live = client.live();
  await live.send(batch(2001, 2010));
  await eventually("live frames", () => cloud.boat.received.liveThrough === 2010);
  const backfill = client.backfill();
  const answers = backfill[Symbol.asyncIterator]();
  await backfill.send({ block: wireBlock({ firstSeq: 1001, frames: 500 }) });
  assert.deepEqual((await answers.next()).value, {
    continuousThrough: 0,
    remaining: [range(1, 1001), range(1501, 2001)],
    filled: [range(1001, 1501)],
    rejected: [],
  });
  await backfill.send({ block: wireBlock({ firstSeq: 1001, frames: 500 }) });
  const again: BackfillStatus | void = (await answers.next()).value;
  assert.deepEqual(again?.filled, [range(1001, 1501)]);
  await backfill.send({ block: wireBlock({ firstSeq: 1401, frames: 600 }) });
  await backfill.send({ block: wireBlock({ firstSeq: 1, frames: 1000, compressed: false, blockBytes: 32_768 }) });
  backfill.end();
  await lastOf(backfill, answers);
  assert.equal(cloud.boat.received.cursor, 2010);
  const { backfillBlocks, backfillFrames, verifyFailures } = cloud.boat.summary().counters;
  assert.deepEqual([backfillBlocks, backfillFrames, verifyFailures], [3, 2000, 0]);
  live.end();
  await eventually("the end", () => !cloud.boat.connected);
  await cloud.boat.stop();
  assert.deepEqual(await framesIn(cloud.boat.directory), seqs(1, 2010).map(wanted));
  const types = (await cloud.boat.events.list()).map(({ type }) => type);
  assert.deepEqual(types, [
    ...["live_stop", "backfill_stop"],
    ...["block_received", "block_received", "block_received", "backfill_start", "live_start", "checkpoint"],
  ]);
});

async function lastOf(
  _stream: MessageStream<BackfillStatus, BackfillUpstream>,
  answers: AsyncIterator<BackfillStatus>,
): Promise<BackfillStatus | undefined> {
  let last: BackfillStatus | undefined;
  for (;;) {
    const { value, done } = await answers.next();
    if (done) return last;
    last = value;
  }
}

test("a block that lies is rejected with the reason, counted, and the next one is taken", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 2001 });
  const backfill = client.backfill();
  const answers = backfill[Symbol.asyncIterator]();
  const bad = wireBlock({ firstSeq: 1 });
  await backfill.send({ block: { ...bad, baseSeq: 2 } });
  await backfill.send({ block: { ...bad, data: bad.data.map((byte, i) => i === 40 ? byte ^ 1 : byte) } });
  await backfill.send({ block: wireBlock({ firstSeq: 1, epoch: new Uint8Array(16).fill(9) }) });
  await backfill.send({ block: wireBlock({ firstSeq: 5000 }) });
  await backfill.send({ block: wireBlock({ firstSeq: 1 }) });
  backfill.end();
  const [rejected, filled]: [string[], unknown[]] = [[], []];
  for (let next = await answers.next(); !next.done; next = await answers.next()) {
    rejected.push(...next.value.rejected.map(({ reason }) => reason));
    filled.push(...next.value.filled);
  }
  assert.equal(rejected.length, 4);
  assert.match(rejected[0]!, /first number .* says 2/);
  assert.match(rejected[2]!, /epoch/);
  assert.match(rejected[3]!, /after the boat's head, 2001/);
  assert.deepEqual(filled, [range(1, 101)]);
  assert.equal(cloud.boat.summary().counters.verifyFailures, 4);
});

test("a stream without a handshake before it is refused", async (cloud) => {
  const client = await cloud.client();
  await assert.rejects(statusWith(client.live(), () => true), code("FAILED_PRECONDITION", /handshake/));
  const backfill = client.backfill();
  await assert.rejects(backfill[Symbol.asyncIterator]().next(), code("FAILED_PRECONDITION", /handshake/));
});

test("a second connection of the boat takes over, and the older one brings nothing more", async (cloud) => {
  const first = (await cloud.greeted()).client.live();
  await first.send(batch(1, 10));
  await eventually("its frames", () => cloud.boat.received.cursor === 10);
  const second = (await cloud.greeted({ headSeq: 10 })).client.live();
  await statusWith(second, () => true);
  await assert.rejects(statusWith(first, () => false), code("ABORTED", /took over/));
  assert.equal(cloud.boat.connected, true);
  await second.send(batch(11, 20));
  await eventually("the second's frames", () => cloud.boat.received.cursor === 20);
  assert.equal([...cloud.instances].filter(({ connected }) => connected).length, 1);
});

test("a boat that is too fast is cut off, and another connection brings no fresh burst", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 5 });
  const live = client.live();
  // Up to the head nothing counts.
  await live.send(batch(1, 5));
  await live.send(batch(6, 15));
  await live.send(batch(16, 16));
  await assert.rejects(statusWith(live, () => false), code("RESOURCE_EXHAUSTED", /rate exceeded \(10\/s/));
  const again = (await cloud.greeted({ headSeq: 16 })).client.live();
  await again.send(batch(17, 17));
  await assert.rejects(statusWith(again, () => false), code("RESOURCE_EXHAUSTED"));
  assert.equal(cloud.boat.summary().counters.rateLimited, 2);
  assert.equal(cloud.boat.received.cursor, 15);
}, { settings: { rateLimit: 10, rateBurst: 10 }, clock: new FakeClock() });

test("frames up to the head that a boat tells before its first one come beside the rate", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 5 });
  const live = client.live();
  await live.send({ kind: "status", status: { headSeq: 500, journalBytes: 0 } });
  await live.send(batch(5, 500));
  // What it tells later makes no room.
  await live.send({ kind: "status", status: { headSeq: 600, journalBytes: 0 } });
  await live.send(batch(501, 510));
  await eventually("the frames", () => cloud.boat.received.liveThrough === 510);
  await live.send(batch(511, 511));
  await assert.rejects(statusWith(live, () => false), code("RESOURCE_EXHAUSTED", /rate exceeded \(10\/s/));
}, { settings: { rateLimit: 10, rateBurst: 10 }, clock: new FakeClock() });

test("a boat too far ahead of its stream is cut off, but not before its first frame", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 1 });
  const live = client.live();
  await live.send({ kind: "status", status: { headSeq: 500, journalBytes: 0 } });
  await live.send(batch(1, 1));
  await eventually("the frame", () => cloud.boat.received.cursor === 1);
  await live.send({ kind: "status", status: { headSeq: 101, journalBytes: 0 } });
  await live.send({ kind: "status", status: { headSeq: 102, journalBytes: 0 } });
  await assert.rejects(statusWith(live, () => false), code("RESOURCE_EXHAUSTED", /lag 101 exceeds threshold 100/));
  assert.equal(cloud.boat.summary().counters.lagClosed, 1);
}, { settings: { maxLiveLagFrames: 100 } });

test("numbers that begin again begin afresh, what the former run lacks is told, and it is a clone's", async (cloud) => {
  const { client } = await cloud.greeted();
  const live = client.live();
  await live.send(batch(8, 30));
  await eventually("frames", () => cloud.boat.received.last === 30);
  const epoch = new Uint8Array(16).fill(0xb7);
  const { response } = await cloud.greeted({ headSeq: 4, epoch });
  assert.deepEqual([response.cursor, response.holes, response.liveStartFrom], [0, [range(1, 4)], 4]);
  await assert.rejects(statusWith(live, () => false), code("ABORTED", /begun a new epoch/));
  await assert.rejects(cloud.greeted({ headSeq: 31 }), code("FAILED_PRECONDITION", /two machines/));
  assert.deepEqual([cloud.boat.summary().epoch, cloud.boat.summary().counters.leftFrames], [epoch.toHex(), 7]);
  const details = (await cloud.boat.events.list()).map(({ detail }) => detail).join("\n");
  assert.match(details, /^refused: .* two machines may[^]*\nepoch b7.* begins: .*; 7 frames of epoch a1/);
});

test("what a boat says that it never used or lost is no hole, and the lag counts frames", async (cloud) => {
  const lost = [{ start: 50, end: 60, reason: "pruned" }];
  const { response } = await cloud.greeted({ headSeq: 100, void: [range(1, 50)], lost });
  assert.deepEqual([response.cursor, response.holes], [59, [range(60, 100)]]);
  const live = (await cloud.greeted({ headSeq: 200, void: [range(60, 150)] })).client.live();
  await live.send(batch(200, 200));
  await eventually("the frame", () => cloud.boat.received.liveThrough === 200);
  const { lagSeqs, cursor, holes, lost: told } = cloud.boat.summary();
  assert.deepEqual([cursor, holes, lagSeqs, told], [149, [range(150, 200)], 51, lost]);
});

test("a handshake in the middle of a connection disturbs nothing", async (cloud) => {
  const { client } = await cloud.greeted();
  const live = client.live();
  await live.send(batch(1, 10));
  await eventually("frames", () => cloud.boat.received.cursor === 10);
  const { response } = await client.handshake(request({ headSeq: 12, void: [range(11, 12)] }), TIMEOUT);
  assert.deepEqual([response.cursor, response.liveStartFrom], [11, 12]);
  await live.send(batch(12, 20));
  await eventually("the rest", () => cloud.boat.received.cursor === 20);
});

test("frames without a number are neither counted nor stored", async (cloud) => {
  const { client } = await cloud.greeted();
  const live = client.live();
  await live.send({ kind: "frame", frame: { ...liveFrame(1), seq: 0 } });
  await live.send(batch(1, 3));
  await eventually("frames", () => cloud.boat.acknowledge() === 3);
  assert.equal(cloud.boat.summary().counters.liveFrames, 3);
});

test("live frames that come twice or late are counted and not stored again", async (cloud) => {
  const { client } = await cloud.greeted();
  const live = client.live();
  await live.send(batch(1, 10));
  await live.send(batch(8, 12));
  await live.send(batch(20, 20));
  await live.send(batch(15, 16));
  await live.send(batch(21, 21));
  await eventually("frames", () => cloud.boat.received.liveThrough === 21);
  const { duplicateFrames, refusedFrames } = cloud.boat.summary().counters;
  assert.deepEqual([duplicateFrames, refusedFrames], [3, 2]);
  const { response } = await cloud.greeted({ headSeq: 21 });
  assert.deepEqual(response.holes, [range(13, 20)]);
});

test("who is not let in any more is cut off at once", async (cloud) => {
  const { client } = await cloud.greeted();
  const [live, backfill] = [client.live(), client.backfill()];
  await statusWith(live, () => true);
  await eventually(
    "backfill",
    async () => (await cloud.boat.events.list()).some(({ type }) => type === "backfill_start"),
  );
  cloud.service.recheck(({ instanceId }) => instanceId !== BOAT);
  await assert.rejects(statusWith(live, () => false), code("UNAUTHENTICATED"));
  await assert.rejects(backfill[Symbol.asyncIterator]().next(), code("UNAUTHENTICATED"));
});

test("no more boats are taken than are allowed", async (cloud) => {
  await cloud.greeted();
  await assert.rejects(
    cloud.greeted({ instanceId: "boat-002" }),
    code("RESOURCE_EXHAUSTED", /1 boats already, the maximum/),
  );
  await cloud.greeted();
}, { settings: { maxInstances: 1 } });

test("what is known of a boat is written down", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 20, busNames: ["a", "b"] });
  const live = client.live();
  await live.send(batch(20, 30));
  await eventually("frames", () => cloud.boat.received.last === 30);
  live.end();
  const path = cloud.boat.directory;
  await eventually("the end", () => !cloud.boat.connected);
  await cloud.boat.stop();
  assert.ok((await Deno.stat(`${path}/${STATE_FILE}`)).isFile);
  const journal = () => JournalIndex.open(path, { log: silentLogger });
  const state = await loadState(stateFile(path), { id: BOAT, journal, log: silentLogger });
  assert.deepEqual(state.received.durable, [range(20, 31)]);
  assert.deepEqual(state.buses, ["a", "b"]);
});

test("a peer's boat, which names no run of numbers, is asked and taken as others are", async (cloud) => {
  const peer = { epoch: undefined, features: [], busNames: [] };
  const { client, response } = await cloud.greeted({ ...peer, headSeq: 200 });
  assert.deepEqual([response.holes, response.liveStartFrom, response.features], [[range(1, 200)], 200, []]);
  const live = client.live();
  for (const seq of seqs(200, 210)) await live.send({ kind: "frame", frame: liveFrame(seq) });
  const backfill = client.backfill();
  await backfill.send({ block: wireBlock({ firstSeq: 1, frames: 250, epoch: undefined }) });
  const { value: answer } = await backfill[Symbol.asyncIterator]().next();
  assert.deepEqual([answer?.filled, answer?.rejected, answer?.remaining], [[range(1, 251)], [], []]);
  await eventually("all", () => cloud.boat.acknowledge() === 250);
  const again = await cloud.greeted({ ...peer, headSeq: 250 });
  assert.deepEqual([again.response.cursor, again.response.holes], [250, []]);
  const restarted = await cloud.greeted({ ...peer, headSeq: 30 });
  assert.deepEqual([restarted.response.cursor, restarted.response.holes], [0, [range(1, 30)]]);
});

test("a second backfill of the boat takes over", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 1000 });
  const first = client.backfill();
  const answers = first[Symbol.asyncIterator]();
  await first.send({ block: wireBlock({ firstSeq: 1 }) });
  await answers.next();
  const second = client.backfill();
  await second.send({ block: wireBlock({ firstSeq: 101 }) });
  assert.deepEqual((await second[Symbol.asyncIterator]().next()).value?.filled, [range(101, 201)]);
  await assert.rejects(answers.next(), code("ABORTED", /took over/));
});

test("where there are too many holes, a block that makes another one is rejected until others are filled", async (cloud) => {
  const gaps = Array.from({ length: 16_384 }, (_, i) => range(3 + 3 * i, 4 + 3 * i));
  const { client } = await cloud.greeted({ headSeq: 100_000, void: gaps });
  const backfill = client.backfill();
  const answers = backfill[Symbol.asyncIterator]();
  await backfill.send({ block: wireBlock({ firstSeq: 60_000 }) });
  const { value: refused } = await answers.next();
  assert.match(refused?.rejected[0]?.reason ?? "", /too many holes/);
  await backfill.send({ block: wireBlock({ firstSeq: 1 }) });
  assert.deepEqual((await answers.next()).value?.filled, [range(1, 101)]);
  await backfill.send({ block: wireBlock({ firstSeq: 60_000 }) });
  assert.deepEqual((await answers.next()).value?.filled, [range(60_000, 60_100)]);
});

test("when it stops, all streams are told, and everything is on disk", async (cloud) => {
  const { client } = await cloud.greeted({ headSeq: 1 });
  const live = client.live();
  await live.send(batch(1, 50));
  await eventually("frames", () => cloud.boat.received.cursor === 50);
  cloud.service.stop();
  await cloud.instances.stop();
  await assert.rejects(statusWith(live, () => false), code("UNAVAILABLE", /stopping/));
  await assert.rejects(cloud.greeted(), code("UNAVAILABLE", /stopping/));
  assert.deepEqual(await framesIn(cloud.boat.directory), seqs(1, 50).map(wanted));
}, { settings: { syncIntervalMs: 3_600_000 } });

test("every 50 000 live frames a checkpoint is noted, and streams say why they ended", async (cloud) => {
  const { client } = await cloud.greeted();
  const live = client.live();
  for (let from = 1; from <= 100_000; from += 4000) await live.send(batch(from, from + 3999));
  live.end();
  await eventually("the end", async () => (await cloud.boat.events.list(1))[0]?.type === "live_stop");
  const details = (await cloud.boat.events.list()).map(({ type, detail }) => `${type}: ${detail}`);
  assert.deepEqual(details, [
    "live_stop: 100000 frames: the boat ended the stream",
    "checkpoint: 100000 frames, cursor 100000, boat at 100000",
    "checkpoint: 52000 frames, cursor 52000, boat at 52000",
    "live_start: boat at 0, cursor 0",
    `checkpoint: epoch ${EPOCH.toHex()} begins: the boat is here for the first time`,
  ]);
}, { settings: { blockBytes: 262_144 } });
