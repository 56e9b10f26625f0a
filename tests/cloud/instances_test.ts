import assert from "node:assert/strict";
import { FileError, silentLogger } from "../../src/base/mod.ts";
import { RingPool } from "../../src/broker/mod.ts";
import { type Instance, Instances, type InstanceSettings, type OpenReplica, Replica } from "../../src/cloud/mod.ts";
import { RpcError } from "../../src/replication/mod.ts";
import { code } from "../replication/fixture.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { claim } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { wireBlock } from "./block_check_fixture.ts";
import { batch, CloudFixture, framesIn, liveFrame, request, SETTINGS, wanted } from "./cloud_fixture.ts";

const DISK = needs({ permissions: ["read", "write"] });
const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });

function test(name: string, run: (folder: string) => Promise<void>, options = DISK): void {
  Deno.test({ name: `instances: ${name}`, ...options, fn: () => inFolder(run) });
}

async function open(dataDirectory: string, settings: Partial<InstanceSettings> = {}, clock = new FakeClock()) {
  return await Instances.open({
    dataDirectory,
    settings: () => ({ ...SETTINGS, ...settings }),
    clock,
    log: silentLogger,
  });
}

/** Makes replicas as a cloud does. */
function openReplicas(clock: FakeClock): OpenReplica {
  const pool = new RingPool();
  return (options) =>
    Replica.open({
      ...options,
      ...{ pool, clock, log: silentLogger },
      ringFrames: 1024,
      maxValues: 1000,
      deviceIdleTimeoutMs: 300_000,
      sessionLimits: () => ({ maxSessions: 10, maxSessionsPerOwner: 10, maxTimeoutMs: 3_600_000 }),
    });
}

test("what is known of boats is there after a restart, in the order of their ids, and none is connected", async (folder) => {
  const first = await open(folder);
  for (const id of ["boat-b", "boat-a", "boat-c"]) {
    const boat = await first.ensure(id);
    await boat.handshake(request({ instanceId: id, headSeq: 7, journalBytes: 9 }));
  }
  await Deno.mkdir(`${folder}/.acme`);
  await first.stop();
  const second = await open(folder);
  assert.deepEqual([...second].map(({ id }) => id), ["boat-a", "boat-b", "boat-c"]);
  assert.deepEqual([second.size, [...second].some(({ connected }) => connected)], [3, false]);
  const { connected, boatHeadSeq, boatJournalBytes, holes } = second.get("boat-a")!.summary();
  assert.deepEqual([connected, boatHeadSeq, boatJournalBytes, holes], [false, 7, 9, [{ start: 1, end: 8 }]]);
  await second.stop();
});

test("the data directory is one process's", async (folder) => {
  const first = await open(folder);
  await assert.rejects(open(folder), FileError);
  await first.stop();
  await (await open(folder)).stop();
});

test("two calls of a new boat get the same one, and what is no id makes no directory", async (folder) => {
  const instances = await open(folder);
  const [one, two] = await Promise.all([instances.ensure("boat"), instances.ensure("boat")]);
  assert.equal(one, two);
  await assert.rejects(instances.ensure("../x"), code("INVALID_ARGUMENT"));
  await assert.rejects(instances.ensure(".."), code("INVALID_ARGUMENT"));
  await instances.stop();
  assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name).sort(), [".lock", "boat"]);
});

test("a directory that cannot be made is told, and the others go on", async (folder) => {
  const instances = await open(folder);
  await Deno.writeTextFile(`${folder}/boat-x`, "in the way");
  await assert.rejects(instances.ensure("boat-x"), code("UNAVAILABLE"));
  await (await instances.ensure("boat-y")).handshake(request({ instanceId: "boat-y" }));
  await instances.stop();
});

