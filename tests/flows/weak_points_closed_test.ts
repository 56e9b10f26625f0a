// Weak points of other gateways that no other test shows closed.
import assert from "node:assert/strict";
import { startBoat } from "../../src/boat/boat.ts";
import { LoopbackBus } from "../../src/can/mod.ts";
import { parseSendRules } from "../../src/transmit/mod.ts";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { allowed } from "../support/needs.ts";
import { sendRaw } from "../support/raw_http.ts";
import { postTo } from "../support/sending.ts";
import { WsClient } from "../support/ws_client.ts";

const NET = { ignore: !allowed("net") };
const OPEN: TestBoatOptions = { sendEnabled: true, names: ["can0", "can1"] };
const HEADING = { pgn: 127250, data: "00102700007ffd" };
/** Connections of clients that never come to an end with what they say; the test holds both of their ends. */
const SLOW_CLIENTS = 100;

Deno.test("no message passes by a rule on a NAME", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  const pilot = boat.claim(5, { uniqueNumber: 5 });
  const plotter = boat.claim(6, { uniqueNumber: 6 });
  boat.claim(5, { uniqueNumber: 7 }, { bus: 1 });
  await eventually("the devices", async () => (await boat.get<unknown[]>("/devices")).length === 3);
  const statusOf = async (message: Record<string, unknown>) =>
    (await boat.post("/send", { pgn: 126208, data: "00", ...message })).status;
  const [allow, deny] = [`name:${plotter.toString(16)}`, `!name:${pilot.toString(16)}; pgn:0-262143`];
  boat.boat.reload({ sendRules: parseSendRules(deny) });
  assert.equal(await statusOf({ dst: 5 }), 403, "no bus is said");
  assert.equal(await statusOf({ dst: 5, bus: "can0" }), 403);
  assert.equal(await statusOf({ dst: 255 }), 403, "for everybody is for it, too");
  assert.equal(await statusOf({ dst: 99 }), 403, "nobody knows who is there");
  assert.equal(await statusOf({ pgn: 59904, dst: 255 }), 403, "every device hears a request that is broadcast");
  assert.equal(await statusOf({ pgn: 65240 }), 403, "its payload names the device that it is for");
  assert.equal(
    await statusOf({ pgn: 127250, dst: 5 }),
    202,
    "a PGN that is always broadcast, whatever destination is given",
  );
  assert.equal(await statusOf({ dst: 6 }), 202);
  assert.equal(await statusOf({ dst: 5, bus: "can1" }), 202, "another device at the same address of another bus");
  boat.claim(8, { uniqueNumber: 5 });
  assert.equal(await statusOf({ dst: 8 }), 403, "it has moved");
  boat.boat.reload({ sendRules: parseSendRules(allow) });
  assert.equal(await statusOf({ dst: 6 }), 202, "no bus is said");
  for (const message of [{ dst: 8 }, { dst: 255 }, { dst: 99 }, { pgn: 127250, dst: 6 }, { dst: 6, bus: "can1" }]) {
    assert.equal(await statusOf(message), 403, JSON.stringify(message));
  }
});

Deno.test("many clients that send head or body of a request slowly keep nobody else out", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  const connections: Deno.TcpConn[] = [];
  const { hostname, port } = new URL(boat.url);
  const encoder = new TextEncoder();
  for (let i = 0; i < SLOW_CLIENTS; i++) {
    const head = await Deno.connect({ hostname, port: Number(port) });
    await head.write(encoder.encode(`GET /devices HTTP/1.1\r\nHost: boat\r\nX-Slow: `));
    const path = ["/send", "/query", "/clients/slow"][i % 3];
    const method = path === "/clients/slow" ? "PUT" : "POST";
    const body = await sendRaw(`${boat.url}${path}`, { method, headers: { "Content-Length": "60000" } });
    await body.write(encoder.encode(`{"pgn":`));
    connections.push(head, body);
  }
  const drip = async () => {
    for (const each of connections) await each.write(encoder.encode(" "));
  };
  await drip();
  await using events = await boat.events();
  await using socket = await boat.ws();
  assert.equal((await boat.post("/send", HEADING)).status, 202);
  assert.equal((await boat.raw("/devices")).status, 200);
  await drip();
  boat.answerRequests(20, () => boat.product(20, "here"));
  assert.equal((await boat.post("/query", { pgn: 126996 })).status, 200);
  await events.atLeast(3);
  await socket.atLeast("frame", 3);
  for (const each of connections) each.close();
});

