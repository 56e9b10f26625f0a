import assert from "node:assert/strict";
import type { DeviceEvent, Frame } from "../../src/frame/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import type { WsClient } from "../support/ws_client.ts";

async function open(boat: TestBoat, query = ""): Promise<WsClient> {
  const before = await boat.metric(`vbg_streams{kind="websocket"}`) ?? 0;
  const client = await boat.ws(query);
  await eventually("the socket", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === before + 1);
  return client;
}

Deno.test("a WebSocket carries frames as {type: frame, data}, the same text as an event stream", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events();
  await using socket = await open(boat);
  boat.say();
  boat.say({ pgn: 126996, data: new Uint8Array(134) });
  await events.atLeast(2);
  assert.deepEqual(await socket.atLeast<Frame>("frame", 2), events.frames);
  assert.deepEqual(socket.of<Frame>("frame").map((frame) => JSON.stringify(frame)), events.texts);
});

Deno.test("a device event has an envelope of its own and never that of a frame", async () => {
  await using boat = await TestBoat.start();
  await using socket = await open(boat);
  boat.say({ src: 5 });
  boat.claim(5, { uniqueNumber: 7, manufacturerCode: 229 });
  boat.claim(6, { uniqueNumber: 7, manufacturerCode: 229 });
  await socket.atLeast("frame", 3);
  const events = await socket.atLeast<DeviceEvent>("device", 4);
  assert.deepEqual(events.map(({ event, device }) => [event, device.src, device.manufacturer]), [
    ["added", 5, undefined],
    ["updated", 5, "Garmin"],
    ["removed", 5, "Garmin"],
    ["added", 6, "Garmin"],
  ]);
  for (const frame of socket.of<Frame>("frame")) assert.equal(typeof frame.seq, "number");
});

const WRONG: [what: string, message: string | Uint8Array<ArrayBuffer>, answer: string][] = [
  ["send", `{"type":"send","data":{"pgn":59904,"dst":255,"prio":6,"data":"00ee00"}}`, "send is disabled"],
  ["send without data", `{"type":"send"}`, "send is disabled"],
  ["no JSON", "hello", "messages must be JSON objects with a type"],
  ["nothing", "", "messages must be JSON objects with a type"],
  ["a number", "1", "messages must be JSON objects with a type"],
  ["null", "null", "messages must be JSON objects with a type"],
  ["a list", `[{"type":"send"}]`, "messages must be JSON objects with a type"],
  ["no type", `{"data":1}`, "messages must be JSON objects with a type"],
  ["an unknown type", `{"type":"subscribe"}`, `unknown message type "subscribe"`],
  ["a type that is no text", `{"type":7}`, "messages must be JSON objects with a type"],
  ["__proto__", `{"__proto__":{"type":"send"}}`, "messages must be JSON objects with a type"],
  ["binary", Uint8Array.of(1, 2, 3), "messages must be JSON text"],
  ["binary JSON", new TextEncoder().encode(`{"type":"send"}`), "messages must be JSON text"],
];

Deno.test("what a client says wrongly is answered in words, and nothing reaches the bus", async (t) => {
  await using boat = await TestBoat.start();
  await using socket = await open(boat);
  const heard = boat.listen();
  for (const [what, message, answer] of WRONG) {
    await t.step(what, async () => assert.equal(await socket.errorTo(message), answer));
  }
  boat.say();
  await socket.atLeast("frame", 1);
  assert.equal(heard.length, 1);
});

const LIMIT = 64 * 1024;
const SIZES: [what: string, message: string | Uint8Array<ArrayBuffer>, closes: boolean][] = [
  ["64 KiB of text", "x".repeat(LIMIT), false],
  ["64 KiB of text and a byte", "x".repeat(LIMIT + 1), true],
  ["22 000 characters of three bytes", "€".repeat(22_000), true],
  ["64 KiB of bytes", new Uint8Array(LIMIT), false],
  ["64 KiB of bytes and one", new Uint8Array(LIMIT + 1), true],
];

Deno.test("a message over 64 KiB, counted in bytes, closes with 1009", async (t) => {
  await using boat = await TestBoat.start();
  for (const [what, message, closes] of SIZES) {
    await t.step(what, async () => {
      await using socket = await open(boat);
      socket.socket.send(message);
      await eventually("an answer", () => socket.closed ?? socket.of("error").length > 0);
      assert.equal(socket.closed?.code, closes ? 1009 : undefined);
    });
    await eventually("the place", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 0);
  }
});

Deno.test("a client that talks and never reads the answers is closed, not remembered", async () => {
  await using boat = await TestBoat.start({ streamBufferBytes: 4096 });
  const upgrade = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  const { sendRaw } = await import("../support/raw_http.ts");
  const connection = await sendRaw(`${boat.url}/ws`, { headers: upgrade });
  await eventually("the socket", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 1);
  // Masked text messages of one byte (RFC 6455 §5.2) with a mask of zeros, many in one write.
  const message = [0x81, 0x81, 0, 0, 0, 0, 0x78];
  const many = Uint8Array.from({ length: 10_000 * message.length }, (_, i) => message[i % message.length] ?? 0);
  const talking = (async () => {
    for (let i = 0; i < 60; i++) await connection.write(many);
  })().catch(() => {});
  await eventually("the server to close", async () => (await boat.metric(`vbg_streams{kind="websocket"}`)) === 0);
  connection.close();
  await talking;
});

Deno.test("a connected socket closes with the code that the client gives", async () => {
  await using boat = await TestBoat.start();
  const socket = await open(boat);
  socket.socket.close(1000, "bye");
  await socket.close();
  assert.equal(socket.closed?.code, 1000);
});
