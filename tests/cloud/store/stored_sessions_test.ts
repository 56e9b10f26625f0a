import assert from "node:assert/strict";
import { type FrameStore, ObjectCache } from "../../../src/cloud/mod.ts";
import { openStore, StoreError } from "../../../src/object_store/mod.ts";
import { SessionError } from "../../../src/stream/mod.ts";
import { eventually } from "../../support/eventually.ts";
import { inFolder } from "../../support/folder.ts";
import { needs } from "../../support/needs.ts";
import { range } from "../../support/session.ts";
import { WrappedStore } from "../../support/wrapped_store.ts";
import { batch, BOAT, CloudFixture, openReplica } from "../cloud_fixture.ts";

const CLOUD = needs({ permissions: ["net", "read", "write", "env", "sys"] });

async function withStore(
  work: (parts: { folder: string; store: WrappedStore; frameStore: FrameStore }) => Promise<void>,
): Promise<void> {
  await inFolder(async (folder) => {
    using disk = await openStore({ url: `file://${folder}/store` });
    const store = new WrappedStore(disk);
    await work({ folder, store, frameStore: { store, cache: new ObjectCache({ store }) } });
  });
}

/** Feeds frames; returns when they are on disk. */
async function feed(cloud: CloudFixture, { first, last }: { first: number; last: number }): Promise<void> {
  const live = (await cloud.greeted({ headSeq: first })).client.live();
  await live.send(batch(first, last));
  await eventually("all to be durable", () => cloud.boat.record.received.has(last) && cloud.boat.acknowledge() >= last);
  live.end();
}

/** Reads the session's frames up to a number, and acknowledges up to another one. */
async function read(cloud: CloudFixture, { through, ack }: { through: number; ack: number }): Promise<number[]> {
  const { sessions } = await cloud.boat.replica();
  const seqs: number[] = [];
  const stream = sessions.stream("pilot", { ended: () => {} });
  while ((seqs.at(-1) ?? 0) < through) await stream.read(({ seq }) => seqs.push(seq), { maxFrames: 50 });
  stream.end({ code: "left" });
  await sessions.ack("pilot", ack);
  return seqs;
}

Deno.test(
  "a session goes on at a node with an empty disk from what was last stored, and none is skipped",
  CLOUD,
  () =>
    withStore(async ({ folder, frameStore }) => {
      {
        await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore, openReplica });
        await feed(cloud, { first: 1, last: 10 });
        const { sessions } = await cloud.boat.replica();
        for (const id of ["pilot", "deleted"]) sessions.put(id, { filter: {}, timeoutMs: 3_600_000 });
        await feed(cloud, { first: 11, last: 300 });
        await read(cloud, { through: 200, ack: 100 });
        sessions.delete("deleted");
        await sessions.written();
        await cloud.boat.ship();
        await read(cloud, { through: 300, ack: 200 });
      }
      await Deno.remove(`${folder}/one`, { recursive: true });
      await using cloud = await CloudFixture.start(`${folder}/two`, { frameStore, openReplica });
      await cloud.greeted({ headSeq: 300 });
      assert.deepEqual(await read(cloud, { through: 300, ack: 300 }), range(101, 300));
      const { sessions } = await cloud.boat.replica();
      assert.throws(() => sessions.get("deleted"), SessionError);
    }),
);

Deno.test(
  "positions that a node had not stored when its files were closed are stored after that, once",
  CLOUD,
  () =>
    withStore(async ({ folder, store, frameStore }) => {
      let puts = 0;
      {
        await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore, openReplica });
        await feed(cloud, { first: 1, last: 10 });
        (await cloud.boat.replica()).sessions.put("pilot", { filter: {}, timeoutMs: 3_600_000 });
        await feed(cloud, { first: 11, last: 300 });
        await cloud.boat.ship();
        await read(cloud, { through: 300, ack: 250 });
        await cloud.boat.stop();
        assert.ok(cloud.boat.hasUnstored);
      }
      store.before = (call, key) => {
        if (call === "put" && key.startsWith("sessions/")) puts++;
      };
      {
        await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore, openReplica });
        for (let i = 0; i < 3; i++) await cloud.boat.ship();
        assert.equal(puts, 1, "what is unchanged is not stored again");
      }
      await using cloud = await CloudFixture.start(`${folder}/two`, { frameStore, openReplica });
      assert.equal((await cloud.boat.replica()).sessions.get("pilot").cursor, 251);
    }),
);

