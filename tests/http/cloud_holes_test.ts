import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { SessionClient } from "../support/session.ts";
import { SseClient } from "../support/sse_client.ts";
import { WsClient } from "../support/ws_client.ts";
import { fill } from "./cloud_fill.ts";
import { CloudServer, type LiveBoat } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write", "net"] });
const ID = "boat-1";
/** Long enough for a reader to overtake a hole if it does not wait. */
const TEMPTING_MS = 100;

/** What a stream says of numbers that it does not bring. */
interface Dropped {
  from_seq: number;
  to_seq: number;
  count: number | null;
  backfill?: boolean;
  reason?: string;
}

/** The numbers from `first` to `last`. */
function numbers(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/** Sends live frames up to this number. */
function sayTo(boat: LiveBoat, seq: number): void {
  while (boat.seq < seq) boat.say();
}

/** The boat's connection breaks, and it comes back with the given head. */
async function comeBack(
  cloud: CloudServer,
  boat: LiveBoat,
  about: Parameters<CloudServer["boat"]>[1],
): Promise<LiveBoat> {
  boat.leave();
  return await cloud.boat(ID, about);
}

Deno.test(
  "a live stream reports each jump over a link outage once, with the count of frames that come by backfill",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      let boat = await cloud.boat(ID);
      const base = `${cloud.url}/instances/${ID}`;
      await using events = await SseClient.open(`${base}/events`);
      await using filtered = await SseClient.open(`${base}/events?pgn=127250`);
      await using socket = await WsClient.open(`${base}/ws`);
      await eventually("the socket", () => cloud.readers.count("websocket") === 1);
      const random = new Random(7);
      const wanted: Dropped[] = [];
      sayTo(boat, 3);
      for (let outage = 0; outage < 5; outage++) {
        const from = boat.seq + 1;
        const head = from + random.between(20, 500);
        // Numbers that a restart of the boat has skipped.
        const never = outage % 2 === 0 ? [{ start: from + 4, end: from + 9 }] : [];
        boat = await comeBack(cloud, boat, { headSeq: head, void: never });
        sayTo(boat, head + 2);
        // Every number of the outage that had a frame.
        const count = head - from - never.length * 5;
        wanted.push({ from_seq: from, to_seq: head - 1, count, backfill: true });
      }
      await eventually("the last frames", () => events.frames.at(-1)?.seq === boat.seq);
      assert.deepEqual(events.named<Dropped>("dropped"), wanted);
      await eventually("the socket's last frame", async () => {
        return (await socket.atLeast<Frame>("frame", 1)).at(-1)?.seq === boat.seq;
      });
      assert.deepEqual(await socket.atLeast<Dropped>("dropped", wanted.length), wanted);
      // How many of them a filter wants nobody knows before they are here.
      await eventually("the filtered stream's last frame", () => filtered.frames.at(-1)?.seq === boat.seq);
      assert.deepEqual(filtered.named<Dropped>("dropped"), wanted.map((each) => ({ ...each, count: null })));
    }),
);

Deno.test(
  "a jump over numbers that never had a frame is not reported, one over lost frames without backfill",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      let boat = await cloud.boat(ID);
      await using events = await SseClient.open(`${cloud.url}/instances/${ID}/events`);
      sayTo(boat, 3);
      boat = await comeBack(cloud, boat, { headSeq: 20, void: [{ start: 4, end: 20 }] });
      sayTo(boat, 21);
      const lost = [{ start: 22, end: 30, reason: "disk full" }];
      boat = await comeBack(cloud, boat, { headSeq: 40, lost });
      sayTo(boat, 41);
      await eventually("the last frame", () => events.frames.at(-1)?.seq === 41);
      assert.deepEqual(events.named<Dropped>("dropped"), [
        { from_seq: 22, to_seq: 29, count: 8, reason: "disk full" },
        { from_seq: 30, to_seq: 39, count: 10, backfill: true },
      ]);
    }),
);

Deno.test(
  "a session waits at a hole while the boat is connected, and gets every frame once and in order",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      let boat = await cloud.boat(ID);
      const session = new SessionClient(`${cloud.url}/instances/${ID}`);
      await session.put();
      await using events = await session.events();
      sayTo(boat, 3);
      boat = await comeBack(cloud, boat, { headSeq: 1000, void: [{ start: 600, end: 650 }] });
      sayTo(boat, 1010);
      await events.atLeast(3);
      await pause(TEMPTING_MS);
      assert.deepEqual(events.frames.map(({ seq }) => seq), [1, 2, 3]);
      // The newest come first, as a boat sends them.
      for (const [first, last] of [[650, 999], [300, 599], [100, 299]] as const) await fill(boat.instance, first, last);
      await pause(TEMPTING_MS);
      assert.deepEqual(events.frames.map(({ seq }) => seq), [1, 2, 3]);
      await fill(boat.instance, 4, 50);
      await eventually("what is there before the next hole", () => events.frames.at(-1)?.seq === 50);
      await fill(boat.instance, 51, 99);
      await eventually("the last frame", () => events.frames.at(-1)?.seq === 1010);
      assert.deepEqual(events.frames.map(({ seq }) => seq), [...numbers(1, 599), ...numbers(650, 1010)]);
      assert.deepEqual(events.named("dropped"), []);
    }),
);

