import assert from "node:assert/strict";
import type { SseClient } from "../support/sse_client.ts";
import type { Slot } from "../../src/stream/mod.ts";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { range, seqs, SessionClient } from "../support/session.ts";

const NET = needs({ permissions: ["net"] });
const DISK = needs({ permissions: ["net", "read", "write"] });
const MINUTE_MS = 60_000;

/** Says so many messages, and waits until they are numbered. */
async function say(boat: TestBoat, count: number): Promise<void> {
  const head = boat.boat.broker.head + count;
  for (let i = 0; i < count; i++) boat.say({ data: [i & 0xff, 2, 3, 4, 5, 6, 7, 8] });
  await eventually(`frame ${head}`, () => boat.boat.broker.head === head);
}

/** The same, slowly enough for a live stream with a small ring behind it; gives what that stream brought. */
async function sayWatched(boat: TestBoat, { live, count }: { live: SseClient; count: number }): Promise<string[]> {
  for (let said = 50; said <= count; said += 50) {
    await say(boat, 50);
    await live.atLeast(said);
  }
  return live.texts;
}

// The lines of the specification's table of session states, one test each.

Deno.test("absent, PUT with a valid id: active, with head and cursor", NET, async () => {
  await using boat = await TestBoat.start();
  await say(boat, 3);
  const { client_id, seq, cursor } = await new SessionClient(boat.url).put();
  assert.deepEqual({ client_id, seq, cursor }, { client_id: "pilot", seq: 3, cursor: 4 });
});

Deno.test("absent after expiry, PUT: active from the current head, with no replay of old data", NET, async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  const client = new SessionClient(boat.url);
  await client.put({ buffer_timeout: "PT1M" });
  await say(boat, 5);
  clock.advance(MINUTE_MS);
  assert.equal((await client.put()).cursor, 6);
  await using stream = await client.events();
  await say(boat, 1);
  assert.deepEqual(seqs(await stream.atLeast(1)), [6]);
});

Deno.test("active, PUT with the same id: active, with the current cursor", NET, async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put();
  await say(boat, 5);
  assert.equal(await client.ack(3), 204);
  const { seq, cursor } = await client.put();
  assert.deepEqual([seq, cursor], [5, 4]);
});

Deno.test("active, GET of the events: streaming, from the cursor on and then live", NET, async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put();
  await say(boat, 5);
  await client.ack(2);
  await using stream = await client.events();
  await stream.atLeast(3);
  await say(boat, 2);
  assert.deepEqual(seqs(await stream.atLeast(5)), range(3, 7));
});

Deno.test("streaming, ACK: streaming, and the cursor advances", NET, async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put();
  await using stream = await client.events();
  await say(boat, 4);
  await stream.atLeast(4);
  assert.equal(await client.ack(4), 204);
  assert.equal(await client.cursor(), 5);
  assert.equal(await client.ack(2), 204, "below the cursor there is no effect");
  assert.equal(await client.ack(5), 400, "above the head there is nothing to acknowledge");
  assert.equal(await client.cursor(), 5);
  await say(boat, 1);
  assert.deepEqual(seqs(await stream.atLeast(5)), range(1, 5));
});

Deno.test("streaming, the client disconnects: active, and buffering continues", NET, async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put();
  const stream = await client.events();
  await say(boat, 2);
  await stream.atLeast(2);
  await client.ack(1);
  await stream.close();
  await say(boat, 3);
  await using again = await client.events();
  assert.deepEqual(seqs(await again.atLeast(4)), range(2, 5));
});

Deno.test("active, no reconnect within the timeout: absent", NET, async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  const client = new SessionClient(boat.url);
  await client.put({ buffer_timeout: "PT1M" });
  clock.advance(MINUTE_MS - 1);
  const stream = await client.events();
  clock.advance(10 * MINUTE_MS);
  assert.equal((await client.request("GET", "")).status, 200, "a stream that is open keeps it");
  await stream.close();
  await eventually("the server to see it", async () => await boat.metric(`vbg_streams{kind="session"}`) === 0);
  clock.advance(MINUTE_MS);
  await eventually("the session to go", async () => await boat.metric("vbg_sessions") === 0);
});

