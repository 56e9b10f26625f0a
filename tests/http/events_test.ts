import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import { OWN_SUBSCRIPTIONS, TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { sendRaw } from "../support/raw_http.ts";

const GARMIN = { uniqueNumber: 12345, manufacturerCode: 229, deviceInstance: 9 };
const AIRMAR = { uniqueNumber: 777, manufacturerCode: 135, deviceInstance: 0 };
const GARMIN_NAME = "001ca03039";

/** Where a frame came from and what it is, in short. */
const brief = ({ bus = "can0", src, pgn }: Frame) => `${bus}/${src}/${pgn}`;

/** One round of traffic: two claimed devices and a silent stranger on can0, one device on can1. */
function round(boat: TestBoat): void {
  boat.say({ src: 1, pgn: 127250 });
  boat.say({ src: 1, pgn: 127245 });
  boat.say({ src: 2, pgn: 127250 });
  boat.say({ src: 3, pgn: 127250 });
  boat.say({ src: 1, pgn: 127250, bus: 1 });
}

const FILTERS: [query: string, kept: string[]][] = [
  ["", ["can0/1/127250", "can0/1/127245", "can0/2/127250", "can0/3/127250", "can1/1/127250"]],
  ["?pgn=127245", ["can0/1/127245"]],
  ["?pgn=127245&pgn=127250&bus=can0", ["can0/1/127250", "can0/1/127245", "can0/2/127250", "can0/3/127250"]],
  ["?exclude_pgn=127250", ["can0/1/127245"]],
  ["?pgn=127250&pgn=127245&exclude_pgn=127250", ["can0/1/127245"]],
  ["?manufacturer=GARMIN", ["can0/1/127250", "can0/1/127245"]],
  ["?manufacturer=229&manufacturer=airmar", ["can0/1/127250", "can0/1/127245", "can0/2/127250"]],
  ["?instance=9", ["can0/1/127250", "can0/1/127245"]],
  ["?instance=9&instance=0", ["can0/1/127250", "can0/1/127245", "can0/2/127250"]],
  ["?instance=9&pgn=127250", ["can0/1/127250"]],
  [`?name=0x${GARMIN_NAME}`, []],
  ["?name=0x000000091CA03039", ["can0/1/127250", "can0/1/127245"]],
  ["?name=91ca03039", ["can0/1/127250", "can0/1/127245"]],
  ["?exclude_name=91ca03039", ["can0/2/127250", "can0/3/127250", "can1/1/127250"]],
  ["?name=91ca03039&exclude_name=91ca03039", []],
  ["?bus=can1", ["can1/1/127250"]],
  ["?bus=can0&bus=can1&pgn=127245", ["can0/1/127245"]],
  ["?bus=can9", []],
  ["?manufacturer=Garmin&instance=0", []],
];

for (const order of ["after", "before"] as const) {
  Deno.test(`a filter made ${order} the devices have claimed lets through what the spec says, on /events and /ws`, async (t) => {
    for (const [query, kept] of FILTERS) {
      await t.step(query || "no filter", async () => {
        await using boat = await TestBoat.start({ names: ["can0", "can1"] });
        const claim = async () => {
          boat.claim(1, GARMIN);
          boat.claim(2, AIRMAR);
          await eventually("two devices", async () => (await boat.get<unknown[]>("/devices")).length === 2);
        };
        if (order === "after") await claim();
        await using events = await boat.events(query);
        await using socket = await boat.ws(query);
        await eventually("both streams", () => boat.boat.broker.subscribers > OWN_SUBSCRIPTIONS);
        await eventually("the socket", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 1);
        if (order === "before") await claim();
        round(boat);
        const all = (frames: Frame[]) => frames.filter(({ pgn }) => pgn !== 60928).map(brief);
        await eventually("the frames", () => all(events.frames).length >= kept.length);
        await eventually("the envelopes", () => all(socket.of<Frame>("frame")).length >= kept.length);
        await pause(20);
        assert.deepEqual(all(events.frames).sort(), kept.toSorted());
        assert.deepEqual(all(socket.of<Frame>("frame")).sort(), kept.toSorted());
      });
    }
  });
}

Deno.test("a device that moves to another address keeps flowing through a filter by its NAME", async () => {
  await using boat = await TestBoat.start();
  boat.claim(1, GARMIN);
  await using events = await boat.events("?name=91ca03039&pgn=127250");
  boat.say({ src: 1 });
  await events.atLeast(1);
  boat.claim(40, GARMIN);
  boat.say({ src: 40 });
  boat.say({ src: 41 });
  boat.say({ src: 40 });
  assert.deepEqual((await events.atLeast(3)).map(({ src }) => src), [1, 40, 40]);
});

Deno.test("an address that another NAME has taken no longer passes the filter of its old owner", async () => {
  await using boat = await TestBoat.start();
  boat.claim(1, GARMIN);
  await using events = await boat.events("?manufacturer=garmin&pgn=127250");
  boat.say({ src: 1, data: [1] });
  boat.claim(1, AIRMAR);
  boat.say({ src: 1, data: [2] });
  boat.claim(2, GARMIN);
  boat.say({ src: 2, data: [3] });
  assert.deepEqual((await events.atLeast(2)).map(({ data }) => data), ["01", "03"]);
});

Deno.test("a stream starts at the current head: nothing older, nothing missing", async () => {
  await using boat = await TestBoat.start();
  for (let i = 0; i < 100; i++) boat.say();
  await eventually("100 frames", () => boat.boat.broker.head === 100);
  await using first = await boat.events();
  for (let i = 0; i < 10; i++) boat.say();
  await using second = await boat.events();
  boat.say();
  await first.atLeast(11);
  await second.atLeast(1);
  assert.deepEqual(first.frames.map(({ seq }) => seq), Array.from({ length: 11 }, (_, i) => 101 + i));
  assert.deepEqual(second.frames.map(({ seq }) => seq), [111]);
});

Deno.test("a client that joins between two ticks does not get what waits for the others", async () => {
  await using boat = await TestBoat.start();
  await using first = await boat.events();
  for (let i = 0; i < 50; i++) {
    boat.say();
    const opening = boat.events();
    await using late = await opening;
    const head = boat.boat.broker.head;
    boat.say();
    await late.atLeast(1);
    assert.ok((late.frames[0]?.seq ?? 0) <= head + 1);
    assert.deepEqual(late.frames.map(({ seq }) => seq), late.frames.map((_, at) => (late.frames[0]?.seq ?? 0) + at));
  }
  assert.equal((await first.atLeast(100)).length, 100);
});

Deno.test("two clients with the same filter get identical bytes over one subscription", async () => {
  await using boat = await TestBoat.start();
  const read = async () => {
    const connection = await sendRaw(`${boat.url}/events?pgn=127250`);
    const chunks: string[] = [];
    const done = (async () => {
      const buffer = new Uint8Array(65_536);
      for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
        chunks.push(new TextDecoder().decode(buffer.subarray(0, count)));
      }
    })().catch(() => {});
    return { connection, done, body: () => chunks.join("").replace(/^[\s\S]*?\r\n\r\n/, "") };
  };
  const clients = [await read(), await read()];
  await eventually("both streams", async () => (await boat.metric(`vbg_streams{kind="sse"}`)) === 2);
  assert.equal(await boat.metric("vbg_subscriptions"), OWN_SUBSCRIPTIONS + 1);
  for (let i = 0; i < 500; i++) {
    boat.say();
    if (i % 50 === 0) await pause();
  }
  await eventually("the last frame", () => clients.every(({ body }) => body().includes(`"seq":500,`)));
  assert.equal(clients[0]?.body(), clients[1]?.body());
  for (const { connection, done } of clients) {
    connection.close();
    await done;
  }
});

