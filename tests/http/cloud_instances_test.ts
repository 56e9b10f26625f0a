import assert from "node:assert/strict";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { CloudServer, EPOCH, writeState } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write"] });
const LAST_SEEN_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 70);

interface Summary {
  id: string;
  holes: { start: number; end: number }[];
}

Deno.test("a cloud without boats has an empty list of them", DISK, () =>
  inFolder(async (folder) => {
    await using cloud = await CloudServer.start(folder);
    const reply = await cloud.raw("/instances");
    assert.equal(await reply.text(), `{"instances":[]}`);
  }));

Deno.test(
  "a boat is told in the list, and with all that is known of it in its status",
  DISK,
  () =>
    inFolder(async (folder) => {
      await writeState(folder, "boat-1", {
        headSeq: 3000,
        journalBytes: 123_456,
        lastSeenMs: LAST_SEEN_MS,
        received: {
          durable: [{ start: 1, end: 1000 }, { start: 2000, end: 2501 }],
          void: [{ start: 2501, end: 2601 }],
          lost: [{ start: 2601, end: 2701, reason: "pruned" }],
        },
      });
      await using cloud = await CloudServer.start(folder);
      const summary = {
        id: "boat-1",
        connected: false,
        cursor: 999,
        boat_head_seq: 3000,
        holes: [{ start: 1000, end: 2000 }, { start: 2701, end: 3001 }],
        // Frames, and so without the hundred numbers that never had one.
        lag_seqs: 1901,
        last_seen: "2026-01-02T03:04:05.070Z",
        frames: { seen: 2900, in_cloud: 999 + 501, on_the_way: 0, missing: 1000 + 300 + 100 },
      };
      assert.deepEqual(await cloud.get("/instances"), { instances: [summary] });
      const { received_through: _, ...status } = await cloud.get<Record<string, unknown>>("/instances/boat-1/status");
      assert.deepEqual(status, {
        ...summary,
        boat_journal_bytes: 123_456,
        former_epochs: [],
        epoch: EPOCH.toHex(),
        ack_seq: 999,
        stored_seq: null,
        lost: [{ start: 2601, end: 2701, reason: "pruned" }],
        recording: { state: "idle" },
        storage: { state: "ok", missing: [], checked_at: null },
      });
    }),
);

Deno.test(
  "what is not known of a boat is null, and lists of nothing are lists",
  DISK,
  () =>
    inFolder(async (folder) => {
      await writeState(folder, "new", { epochs: { current: undefined, previous: [] } });
      await using cloud = await CloudServer.start(folder);
      const status = await cloud.get<Record<string, unknown>>("/instances/new/status");
      assert.deepEqual([status["epoch"], status["last_seen"], status["holes"], status["lost"]], [null, null, [], []]);
      assert.deepEqual(await cloud.get("/instances/new/replication/events"), []);
    }),
);

Deno.test("a boat that is here is connected, recorded, and followed by number", DISK, () =>
  inFolder(async (folder) => {
    const clock = new FakeClock();
    await using cloud = await CloudServer.start(folder, { clock });
    const boat = await cloud.boat("boat-1", { headSeq: 5 });
    for (let i = 0; i < 3; i++) boat.say();
    const status = await cloud.get<Record<string, unknown>>("/instances/boat-1/status");
    assert.deepEqual(
      [status["connected"], status["received_through"], status["holes"], status["last_seen"], status["recording"]],
      [true, 7, [{ start: 1, end: 5 }], "2026-01-02T03:04:05.000Z", { state: "recording" }],
    );
    boat.leave();
    assert.equal((await cloud.get<Record<string, unknown>>("/instances/boat-1/status"))["connected"], false);
  }));

Deno.test(
  "a hole is told in the list and in the status as {start, end}, however many there are",
  DISK,
  () =>
    inFolder(async (folder) => {
      const durable = Array.from({ length: 5000 }, (_, index) => ({ start: 2 * index + 2, end: 2 * index + 3 }));
      await writeState(folder, "boat-1", { headSeq: 10_000, received: { durable, void: [], lost: [] } });
      await using cloud = await CloudServer.start(folder);
      const expected = durable.map(({ start }) => ({ start: start - 1, end: start }));
      const { instances } = await cloud.get<{ instances: Summary[] }>("/instances");
      assert.deepEqual(instances[0]?.holes, expected);
      assert.deepEqual((await cloud.get<Summary>("/instances/boat-1/status")).holes, expected);
    }),
);

Deno.test(
  "a thousand boats are listed in the order of their ids, and a reader of gzip gets the same",
  DISK,
  () =>
    inFolder(async (folder) => {
      const ids = Array.from({ length: 1000 }, (_, index) => `boat-${index}`);
      for (const id of ids) await writeState(folder, id, { headSeq: 10 });
      await using cloud = await CloudServer.start(folder);
      const { instances } = await cloud.get<{ instances: Summary[] }>("/instances");
      assert.deepEqual(instances.map(({ id }) => id), ids.toSorted());
      for (const { holes } of instances) assert.deepEqual(holes, [{ start: 1, end: 11 }]);
      const packed = await cloud.raw("/instances", { headers: { "Accept-Encoding": "gzip" } });
      assert.equal(packed.headers.get("Content-Encoding"), "gzip");
      assert.deepEqual(JSON.parse(await packed.text()), { instances });
    }),
);

Deno.test("replication events come newest first, as many as are asked for and kept", DISK, async (t) => {
  await inFolder(async (folder) => {
    const clock = new FakeClock();
    await using cloud = await CloudServer.start(folder, { clock });
    const instance = await cloud.instances.ensure("boat-1");
    for (let number = 1; number <= 1100; number++) {
      clock.advance(1);
      instance.note("checkpoint", `frame ${number}`);
    }
    const events = (query: string) =>
      cloud.get<{ time: string; type: string; detail: string }[]>(`/instances/boat-1/replication/events${query}`);
    const [newest] = await events("?limit=1");
    assert.deepEqual(newest, { time: "2026-01-02T03:04:06.100Z", type: "checkpoint", detail: "frame 1100" });
    const counts = { "": 100, "?limit=5": 5, "?limit=1024": 1024, "?limit=1025": 1024, "?limit=9&limit=7": 7 };
    for (const [query, count] of Object.entries({ ...counts, ["?limit=" + "9".repeat(400)]: 1024 })) {
      await t.step(`${query.slice(0, 20)} gives ${count}`, async () => {
        const details = (await events(query)).map(({ detail }) => detail);
        assert.deepEqual(details, Array.from({ length: count }, (_, index) => `frame ${1100 - index}`));
      });
    }
    for (const limit of ["0", "-1", "", "x", "1.5", "1e3", "00"]) {
      await t.step(`limit=${limit} is a 400 that names it`, async () => {
        const reply = await cloud.raw(`/instances/boat-1/replication/events?limit=${limit}`);
        assert.deepEqual([reply.status, JSON.parse(await reply.text()).parameter], [400, "limit"]);
      });
    }
  });
});
