import assert from "node:assert/strict";
import { OWN_SUBSCRIPTIONS, TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { sendRaw } from "../support/raw_http.ts";

const UPGRADE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

async function assertNoStreams(boat: TestBoat): Promise<void> {
  await eventually("all streams to be freed", async () => {
    const open = [
      await boat.metric(`vbg_streams{kind="sse"}`),
      await boat.metric(`vbg_streams{kind="websocket"}`),
    ];
    return open.every((count) => count === 0) && (await boat.metric("vbg_subscriptions")) === OWN_SUBSCRIPTIONS;
  });
}

Deno.test("a client that leaves a silent stream frees its subscription", async () => {
  await using boat = await TestBoat.start();
  const events = await boat.events();
  const filtered = await boat.events("?manufacturer=Garmin");
  const socket = await boat.ws("?pgn=1");
  await eventually("three streams", async () => (await boat.metric("vbg_subscriptions")) === OWN_SUBSCRIPTIONS + 3);
  await events.close();
  await filtered.close();
  await socket.close();
  await assertNoStreams(boat);
});

Deno.test("a client that vanishes in the middle of traffic frees its subscription", async () => {
  await using boat = await TestBoat.start();
  const sse = await sendRaw(`${boat.url}/events`);
  const ws = await sendRaw(`${boat.url}/ws`, { headers: UPGRADE });
  await eventually("both streams", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 1);
  const traffic = setInterval(() => boat.say(), 1);
  await pause(20);
  sse.close();
  ws.close();
  await assertNoStreams(boat);
  clearInterval(traffic);
});

Deno.test("the listeners of a filter by device go with its client", async () => {
  await using boat = await TestBoat.start();
  for (let i = 0; i < 20; i++) await (await boat.events("?name=1&exclude_name=2")).close();
  await assertNoStreams(boat);
  boat.claim(1, { uniqueNumber: 1 });
  await eventually("the device", () => boat.boat.broker.registry.size === 1);
});

Deno.test("one stream more than -max-streams is refused with a time to come back, and a place that is freed is given again", async () => {
  await using boat = await TestBoat.start({ maxStreams: 2 });
  await using _events = await boat.events();
  const socket = await boat.ws();
  await eventually("two streams", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 1);
  for (const [path, headers] of [["/events", {}], ["/ws", UPGRADE]] as const) {
    const reply = await boat.raw(path, { headers });
    assert.equal(reply.status, 503);
    assert.equal(reply.headers.get("Retry-After"), "5");
    assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
    assert.match(JSON.parse(await reply.text()).detail, /2 streams.*-max-streams/);
  }
  assert.equal((await boat.raw("/devices")).status, 200);
  await socket.close();
  await eventually("a free place", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 0);
  await using _again = await boat.events();
  boat.boat.reload({ maxStreams: 3 });
  await using _third = await boat.events();
});

Deno.test("many sockets that knock at once get no more places than there are", async () => {
  await using boat = await TestBoat.start({ maxStreams: 5 });
  const opened = await Promise.allSettled(Array.from({ length: 20 }, () => boat.ws()));
  const sockets = opened.flatMap((result) => result.status === "fulfilled" ? [result.value] : []);
  await eventually("the sockets", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === sockets.length);
  assert.equal(sockets.length, 5);
  await Promise.all(sockets.map((socket) => socket.close()));
  await assertNoStreams(boat);
  await using _free = await boat.ws();
});

Deno.test("a socket that is refused or never opens keeps no place", async () => {
  await using boat = await TestBoat.start({ maxStreams: 1 });
  for (let i = 0; i < 5; i++) {
    const connection = await sendRaw(`${boat.url}/ws`, { headers: UPGRADE });
    connection.close();
  }
  await boat.raw("/ws?pgn=x", { headers: UPGRADE });
  await assertNoStreams(boat);
  await eventually("the place", async () => {
    const reply = await fetch(`${boat.url}/events`);
    await reply.body?.cancel();
    return reply.status === 200;
  });
});

Deno.test("stop ends open streams, tells the sockets why, and may be called twice", async () => {
  const boat = await TestBoat.start();
  await using events = await boat.events();
  await using filtered = await boat.events("?instance=3");
  await using socket = await boat.ws();
  await eventually("the socket", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 1);
  boat.say();
  await events.atLeast(1);
  await Promise.all([boat.boat.stop(), boat.boat.stop()]);
  await boat.boat.stop();
  await eventually("the ends", () => events.ended && filtered.ended && socket.closed);
  assert.equal(socket.closed?.code, 1001);
  assert.equal(events.frames.length, 1);
  await assert.rejects(fetch(boat.url + "/livez"));
});

Deno.test("frames that wait for the next tick when the server stops are delivered first", async () => {
  const boat = await TestBoat.start();
  await using events = await boat.events();
  boat.flood(100, 8);
  await boat.boat.stop();
  await eventually("the end", () => events.ended);
  assert.equal(events.frames.length, 100);
});

Deno.test("stop does not wait for ever for clients that read nothing and never answer", async () => {
  const boat = await TestBoat.start({ streamBufferBytes: 64 * 1024 });
  const deaf = [
    await sendRaw(`${boat.url}/events`),
    await sendRaw(`${boat.url}/ws`, { headers: UPGRADE }),
    await sendRaw(`${boat.url}/livez`),
    await Deno.connect({ hostname: "127.0.0.1", port: boat.boat.address.port }),
  ];
  await eventually("both streams", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 1);
  for (let i = 0; i < 100; i++) {
    boat.flood(100, 1785);
    await pause();
  }
  await boat.boat.stop();
  for (const connection of deaf) connection.close();
});

Deno.test("a boat that cannot start leaves nothing behind", async () => {
  await using boat = await TestBoat.start();
  const { startBoat } = await import("../../src/boat/boat.ts");
  const { LoopbackBus } = await import("../../src/can/mod.ts");
  const listen = { hostname: "127.0.0.1", port: boat.boat.address.port };
  const bus = new LoopbackBus("can0");
  await assert.rejects(startBoat({ buses: [bus], listen }), {
    name: "ListenError",
    message: `Cannot listen on 127.0.0.1:${listen.port}: the port is taken`,
  });
  assert.equal(bus.state.type, "closed");
  const twice = [new LoopbackBus("can0"), new LoopbackBus("can0")];
  await assert.rejects(startBoat({ buses: twice, listen: { ...listen, port: 0 } }), { name: "BusError" });
  await assert.rejects(startBoat({ buses: [], listen: { ...listen, port: 0 }, ringFrames: 1000 }), {
    name: "RangeError",
  });
});
