import assert from "node:assert/strict";
import { InstanceRecord } from "../../src/cloud/instance/record.ts";
import { PEER_HOLES_WAIT_MS, PEER_REPLAY_FRAMES } from "../../src/cloud/peer/holes.ts";
import type { Range } from "../../src/replication/mod.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { BOAT, CloudFixture, framesIn, request, SETTINGS, wanted } from "./cloud_fixture.ts";
import { PeerBoat } from "./peer_boat.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const OWN = "boat-002";
/** Longer than the cloud lets a boat wait for a status. */
const STATUS_MS = 5000;

/** Lets time pass until the cloud has looked at the boat's stream again: it answers then. */
async function passes(ms: number, { clock, boat }: { clock: FakeClock; boat: PeerBoat }): Promise<void> {
  const before = boat.statuses + boat.ends.length;
  clock.advance(ms);
  await eventually("a status or an end", () => boat.statuses + boat.ends.length > before);
}

Deno.test("what stood in a peer boat's open block comes after one reconnect, without a new hole", CLOUD, async () => {
  await inFolder(async (folder) => {
    const clock = new FakeClock();
    await using cloud = await CloudFixture.start(folder, { clock, settings: { rateLimit: 2000 } });
    const own = (await cloud.greeted({ instanceId: OWN, headSeq: 150 })).client.live();
    await own.send({ kind: "status", status: { headSeq: 150, journalBytes: 1000 } });
    using boat = await PeerBoat.start(cloud.server.port, BOAT);
    boat.bring(150);
    await boat.connect();
    const { counters } = cloud.boat.record;
    await eventually("the block", () => cloud.boat.received.cursor === 100 && counters.backfillBlocks === 1);
    await eventually("the live frame", () => cloud.boat.record.receivedThrough === 150);
    assert.deepEqual(cloud.boat.record.holes, [{ start: 101, end: 150 }]);
    // The first status may be one that was under way.
    for (let i = 0; i < 2; i++) await passes(STATUS_MS, { clock, boat });
    boat.bring(100);
    boat.tellStatus();
    await eventually("the word on the journal", () => cloud.boat.summary().boatJournalBytes === 2000);
    await own.send({ kind: "status", status: { headSeq: 250, journalBytes: 2000 } });
    await passes(PEER_HOLES_WAIT_MS, { clock, boat });
    await eventually("the end", () => !boat.isStreaming);
    assert.match(boat.ends.join(), /101 to 149 .*reconnect/);
    boat.bring(1000);
    await boat.connect();
    assert.deepEqual([boat.asked.at(-1), boat.starts], [[{ start: 101, end: 150 }], [150, 251]]);
    await eventually("everything", () => cloud.boat.received.cursor === 1250);
    assert.deepEqual(cloud.instances.get(OWN)?.connected, true, "a boat of ours goes on");
    assert.equal(cloud.instances.get(OWN)?.record.holes.length, 1);
    own.end();
    await cloud.instances.stop();
    assert.deepEqual(await framesIn(`${folder}/${BOAT}`), Array.from({ length: 1250 }, (_, i) => wanted(1 + i)));
  });
});

/** A peer's boat in the cloud's account: it streams, and never brings what is missing. */
class BarrenBoat {
  readonly record = new InstanceRecord({
    ...{ epochs: { current: undefined, previous: [] }, headSeq: 0, journalBytes: 0, lastSeenMs: undefined, buses: [] },
    received: { durable: [], void: [], lost: [] },
  });
  #nowMs = 0;
  #head = 0;
  #journalBytes = 1000;
  /** How often its live stream was ended. */
  ended = 0;

  /** It comes back after so many frames, and sends the newest live. Gives where live begins, and what is a hole. */
  connect(frames: number): { liveStartFrom: number; holes: readonly Range[] } {
    const { record } = this;
    this.#head += frames;
    const asked = request({ headSeq: this.#head, epoch: undefined, features: [], journalBytes: this.#journalBytes });
    if (record.epoch === undefined) record.beginEpoch(asked, (count) => new Uint8Array(count));
    record.declare(asked);
    const { liveStartFrom, holes } = record.answer(asked, { known: true, lastLive: 0, settings: SETTINGS });
    for (let seq = liveStartFrom; seq <= this.#head; seq++) record.received.addLive(seq);
    return { liveStartFrom, holes };
  }

  /** Retention deletes a file. */
  deleteFile(): void {
    this.#journalBytes -= 500;
  }

  /** It streams for so many seconds, a frame in each, and comes back after `awayFrames` where its stream is ended. */
  stream(seconds: number, { awayFrames = 10, isWriting = true }: { awayFrames?: number; isWriting?: boolean } = {}) {
    const { record } = this;
    for (const endMs = this.#nowMs + seconds * 1000; this.#nowMs < endMs; this.#nowMs += 1000) {
      record.received.addLive(++this.#head);
      if (isWriting) this.#journalBytes++;
      record.updateHead({ headSeq: this.#head, journalBytes: this.#journalBytes });
      if (!record.peerHoleDue(this.#nowMs)) continue;
      this.ended++;
      this.connect(awayFrames);
    }
  }
}

Deno.test("a peer boat is made to reconnect once for what is missing, however long it stays so", () => {
  const boat = new BarrenBoat();
  boat.connect(150);
  boat.stream(PEER_HOLES_WAIT_MS / 1000);
  assert.equal(boat.ended, 0);
  boat.stream(86_400, { awayFrames: PEER_REPLAY_FRAMES + 50 });
  assert.equal(boat.ended, 1);
  assert.equal(boat.record.holes.length, 2, "what it was away for longer than it sends again is a hole");
  boat.connect(50);
  boat.stream(86_400);
  assert.equal(boat.ended, 2, "one more for what it missed when it was away by itself");
  assert.equal(boat.record.holes.length, 3);
});

Deno.test("a peer boat that is made to reconnect sends live what it brought meanwhile, any other from its head", () => {
  const boat = new BarrenBoat();
  assert.deepEqual(boat.connect(150), { liveStartFrom: 150, holes: [{ start: 1, end: 150 }] });
  assert.deepEqual(boat.connect(20), { liveStartFrom: 170, holes: [{ start: 1, end: 150 }, { start: 151, end: 170 }] });
  boat.stream(PEER_HOLES_WAIT_MS / 1000 + 60);
  assert.equal(boat.ended, 1);
  assert.deepEqual(boat.record.holes, [{ start: 1, end: 150 }, { start: 151, end: 170 }]);
});

Deno.test("a peer boat is not made to reconnect before it has written more, whatever it deletes", () => {
  const boat = new BarrenBoat();
  boat.connect(150);
  for (let hour = 0; hour < 3; hour++) {
    boat.stream(3600, { isWriting: false });
    boat.deleteFile();
  }
  boat.stream(3600, { isWriting: false });
  assert.equal(boat.ended, 0);
  boat.stream(1);
  assert.equal(boat.ended, 1);
});
