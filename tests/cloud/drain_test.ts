import assert from "node:assert/strict";
import { DrainSchedule } from "../../src/cloud/service/drain.ts";
import type { LiveStatus, LiveUpstream, MessageStream } from "../../src/replication/mod.ts";
import { code, TIMEOUT } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { batch, CloudFixture, framesIn, request, wanted } from "./cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });
const TIME_MS = 40_000;
/** The first quarter is for the balancer. */
const NOTICE_MS = 10_000;

/** A drain of `boats` boats, and those that are still connected. */
class Drained {
  readonly clock = new FakeClock();
  readonly connected: Set<number>;
  readonly schedule: DrainSchedule<number>;

  constructor(boats: number, seed = 1) {
    const random = new Random(seed);
    this.connected = new Set(Array.from({ length: boats }, (_, i) => i));
    this.schedule = new DrainSchedule({ boats, timeMs: TIME_MS, clock: this.clock, random: () => random.next() });
  }

  /** Lets time pass, and disconnects the boats that are due. */
  advance(ms: number): number[] {
    this.clock.advance(ms);
    const due = this.schedule.due(this.connected);
    for (const boat of due) this.connected.delete(boat);
    return due;
  }
}

Deno.test("drain: no boat is disconnected in the first quarter, and then they are spread evenly", () => {
  const drained = new Drained(300);
  assert.deepEqual(drained.advance(NOTICE_MS), []);
  for (let second = 1; second <= 30; second++) {
    const due = drained.advance(1000);
    assert.equal(due.length, 10, `second ${second}`);
  }
  assert.equal(drained.connected.size, 0);
  assert.equal(drained.schedule.isOver, true);
});

Deno.test("drain: the order is random, and the seed determines it", () => {
  const orderOf = (seed: number) => {
    const drained = new Drained(20, seed);
    return Array.from({ length: 400 }, () => drained.advance(100)).flat();
  };
  const boats = Array.from({ length: 20 }, (_, i) => i);
  assert.deepEqual(orderOf(1).toSorted((a, b) => a - b), boats);
  assert.deepEqual(orderOf(1), orderOf(1));
  assert.notDeepEqual(orderOf(1), orderOf(2));
  assert.notDeepEqual(orderOf(1), boats);
});

Deno.test("drain: boats that leave by themselves make none leave sooner, and late ones leave in time", () => {
  const drained = new Drained(10);
  drained.advance(NOTICE_MS);
  for (let boat = 0; boat < 5; boat++) drained.connected.delete(boat);
  assert.deepEqual(drained.advance(15_000), [], "half of the boats, and half of the time");
  assert.equal(drained.advance(3000).length, 1);
  drained.connected.add(100);
  assert.equal(drained.advance(0).length, 1);
  drained.advance(12_000);
  assert.equal(drained.connected.size, 0);
});

Deno.test("drain: a boat that has not left yet is not disconnected again, nor is another one for it", () => {
  const drained = new Drained(3);
  drained.clock.advance(NOTICE_MS + 1);
  const connected = [0, 1, 2];
  const first = drained.schedule.due(connected);
  assert.equal(first.length, 1);
  assert.deepEqual(drained.schedule.due(connected), []);
  drained.clock.advance(TIME_MS);
  assert.equal(drained.schedule.due(connected).length, 2);
});

/** Four boats that stream to a cloud. */
async function fourBoats(cloud: CloudFixture) {
  return await Promise.all(["a", "b", "c", "d"].map(async (instanceId) => {
    const { client } = await cloud.greeted({ instanceId });
    const live = client.live();
    const end = readToEnd(live);
    await live.send(batch(1, 50));
    const instance = cloud.instances.get(instanceId);
    assert.ok(instance);
    await eventually("its frames", () => instance.connected && instance.received.liveThrough === 50);
    return { client, end, instance };
  }));
}

/** Why a stream ends. */
async function readToEnd(stream: MessageStream<LiveStatus, LiveUpstream>): Promise<unknown> {
  try {
    for await (const _status of stream);
  } catch (error) {
    return error;
  }
}

Deno.test({
  name: "drain: boats are disconnected one after the other, told why, and their frames are kept",
  ...CLOUD,
  fn: () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const random = new Random(7);
      await using cloud = await CloudFixture.start(`${folder}/data`, { clock });
      const boats = await fourBoats(cloud);
      const connected = () => boats.filter(({ instance }) => instance.connected).length;
      const { signal } = new AbortController();
      const drained = cloud.service.drain({ timeMs: TIME_MS, signal, random: () => random.next() });
      assert.equal(cloud.service.isDraining, true);
      clock.advance(NOTICE_MS);
      for (const left of [3, 2, 1]) {
        clock.advance(1 + (left === 3 ? 0 : 7500));
        await eventually(`${left} boats`, () => connected() === left);
      }
      clock.advance(7500);
      await drained;
      for (const { end, instance } of boats) {
        assert.ok(code("UNAVAILABLE", /^the node is draining$/)(await end));
        await instance.stop();
        assert.deepEqual(await framesIn(instance.directory), Array.from({ length: 50 }, (_, i) => wanted(i + 1)));
      }
    }),
});

Deno.test({
  name: "drain: another boat is refused, one that streams may make further handshakes, and the signal ends the drain",
  ...CLOUD,
  fn: () =>
    inFolder(async (folder) => {
      await using cloud = await CloudFixture.start(`${folder}/data`, { clock: new FakeClock() });
      const [boat] = await fourBoats(cloud);
      assert.ok(boat);
      const skip = new AbortController();
      const drained = cloud.service.drain({ timeMs: TIME_MS, signal: skip.signal });
      await boat.client.handshake(request({ instanceId: "a", headSeq: 50 }), TIMEOUT);
      const other = await cloud.client("e");
      const refused = code("UNAVAILABLE", /^the node is draining$/);
      await assert.rejects(other.handshake(request({ instanceId: "e" }), TIMEOUT), refused);
      const same = await cloud.client("a");
      await assert.rejects(same.handshake(request({ instanceId: "a", headSeq: 50 }), TIMEOUT), refused);
      skip.abort();
      await drained;
      assert.equal(boat.instance.connected, true);
    }),
});

Deno.test({
  name: "drain: a cloud without boats has nothing to wait for",
  ...CLOUD,
  fn: () =>
    inFolder(async (folder) => {
      await using cloud = await CloudFixture.start(`${folder}/data`, { clock: new FakeClock() });
      await cloud.service.drain({ timeMs: TIME_MS, signal: new AbortController().signal });
    }),
});