test("files of a boat that is away are closed when they are idle, and opened when it comes again", async (folder) => {
  const clock = new FakeClock();
  await using cloud = await CloudFixture.start(folder, { clock, settings: { brokerIdleTimeoutMs: 60_000 } });
  const live = (await cloud.greeted()).client.live();
  await live.send(batch(1, 20));
  await eventually("frames", () => cloud.boat.received.cursor === 20);
  clock.advance(120_000);
  cloud.instances.runHousekeeping();
  assert.equal(cloud.boat.isOpen, true, "while it streams it is not idle");
  live.end();
  await eventually("the end", () => !cloud.boat.connected);
  clock.advance(59_000);
  cloud.instances.runHousekeeping();
  assert.equal(cloud.boat.isOpen, true);
  clock.advance(1000);
  cloud.instances.runHousekeeping();
  await eventually("its files to be closed", () => !cloud.boat.isOpen);
  assert.deepEqual(await framesIn(cloud.boat.directory), Array.from({ length: 20 }, (_, i) => wanted(i + 1)));
  const client = await cloud.client();
  await assert.rejects(client.live()[Symbol.asyncIterator]().next(), code("FAILED_PRECONDITION", /handshake/));
  const again = await cloud.greeted({ headSeq: 20 });
  assert.deepEqual([again.response.cursor, again.response.liveStartFrom], [20, 21]);
  await again.client.live().send(batch(21, 30));
  await eventually("more", () => cloud.boat.acknowledge() === 30);
}, CLOUD);

test("when nothing can be written the boat is told, and what it sent is asked for again", async (folder) => {
  await using cloud = await CloudFixture.start(folder);
  const live = (await cloud.greeted()).client.live();
  await live.send(batch(1, 20));
  await eventually("frames", () => cloud.boat.acknowledge() === 20);
  await Deno.rename(cloud.boat.directory, `${folder}/.away`);
  const read = live[Symbol.asyncIterator]();
  let head = 20;
  const sending = (async () => {
    for (;; head += 500) await live.send(batch(head + 1, head + 500));
  })();
  await assert.rejects(sending, RpcError);
  await assert.rejects(async () => {
    while (!(await read.next()).done);
  }, code("UNAVAILABLE", /cannot be recorded/));
  await eventually("the disk's failure", () => cloud.boat.summary().recording.kind === "failing");
  await assert.rejects(cloud.greeted({ headSeq: head }), code("UNAVAILABLE", /nothing can be recorded/));
  await cloud.boat.stop();
  assert.ok(cloud.boat.summary().counters.lostFrames > 0);
  assert.deepEqual([cloud.boat.received.cursor, cloud.boat.received.ack], [20, 20]);
}, CLOUD);

test("frames that only a tail has are here, also while the disk takes no file", async (folder) => {
  const before = await open(`${folder}/data`);
  const boat = await before.ensure("boat");
  await boat.handshake(request());
  await boat.enterLive({ end: () => {} });
  for (let seq = 1; seq <= 20; seq++) boat.live.receive(liveFrame(seq));
  await eventually("the tail", () => boat.acknowledge() === 20);
  await Deno.mkdir(`${folder}/second/boat`, { recursive: true });
  for (const { name } of Deno.readDirSync(boat.directory)) {
    if (name.startsWith("tail-")) await Deno.copyFile(`${boat.directory}/${name}`, `${folder}/second/boat/${name}`);
  }
  await before.stop();
  const second = await open(`${folder}/second`);
  const { open: original } = Deno;
  try {
    Deno.open = (path, options) =>
      String(path).endsWith(".lpj") && options?.createNew
        ? Promise.reject(new Error("No space left on device"))
        : original(path, options);
    const again = await second.ensure("boat");
    const { cursor, durableThrough, liveStartFrom } = await again.handshake(request({ headSeq: 20 }));
    assert.deepEqual([cursor, durableThrough, liveStartFrom], [20, 20, 21]);
  } finally {
    Deno.open = original;
  }
  await second.stop();
  assert.deepEqual(await framesIn(`${folder}/second/boat`), Array.from({ length: 20 }, (_, i) => wanted(i + 1)));
});