Deno.test("any, GET of the events while the session is missing or expired: 404", NET, async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  const client = new SessionClient(boat.url);
  assert.equal((await client.problem("GET", "/events")).status, 404);
  await client.put({ buffer_timeout: "PT1M" });
  clock.advance(MINUTE_MS);
  assert.equal((await client.problem("GET", "/events")).status, 404);
  assert.equal((await client.problem("PUT", "/ack", { seq: 0 })).status, 404);
});

Deno.test(
  "streaming, behind ring and journal: the client gets a fallen-behind error, before and in a stream",
  NET,
  async () => {
    await using boat = await TestBoat.start({ ringFrames: 1024 });
    const client = new SessionClient(boat.url);
    await client.put();
    await using stream = await client.events();
    await say(boat, 1);
    await stream.atLeast(1);
    boat.flood(2000, 8);
    await eventually("the end of the stream", () => stream.ended);
    const oldest_seq = 2001 - 1023;
    assert.deepEqual(stream.events, [{ name: "error", data: { code: "fallen_behind", oldest_seq } }]);
    const problem = await client.problem("GET", "/events");
    assert.deepEqual([problem.status, problem.oldest_seq], [410, oldest_seq]);
    assert.match(problem.type, /ErrFallenBehind$/);
  },
);

/** Two runs of a boat in one state directory, with something between them. */
async function twice(
  options: TestBoatOptions,
  { first, between, second }: Record<"first" | "second", (boat: TestBoat) => Promise<void>> & {
    between?: () => Promise<void>;
  },
): Promise<void> {
  {
    await using boat = await TestBoat.start(options);
    await first(boat);
  }
  await between?.();
  await using boat = await TestBoat.start(options);
  await second(boat);
}

Deno.test(
  "without a journal, a session survives a restart, and goes on where numbers go on",
  DISK,
  () =>
    inFolder((stateDirectory) =>
      twice({ stateDirectory }, {
        first: async (boat) => {
          const [done, behind] = ["done", "behind"].map((id) => new SessionClient(boat.url, { id }));
          await done!.put({ buffer_timeout: "PT2M", filter: { pgn: [127250] } });
          await behind!.put();
          await say(boat, 10);
          await done!.ack(10);
          await behind!.ack(4);
        },
        second: async (boat) => {
          assert.equal(boat.boat.broker.head, 10);
          const [done, behind] = ["done", "behind"].map((id) => new SessionClient(boat.url, { id }));
          const state = await (await done!.request("GET", "")).json();
          assert.deepEqual([state.cursor, state.buffer_timeout, state.filter], [11, "PT2M", { pgn: [127250] }]);
          await using stream = await done!.events();
          await say(boat, 3);
          assert.deepEqual(seqs(await stream.atLeast(3)), [11, 12, 13]);
          const { status, oldest_seq } = await behind!.problem("GET", "/events");
          assert.deepEqual([status, oldest_seq], [410, 11], "frames 5 to 10 were in memory alone");
        },
      })
    ),
);

Deno.test(
  "with a journal, a session survives a restart and gets exactly what it has missed",
  DISK,
  () =>
    inFolder(async (folder) => {
      const directory = `${folder}/journal`;
      const stateDirectory = `${folder}/state`;
      await Deno.mkdir(stateDirectory);
      const options = { stateDirectory, ringFrames: 64, journal: { directory, stateDirectory, blockBytes: 4096 } };
      const texts: string[] = [];
      await twice(options, {
        first: async (boat) => {
          await using live = await boat.events();
          const client = new SessionClient(boat.url);
          await client.put();
          texts.push(...await sayWatched(boat, { live, count: 900 }));
          await client.ack(100);
        },
        second: async (boat) => {
          await using live = await boat.events();
          texts.push(...await sayWatched(boat, { live, count: 300 }));
          await using stream = await new SessionClient(boat.url).events();
          await stream.atLeast(1100);
          await say(boat, 1);
          await stream.atLeast(1101);
          assert.deepEqual(seqs(stream.frames), range(101, 1201));
          assert.deepEqual(stream.texts.slice(0, 1100), texts.slice(100), "byte for byte as they were live");
          assert.deepEqual(stream.events, []);
        },
      });
    }),
);