Deno.test("decode=true keeps the bus, and leaves the key out where nothing is decoded, on every way", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  await using events = await boat.events("?decode=true");
  await using socket = await boat.ws("?decode=true");
  boat.answerRequests(20, () => {
    boat.product(20, "here", { bus: 1 });
    boat.say({ pgn: 1024, src: 20, bus: 1 });
  }, { bus: 1 });
  const asked = JSON.parse((await boat.post("/query", { pgn: 126996, bus: "can1", decode: true })).text);
  await events.atLeast(3);
  const decoded = events.texts.map((text) => JSON.parse(text)).filter(({ src }) => src === 20);
  assert.deepEqual(decoded.map(({ pgn, bus, decoded }) => [pgn, bus, typeof decoded]), [
    [126996, "can1", "object"],
    [1024, "can1", "undefined"],
  ]);
  assert.ok(decoded.every((frame) => frame.decoded !== null));
  assert.deepEqual(asked, decoded[0]);
  await socket.atLeast("frame", 3);
  assert.deepEqual(socket.of("frame").slice(1), decoded);
});

Deno.test("the empty answer to a message that is sent is not compressed, its refusal is", NET, async () => {
  await using boat = await TestBoat.start(OPEN);
  const encodingOf = async (message: unknown) => {
    const request = { method: "POST", body: JSON.stringify(message), headers: { "Accept-Encoding": "gzip" } };
    const { status, headers, body } = await boat.raw("/send", request);
    return [status, headers.get("Content-Encoding"), body.length > 0];
  };
  assert.deepEqual(await encodingOf(HEADING), [202, null, false]);
  assert.deepEqual(await encodingOf({}), [400, "gzip", true]);
});

/** A bus that takes as long to close as the test wants. */
class SlowToClose extends LoopbackBus {
  readonly closing = Promise.withResolvers<void>();

  override async close(): Promise<void> {
    await this.closing.promise;
    await super.close();
  }
}

Deno.test("who sends or waits for an answer while the server stops is told so", NET, async () => {
  const bus = new SlowToClose("can0");
  const boat = await startBoat({ buses: [bus], listen: { hostname: "127.0.0.1", port: 0 }, sendEnabled: true });
  const url = `http://127.0.0.1:${boat.address.port}`;
  await using socket = await WsClient.open(`${url}/ws`);
  const asked = new Promise((resolve) => bus.attach(resolve));
  const waiting = postTo(`${url}/query`, { body: { pgn: 126996, timeout: "PT1M" } });
  await asked;
  const stopping = boat.stop();
  assert.deepEqual([(await waiting).status, (await waiting).detail], [
    503,
    "The request could not be sent: the server stops",
  ]);
  const why = "Cannot send: the server stops";
  assert.equal(await socket.errorTo(JSON.stringify({ type: "send", data: HEADING })), why);
  for (const path of ["/send", "/query"]) {
    const { status, detail } = await postTo(url + path, { body: path === "/send" ? HEADING : { pgn: 126996 } });
    assert.deepEqual([status, detail], [503, why]);
  }
  bus.closing.resolve();
  await stopping;
});

Deno.test("messages that are refused or fail are counted by reason", NET, async () => {
  await using boat = await TestBoat.start({ ...OPEN, transmit: { queueMessages: 2 } });
  assert.equal((await boat.post("/send", Array(3).fill(HEADING))).status, 503);
  assert.equal((await boat.post("/send", Array(2).fill(HEADING))).status, 202);
  assert.equal((await boat.post("/send", { pgn: 126208, dst: 20, data: "00".repeat(300) })).status, 202);
  await boat.buses[1]?.close();
  assert.equal((await boat.post("/send", { ...HEADING, bus: "can1" })).status, 503);
  await boat.buses[0]?.close();
  await eventually("the session to fail", async () => await boat.metric("vbg_send_failed_total") === 1);
  const samples = [
    ["vbg_send_accepted_total", 3],
    [`vbg_send_refused_total{reason="full"}`, 3],
    [`vbg_send_refused_total{reason="bus"}`, 1],
    [`vbg_transmit_failed_total{bus="can0",reason="full"}`, 3],
    [`vbg_transmit_failed_total{bus="can0",reason="bus"}`, 1],
  ] as const;
  for (const [sample, count] of samples) assert.equal(await boat.metric(sample), count, sample);
});