Deno.test("the head of the reply arrives at once on a silent bus", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events();
  assert.equal(events.response.status, 200);
  assert.equal(events.response.headers.get("Content-Type"), "text/event-stream");
  assert.equal(events.response.headers.get("Cache-Control"), "no-cache");
  assert.equal(events.response.headers.get("Access-Control-Allow-Origin"), "*");
  assert.equal(boat.boat.broker.head, 0);
});

Deno.test("a stream that has been silent for 15 s gets a comment, and no sooner", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  await using silent = await boat.events("?pgn=1");
  await using busy = await boat.events();
  clock.advance(14_000);
  boat.say();
  await busy.atLeast(1);
  clock.advance(2_000);
  await eventually("a comment", () => silent.comments.length > 0);
  assert.equal(silent.comments.length, 1);
  assert.deepEqual(busy.comments, []);
  clock.advance(15_000);
  await eventually("the next comments", () => silent.comments.length === 2 && busy.comments.length === 1);
  assert.deepEqual(silent.frames, []);
});

Deno.test("device events come only when asked for, have a name, and ignore the filter", async () => {
  await using boat = await TestBoat.start();
  await using plain = await boat.events();
  await using told = await boat.events("?devices=true&pgn=1");
  boat.say({ src: 1 });
  boat.claim(1, GARMIN);
  boat.claim(2, GARMIN);
  await plain.atLeast(3);
  const events = await eventually("four events", () => told.events.length >= 4 && told.events);
  assert.deepEqual(plain.events, []);
  assert.deepEqual(events.map(({ name }) => name), ["device", "device", "device", "device"]);
  const changes = told.named<{ event: string; device: { src: number; name?: string } }>("device");
  assert.deepEqual(changes.map(({ event, device }) => [event, device.src, device.name !== undefined]), [
    ["added", 1, false],
    ["updated", 1, true],
    ["removed", 1, true],
    ["added", 2, true],
  ]);
  assert.deepEqual(told.frames, []);
});

Deno.test("a burst of 20 000 frames reaches a reading client completely and in order", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events();
  await using socket = await boat.ws();
  await eventually("the socket", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 1);
  for (let sent = 0; sent < 20_000; sent++) {
    boat.say({ src: sent % 50 });
    if (sent % 500 === 499) await pause();
  }
  await events.atLeast(20_000);
  await socket.atLeast("frame", 20_000);
  const expected = Array.from({ length: 20_000 }, (_, i) => i + 1);
  assert.deepEqual(events.frames.map(({ seq }) => seq), expected);
  assert.deepEqual(socket.of<Frame>("frame").map(({ seq }) => seq), expected);
  assert.deepEqual(events.events, []);
});