Deno.test(
  "a slot is there from the start, over restarts too, and its stream is never 404",
  DISK,
  () =>
    inFolder((stateDirectory) => {
      const slots: Slot[] = [{ id: "slot", timeoutMs: MINUTE_MS, filter: { pgn: [127250] } }];
      const clock = new FakeClock();
      return twice({ stateDirectory, slots, clock }, {
        first: async (boat) => {
          await say(boat, 2);
          const client = new SessionClient(boat.url, { id: "slot" });
          await using stream = await client.events();
          assert.deepEqual(seqs(await stream.atLeast(2)), [1, 2]);
          await client.ack(2);
        },
        second: async (boat) => {
          const client = new SessionClient(boat.url, { id: "slot" });
          await say(boat, 2);
          assert.equal(await client.cursor(), 3);
          clock.advance(MINUTE_MS);
          await using stream = await client.events();
          await say(boat, 1);
          assert.deepEqual(seqs(await stream.atLeast(1)), [5], "away for too long, it begins anew");
        },
      });
    }),
);

Deno.test("a stop ends the streams of sessions, those of clients that read nothing too", NET, async () => {
  const boat = await TestBoat.start();
  const clients = ["a", "b"].map((id) => new SessionClient(boat.url, { id }));
  const streams: SseClient[] = [];
  for (const client of clients) {
    await client.put();
    streams.push(await client.events());
  }
  await say(boat, 1);
  await streams[0]!.atLeast(1);
  streams[1]!.pause();
  boat.flood(20_000, 1000);
  await boat.boat.stop();
  streams[1]!.resume();
  for (const stream of streams) {
    await eventually("the end", () => stream.ended);
    assert.deepEqual(stream.events, []);
    await stream.close();
  }
});

Deno.test(
  "frames that have left the ring and are not on disk yet are in the journal all the same",
  DISK,
  () =>
    inFolder(async (stateDirectory) => {
      const journal = { directory: `${stateDirectory}/journal`, stateDirectory };
      await using boat = await TestBoat.start({ stateDirectory, ringFrames: 16, journal });
      const client = new SessionClient(boat.url);
      await client.put();
      await say(boat, 100);
      await using stream = await client.events();
      assert.deepEqual(seqs(await stream.atLeast(100)), range(1, 100));
      assert.deepEqual(stream.events, []);
    }),
);

Deno.test(
  "in a new epoch a session is told, and gets the new frames alone, though the journal has the old",
  DISK,
  () =>
    inFolder((stateDirectory) => {
      const journal = { directory: `${stateDirectory}/journal`, stateDirectory, blockBytes: 4096 };
      return twice({ stateDirectory, ringFrames: 16, journal }, {
        first: async (boat) => {
          await new SessionClient(boat.url).put();
          await say(boat, 300);
        },
        between: () => Deno.remove(`${stateDirectory}/head.json`),
        second: async (boat) => {
          assert.equal(boat.boat.broker.head, 0);
          const client = new SessionClient(boat.url);
          for (let i = 0; i < 250; i++) boat.say({ src: 2 });
          await eventually("the frames", () => boat.boat.broker.head === 250);
          await using told = await client.events();
          await eventually("the end", () => told.ended);
          assert.deepEqual([told.frames, told.events], [[], [{ name: "error", data: { code: "new_epoch" } }]]);
          await using stream = await client.events();
          assert.deepEqual(seqs(await stream.atLeast(250)), range(1, 250));
          assert.ok(stream.frames.every(({ src }) => src === 2));
        },
      });
    }),
);