test("a backfill that cannot be written ends, and its blocks are holes", async (folder) => {
  await using cloud = await CloudFixture.start(folder);
  const { client } = await cloud.greeted({ headSeq: 1000 });
  await Deno.rename(cloud.boat.directory, `${folder}/.away`);
  const backfill = client.backfill();
  await backfill.send({ block: wireBlock({ firstSeq: 1 }) });
  await assert.rejects(backfill[Symbol.asyncIterator]().next(), code("UNAVAILABLE", /cannot be stored/));
  assert.equal(cloud.boat.received.last, 0);
}, CLOUD);

test("a paused boat is told to come again", async (folder) => {
  await using cloud = await CloudFixture.start(folder);
  const live = (await cloud.greeted()).client.live();
  cloud.boat.pause(true);
  await live.send(batch(1, 1));
  await assert.rejects(async () => {
    for await (const _ of live);
  }, code("UNAVAILABLE", /there is no room/));
  await assert.rejects(cloud.greeted(), code("UNAVAILABLE", /there is no room/));
  cloud.boat.pause(false);
  await cloud.greeted();
}, CLOUD);

test("blocks of a paused boat are not stored: it is told to come again, and they are holes", async (folder) => {
  await using cloud = await CloudFixture.start(folder);
  const backfill = (await cloud.greeted({ headSeq: 200 })).client.backfill();
  await backfill.send({ block: wireBlock({ firstSeq: 1, frames: 100 }) });
  await eventually("a block", () => cloud.boat.received.cursor === 100);
  cloud.boat.pause(true);
  await backfill.send({ block: wireBlock({ firstSeq: 101, frames: 99 }) });
  await assert.rejects(async () => {
    for await (const _ of backfill);
  }, code("UNAVAILABLE", /there is no room/));
  cloud.boat.pause(false);
  const { response } = await cloud.greeted({ headSeq: 200 });
  assert.deepEqual([response.cursor, response.holes], [100, [{ start: 101, end: 200 }]]);
}, CLOUD);

test("a replica has what comes live, goes when it is idle, and knows the devices again", async (folder) => {
  const clock = new FakeClock();
  const openReplica = openReplicas(clock);
  await using cloud = await CloudFixture.start(folder, {
    clock,
    openReplica,
    settings: { brokerIdleTimeoutMs: 60_000 },
  });
  const { client } = await cloud.greeted();
  await assert.rejects((await cloud.instances.ensure("boat-2")).replica(), code("FAILED_PRECONDITION"));
  const live = client.live();
  const { id, timeUs: timestampUs, data, offset, length } = claim(0x1234n, { src: 7 });
  const frame = { timestampUs, canId: id, data: data.slice(offset, offset + length) };
  await live.send({ kind: "frame", frame: { ...frame, seq: 1 } });
  await live.send({ kind: "frame", frame: { ...frame, seq: 0, canId: id + 1 } });
  await live.send(batch(2, 5));
  const replica = await eventually("the replica", () => cloud.boat.runningReplica);
  await eventually("frames", () => replica.broker.head === 5);
  const names = () => Array.from(cloud.boat.runningReplica?.broker.registry ?? [], ({ src, name }) => [src, name]);
  assert.deepEqual(names(), [[1, undefined], [8, 0x1234n]], "what has no number told where the device is now");
  live.end();
  await eventually("the end", () => !cloud.boat.connected);
  const letGo = replica.hold();
  clock.advance(61_000);
  cloud.instances.runHousekeeping();
  assert.equal(cloud.boat.isOpen, true, "somebody uses it");
  letGo();
  clock.advance(61_000);
  cloud.instances.runHousekeeping();
  await eventually("the replica to be gone", () => !cloud.boat.isOpen);
  assert.equal(cloud.boat.runningReplica, undefined);
  const again = await cloud.boat.replica();
  assert.equal(again.broker.head, 5);
  assert.ok(names().some(([, name]) => name === 0x1234n));
}, CLOUD);

