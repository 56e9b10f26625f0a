import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { sendRaw } from "../support/raw_http.ts";
import { SlowSocket } from "../support/slow_socket.ts";

/** Large messages, so that the buffers of both kernels are soon full. */
const MESSAGE_BYTES = 1785;
const STEP = 100;
const BUFFER_BYTES = 64 * 1024;
/** More than kernels, client library and our own buffer hold together. */
const FLOOD_MESSAGES = 12_000;

interface Dropped {
  from_seq: number;
  to_seq: number;
  count: number;
}

async function flood(boat: TestBoat, between: () => Promise<unknown> = () => pause()): Promise<void> {
  for (let sent = 0; sent < FLOOD_MESSAGES; sent += STEP) {
    boat.flood(STEP, MESSAGE_BYTES);
    await between();
  }
}

/** Every number from 1 to `head` is a frame, or in a range that was told and is counted right. */
function assertNothingSilent(frames: Frame[], dropped: Dropped[], head: number): void {
  const seqs = frames.map(({ seq }) => seq);
  assert.deepEqual(seqs, seqs.toSorted((a, b) => a - b), "in order");
  assert.equal(new Set(seqs).size, seqs.length, "no frame twice");
  const lost = dropped.reduce((sum, { count }) => sum + count, 0);
  assert.equal(seqs.length + lost, head, "received + dropped = published");
  const missing = new Set(Array.from({ length: head }, (_, i) => i + 1)).difference(new Set(seqs));
  for (const { from_seq, to_seq, count } of dropped) {
    const inRange = [...missing].filter((seq) => seq >= from_seq && seq <= to_seq);
    assert.equal(inRange.length, count, `count of ${from_seq}-${to_seq}`);
    assert.ok(missing.has(from_seq) && missing.has(to_seq), "the range begins and ends with a lost frame");
    for (const seq of inRange) missing.delete(seq);
  }
  assert.equal(missing.size, 0, "every lost frame is in a range");
}

Deno.test("a client that does not read is told what it lost and misses nothing silently, while others get every frame", async () => {
  await using boat = await TestBoat.start({ streamBufferBytes: BUFFER_BYTES });
  await using slow = await boat.events();
  await using quick = await boat.events();
  slow.pause();
  await flood(boat, () => eventually("the quick one", () => quick.frames.length === boat.boat.broker.head));
  const lost = await boat.metric(`vbg_dropped_deliveries_total{reason="client_slow"}`);
  assert.ok(lost !== undefined && lost > 0, "something was dropped");
  slow.resume();
  await eventually("the report", () => slow.dropped.reduce((sum, { count }) => sum + count, 0) === lost);
  boat.say();
  await eventually("a frame after the gap", () => slow.frames.at(-1)?.seq === FLOOD_MESSAGES + 1);
  assertNothingSilent(slow.frames, slow.dropped, FLOOD_MESSAGES + 1);
  await eventually("the frame at the quick one", () => quick.frames.length >= FLOOD_MESSAGES + 1);
  assert.equal(quick.frames.length, FLOOD_MESSAGES + 1);
  assert.deepEqual(quick.events, []);
});

Deno.test("a client that stops and goes again and again can account for every frame", async () => {
  await using boat = await TestBoat.start({ streamBufferBytes: BUFFER_BYTES });
  await using slow = await boat.events();
  for (let times = 0; times < 2; times++) {
    slow.pause();
    await flood(boat);
    slow.resume();
    await eventually("the gap to be told", () => slow.dropped.length > times);
  }
  boat.say();
  await eventually("the last frame", () => slow.frames.at(-1)?.seq === 2 * FLOOD_MESSAGES + 1);
  assertNothingSilent(slow.frames, slow.dropped, 2 * FLOOD_MESSAGES + 1);
});

Deno.test("a WebSocket that does not read is told what it lost and misses nothing silently", async () => {
  await using boat = await TestBoat.start({ streamBufferBytes: BUFFER_BYTES });
  const slow = await SlowSocket.open(`${boat.url}/ws`);
  await eventually("the socket", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 1);
  const of = <T>(type: string) =>
    slow.messages.map((message) => message as { type: string; data: T }).filter((message) => message.type === type)
      .map(({ data }) => data);
  const dropped = () => of<Dropped>("dropped");
  const frames = () => of<Frame>("frame");
  await flood(boat);
  const lost = () => boat.metric(`vbg_dropped_deliveries_total{reason="client_slow"}`);
  await eventually("drops", lost);
  slow.read();
  await eventually(
    "the report",
    async () => dropped().reduce((sum, { count }) => sum + count, 0) === await lost(),
  );
  boat.say();
  await eventually("a frame after the gap", () => frames().at(-1)?.seq === FLOOD_MESSAGES + 1);
  assertNothingSilent(frames(), dropped(), FLOOD_MESSAGES + 1);
  await slow.close();
});

Deno.test("a client that never reads takes no more memory: every further frame is dropped and counted", async () => {
  await using boat = await TestBoat.start({ streamBufferBytes: BUFFER_BYTES });
  const connection = await sendRaw(`${boat.url}/events`);
  await using quick = await boat.events();
  await eventually("the streams", async () => (await boat.metric(`vbg_streams{kind="sse"}`)) === 2);
  await flood(boat, () => eventually("the quick one", () => quick.frames.length === boat.boat.broker.head));
  const dropped = await boat.metric(`vbg_dropped_deliveries_total{reason="client_slow"}`) ?? 0;
  assert.ok(dropped > 0);
  boat.flood(STEP, MESSAGE_BYTES);
  await eventually(
    "one more drop for each more frame",
    async () => await boat.metric(`vbg_dropped_deliveries_total{reason="client_slow"}`) === dropped + STEP,
  );
  connection.close();
  await eventually("the stream to be freed", async () => (await boat.metric(`vbg_streams{kind="sse"}`)) === 1);
});

Deno.test("frames that overflow the queue of a channel are told too", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events();
  boat.flood(20_000, 8);
  await eventually("the report", () => events.dropped.length > 0);
  boat.say();
  await eventually("the last frame", () => events.frames.at(-1)?.seq === 20_001);
  assertNothingSilent(events.frames, events.dropped, 20_001);
  assert.equal(
    (await boat.metric(`vbg_dropped_deliveries_total{reason="queue_full"}`) ?? 0) +
      (await boat.metric(`vbg_dropped_deliveries_total{reason="client_slow"}`) ?? 0),
    events.dropped.reduce((sum, { count }) => sum + count, 0),
  );
});

Deno.test("frames that a small ring lets go before they are written are told too", async () => {
  await using boat = await TestBoat.start({ ringFrames: 16 });
  await using events = await boat.events();
  boat.flood(100, 8);
  await eventually("the report", () => events.dropped.length > 0);
  boat.say();
  await eventually("the last frame", () => events.frames.at(-1)?.seq === 101);
  assertNothingSilent(events.frames, events.dropped, 101);
  assert.equal(await boat.metric(`vbg_dropped_deliveries_total{reason="queue_full"}`), 84);
});

Deno.test("a slow client that the server's stop cuts short learns how much it did not get", async () => {
  const boat = await TestBoat.start({ streamBufferBytes: BUFFER_BYTES });
  await using slow = await boat.events();
  slow.pause();
  await flood(boat);
  const stopped = boat.boat.stop();
  slow.resume();
  await stopped;
  await eventually("the end", () => slow.ended);
  assertNothingSilent(slow.frames, slow.dropped, FLOOD_MESSAGES);
});