Deno.test(
  "a session that begins before the first frame waits for what came before the live frames",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const boat = await cloud.boat(ID, { headSeq: 500 });
      const session = new SessionClient(`${cloud.url}/instances/${ID}`);
      await session.put();
      await using events = await session.events();
      sayTo(boat, 510);
      await pause(TEMPTING_MS);
      assert.deepEqual(events.frames, []);
      await fill(boat.instance, 1, 499);
      await eventually("the last frame", () => events.frames.at(-1)?.seq === 510);
      assert.deepEqual(events.frames.map(({ seq }) => seq), numbers(1, 510));
      assert.deepEqual(events.named("dropped"), []);
    }),
);

Deno.test(
  "frames that are in no file yet are not gone when newer ones have come by backfill",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      let boat = await cloud.boat(ID);
      sayTo(boat, 10);
      boat = await comeBack(cloud, boat, { headSeq: 1000 });
      await fill(boat.instance, 900, 999);
      const replica = boat.instance.runningReplica!;
      boat.say();
      assert.equal(replica.source.hasFallenBehind(5), false);
      assert.deepEqual(replica.source.absentFrom(5), { kind: "awaited", start: 11, end: 900 });
    }),
);

Deno.test("a session goes on past what the boat has lost, and is told why", DISK, () =>
  inFolder(async (folder) => {
    await using cloud = await CloudServer.start(folder);
    let boat = await cloud.boat(ID);
    const session = new SessionClient(`${cloud.url}/instances/${ID}`);
    await session.put();
    await using events = await session.events();
    sayTo(boat, 3);
    boat = await comeBack(cloud, boat, { headSeq: 20 });
    sayTo(boat, 21);
    await fill(boat.instance, 4, 8);
    await events.atLeast(8);
    await pause(TEMPTING_MS);
    assert.equal(events.frames.length, 8);
    // The boat has looked for the rest.
    await boat.declare({
      headSeq: 21,
      lost: [{ start: 9, end: 15, reason: "pruned" }],
      void: [{ start: 15, end: 20 }],
    });
    await eventually("the last frame", () => events.frames.at(-1)?.seq === 21);
    assert.deepEqual(events.named<Dropped>("dropped"), [{ from_seq: 9, to_seq: 14, count: 6, reason: "pruned" }]);
  }));

Deno.test(
  "while the boat is away a session goes on past a hole after a while, and says that the frames come by backfill",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder, { settings: { holeGraceMs: 500 } });
      let boat = await cloud.boat(ID);
      const session = new SessionClient(`${cloud.url}/instances/${ID}`);
      await session.put();
      await using events = await session.events();
      sayTo(boat, 3);
      boat = await comeBack(cloud, boat, { headSeq: 20 });
      sayTo(boat, 25);
      await events.atLeast(3);
      await pause(TEMPTING_MS);
      assert.equal(events.frames.length, 3);
      boat.leave();
      await eventually("the last frame", () => {
        cloud.instances.runHousekeeping();
        return events.frames.at(-1)?.seq === 25;
      });
      assert.deepEqual(events.frames.map(({ seq }) => seq), [1, 2, 3, ...numbers(20, 25)]);
      const dropped = [{ from_seq: 4, to_seq: 19, count: 16, backfill: true }];
      assert.deepEqual(events.named<Dropped>("dropped"), dropped);
      // What is filled in behind a reader stays behind it.
      boat = await cloud.boat(ID, { headSeq: 25 });
      await fill(boat.instance, 4, 19);
      sayTo(boat, 30);
      await eventually("the live frames", () => events.frames.at(-1)?.seq === 30);
      assert.deepEqual(events.frames.map(({ seq }) => seq), [1, 2, 3, ...numbers(20, 30)]);
      assert.deepEqual(events.named<Dropped>("dropped"), dropped);
    }),
);

Deno.test(
  "numbers that a boat passes over within its live stream, which nobody asks for, hold up no session",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const boat = await cloud.boat(ID, { headSeq: 10 });
      const session = new SessionClient(`${cloud.url}/instances/${ID}`);
      await session.put();
      await using events = await session.events();
      sayTo(boat, 12);
      boat.seq += 5;
      sayTo(boat, 20);
      await fill(boat.instance, 1, 9);
      await eventually("the last frame", () => events.frames.at(-1)?.seq === 20);
      assert.deepEqual(events.frames.map(({ seq }) => seq), [...numbers(1, 12), ...numbers(18, 20)]);
      assert.deepEqual(events.named<Dropped>("dropped"), [{ from_seq: 13, to_seq: 17, count: 5, backfill: true }]);
    }),
);