test(
  "a session is told of frames that are not here when the boat has gone, and not of numbers that never had one",
  async (folder) => {
    for (const isClosed of [false, true]) {
      const clock = new FakeClock();
      await using cloud = await CloudFixture.start(`${folder}/${isClosed}`, {
        clock,
        openReplica: openReplicas(clock),
        settings: { brokerIdleTimeoutMs: 60_000 },
      });
      const live = (await cloud.greeted({ headSeq: 10 })).client.live();
      await live.send(batch(10, 20));
      await eventually("frames", () => cloud.boat.runningReplica?.broker.head === 20);
      const { sessions } = await cloud.boat.replica();
      sessions.put("pilot", { filter: {}, timeoutMs: 3_600_000 });
      live.end();
      await eventually("the end", () => !cloud.boat.connected);
      if (isClosed) {
        cloud.instances.runHousekeeping();
        clock.advance(61_000);
        cloud.instances.runHousekeeping();
        await eventually("its files to be closed", () => !cloud.boat.isOpen);
      }
      // Frames 21 to 30 come later, and a start has skipped all up to 1000.
      const never = [{ start: 31, end: 1001 }];
      const { client } = await cloud.greeted({ headSeq: 1005, void: never });
      const second = client.live();
      await second.send(batch(1005, 1010));
      const replica = await eventually("the replica", () => cloud.boat.runningReplica);
      await eventually("frames", () => replica.broker.head === 1010);
      second.end();
      await eventually("the end", () => !cloud.boat.connected);
      clock.advance(31_000);
      const told: unknown[] = [];
      const stream = replica.sessions.stream("pilot", {
        ended: () => {},
        missing: ({ fromSeq, toSeq }) => told.push([fromSeq, toSeq]),
      });
      const seqs: number[] = [];
      while (seqs.at(-1) !== 1010) await stream.read(({ seq }) => seqs.push(seq), { maxFrames: 100 });
      stream.end({ code: "left" });
      assert.deepEqual(seqs, [1005, 1006, 1007, 1008, 1009, 1010]);
      assert.deepEqual(
        told,
        [[21, 30], [1001, 1004]],
        isClosed ? "its files were closed meanwhile" : "it was gone shortly",
      );
    }
  },
  CLOUD,
);

test("a boat's new run of numbers begins in its replica, too, and other buses make another replica", async (folder) => {
  const clock = new FakeClock();
  await using cloud = await CloudFixture.start(folder, { clock, openReplica: openReplicas(clock) });
  const live = (await cloud.greeted()).client.live();
  await live.send(batch(1, 5));
  const replica = await eventually("the replica", () => cloud.boat.runningReplica);
  await eventually("frames", () => replica.broker.head === 5);
  const epoch = new Uint8Array(16).fill(0xb7);
  await cloud.greeted({ epoch });
  assert.equal(cloud.boat.runningReplica, replica);
  assert.equal(replica.epoch, epoch.toHex());
  await cloud.greeted({ epoch, busNames: ["can0", "can1"] });
  assert.equal(cloud.boat.runningReplica, undefined);
  assert.deepEqual((await cloud.boat.replica()).broker.buses, ["can0", "can1"]);
}, CLOUD);

test("boats that many readers have opened and nobody uses leave the memory before their time", async (folder) => {
  const clock = new FakeClock();
  const settings = { brokerIdleTimeoutMs: 300_000, maxIdleBrokers: 2 };
  await using cloud = await CloudFixture.start(folder, { clock, settings });
  const boats: Instance[] = [];
  for (const id of ["boat-1", "boat-2", "boat-3", "boat-4"]) {
    const boat = await cloud.instances.ensure(id);
    await boat.handshake(request({ instanceId: id }));
    boats.push(boat);
    clock.advance(10);
  }
  const [first] = boats;
  await first!.enterLive({ end: () => {} });
  const open = () => boats.filter(({ isOpen }) => isOpen).map(({ id }) => id);
  cloud.instances.runHousekeeping();
  assert.equal(open().length, 4, "they may be between two calls");
  clock.advance(2000);
  cloud.instances.runHousekeeping();
  await eventually("the one that was used longest ago to go", () => open().length === 3);
  assert.deepEqual(open(), ["boat-1", "boat-3", "boat-4"]);
}, CLOUD);