Deno.test(
  "broken sessions in the store are no sessions, and while the store is away readers wait for them",
  CLOUD,
  () =>
    withStore(async ({ folder, store, frameStore }) => {
      {
        await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore, openReplica });
        await feed(cloud, { first: 1, last: 10 });
        await cloud.boat.ship();
      }
      for (
        const [at, text] of ["", "{", "[]", '{"files":{"sessions.log":7}}', '{"files":{"sessions.log":"x\\u0000"}}']
          .entries()
      ) {
        await store.put(`sessions/${BOAT}/node.json`, new TextEncoder().encode(text));
        await using cloud = await CloudFixture.start(`${folder}/node-${at}`, { frameStore, openReplica });
        const { sessions } = await cloud.boat.replica();
        assert.throws(() => sessions.get("pilot"), SessionError);
      }
      store.before = (call, key) => {
        if (call === "get" && key.startsWith("sessions/")) throw new StoreError("No answer", { kind: "away" });
      };
      await using cloud = await CloudFixture.start(`${folder}/last`, { frameStore, openReplica });
      assert.deepEqual([...cloud.instances], []);
      await assert.rejects(cloud.greeted({ headSeq: 10 }), /what it has of the boat is unknown/);
      await assert.rejects(cloud.boat.replica());
      store.before = () => {};
      await cloud.greeted({ headSeq: 10 });
      await cloud.boat.replica();
    }),
);

Deno.test(
  "the sessions of a boat that came while the store was away go on once it answers",
  CLOUD,
  () =>
    withStore(async ({ folder, store, frameStore }) => {
      {
        await using cloud = await CloudFixture.start(`${folder}/one`, { frameStore, openReplica });
        await feed(cloud, { first: 1, last: 10 });
        const { sessions } = await cloud.boat.replica();
        sessions.put("pilot", { filter: {}, timeoutMs: 3_600_000 });
        await feed(cloud, { first: 11, last: 300 });
        await sessions.ack("pilot", 100);
        await cloud.boat.storeSessions();
        await cloud.boat.ship();
      }
      store.isAway = true;
      await using cloud = await CloudFixture.start(`${folder}/two`, { frameStore, openReplica });
      const features = ["batch", "void", "bus", "quiet-status", "digest"];
      const live = (await cloud.greeted({ headSeq: 301, features })).client.live();
      await live.send(batch(301, 400));
      await eventually("all to be durable", () => cloud.boat.record.received.durableCount === 100);
      live.end();
      await assert.rejects(cloud.boat.replica(), /what it has of the boat is unknown/);
      store.isAway = false;
      await cloud.boat.ship();
      await cloud.greeted({ headSeq: 400 });
      assert.deepEqual(await read(cloud, { through: 400, ack: 400 }), range(101, 400));
    }),
);

Deno.test(
  "of the sessions that several nodes have stored all go on, each from the highest position",
  CLOUD,
  () =>
    withStore(async ({ folder, frameStore }) => {
      const start = (node: string) =>
        CloudFixture.start(`${folder}/${node}`, { frameStore: { ...frameStore, node }, openReplica });
      const created = (cloud: CloudFixture, ids: string[]) =>
        cloud.boat.replica().then(({ sessions }) => {
          for (const id of ids) sessions.put(id, { filter: {}, timeoutMs: 3_600_000 });
          return sessions;
        });
      {
        await using cloud = await start("one");
        await feed(cloud, { first: 1, last: 10 });
        const sessions = await created(cloud, ["both", "first"]);
        await feed(cloud, { first: 11, last: 300 });
        await sessions.ack("both", 100);
        await sessions.ack("first", 250);
        await sessions.written();
        await cloud.boat.ship();
      }
      {
        await using cloud = await start("two");
        await feed(cloud, { first: 301, last: 400 });
        const sessions = await created(cloud, ["second"]);
        await sessions.ack("both", 350);
        await sessions.written();
        await cloud.boat.ship();
      }
      await using cloud = await start("three");
      await cloud.greeted({ headSeq: 400 });
      const { sessions } = await cloud.boat.replica();
      const cursors = ["both", "first", "second"].map((id) => sessions.get(id).cursor);
      assert.deepEqual(cursors, [351, 251, 401]);
    }),
);
