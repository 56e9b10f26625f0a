import assert from "node:assert/strict";
import { Logger, systemClock } from "../../src/base/mod.ts";
import { Batch, Chunk } from "../../src/stream/live/channel.ts";
import { EventStream } from "../../src/http/streams/sse.ts";
import { StreamMemory } from "../../src/stream/live/budget.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";

/** A connection on which `head` was sent, and all that has come back so far. */
async function talk(boat: TestBoat, head: string): Promise<{ text: () => string } & Disposable> {
  const { hostname, port } = new URL(boat.url);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  await connection.write(new TextEncoder().encode(head));
  let text = "";
  (async () => {
    for await (const part of connection.readable.pipeThrough(new TextDecoderStream())) text += part;
  })().catch(() => {});
  return { text: () => text, [Symbol.dispose]: () => connection.close() };
}

Deno.test("a chunk says its length in bytes, whatever characters it has", () => {
  const chunk = new Chunk("é€ 12345678");
  assert.equal(chunk.coded.toString(), "e\r\né€ 12345678\r\n");
  assert.equal(chunk.data.toString(), "é€ 12345678");
});

Deno.test("requests that come in one piece are answered in order, an event stream after them whole", async () => {
  await using boat = await TestBoat.start();
  const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: boat\r\n\r\n`;
  using talked = await talk(boat, ask("/openapi.json") + ask("/devices") + ask("/events"));
  await eventually("the stream", async () => await boat.metric(`vbg_streams{kind="sse"}`) === 1);
  boat.say();
  await eventually("the frame", () => talked.text().includes(`data: {"seq":1,`));
  const [, api = "", devices = "", events = ""] = talked.text().split("HTTP/1.1 200 OK\r\n");
  assert.match(api, /"openapi":/);
  assert.match(devices, /\r\n\r\n\[.*\]$/s);
  const [, size = "", data = ""] = /\r\n\r\n([0-9a-f]+)\r\n(data: \{"seq":1,.*?\n\n)\r\n$/s.exec(events) ?? [];
  assert.equal(parseInt(size, 16), data.length, events);
});

Deno.test("an HTTP/1.0 client gets events without chunks", async () => {
  await using boat = await TestBoat.start();
  using talked = await talk(boat, "GET /events HTTP/1.0\r\n\r\n");
  await eventually("the stream", async () => await boat.metric(`vbg_streams{kind="sse"}`) === 1);
  boat.say();
  boat.say();
  await eventually("the frames", () => talked.text().includes(`data: {"seq":2,`));
  const [head = "", body = ""] = talked.text().split(/\r\n\r\n/);
  assert.doesNotMatch(head, /transfer-encoding/i);
  assert.match(body, /^(data: \{.*\}\n\n){2}$/);
});

Deno.test("a stream whose connection takes no more is not written to until it does, and then in order", () => {
  const memory = new StreamMemory();
  let ended = 0;
  const options = {
    clock: systemClock,
    bufferBytes: 1024,
    memory,
    devices: false,
    sources: false,
    ended: () => ended++,
  };
  const stream = new EventStream(options);
  const written: string[] = [];
  let takes = false;
  const sink = {
    bufferedBytes: 77,
    write: (chunk: Chunk) => {
      written.push(chunk.data.toString());
      return takes;
    },
    end: () => written.push("end"),
  };
  const batch = (seq: number) => new Batch([seq], [`{"seq":${seq}}`]);
  const event = (seq: number) => `data: {"seq":${seq}}\n\n`;
  stream.deliver(batch(1));
  assert.deepEqual(written, [], "there is no connection yet");
  stream.start(sink);
  let dropped = 0;
  for (let seq = 2; seq <= 1001; seq++) dropped += stream.deliver(batch(seq));
  stream.housekeeping(systemClock.monoMs() + 60_000);
  assert.deepEqual(written, [event(1)]);
  assert.equal(stream.transportBytes, 77);
  takes = true;
  stream.drained();
  const kept = 1000 - dropped;
  assert.ok(kept > 0 && dropped > 0);
  assert.deepEqual(written.slice(0, 1 + kept), Array.from({ length: 1 + kept }, (_, i) => event(1 + i)));
  const told = { from_seq: 2 + kept, to_seq: 1001, count: dropped };
  assert.deepEqual(written.slice(1 + kept), [`event: dropped\ndata: ${JSON.stringify(told)}\n\n`]);
  assert.equal(stream.transportBytes, 0);
  stream.end();
  stream.closed();
  assert.deepEqual([written.at(-1), ended, memory.usedBytes], ["end", 1, 0]);
});

const NET = needs({ permissions: ["net"] });

Deno.test("a body that takes too long is answered with 408, and one in time is taken", NET, async () => {
  await using boat = await TestBoat.start({ bodyTimeoutMs: 200 });
  const { hostname, port } = new URL(boat.url);
  const body = `{"buffer_timeout":"PT1M"}`;
  for (const [sent, status] of [[body.length - 1, 408], [body.length, 200]] as const) {
    using connection = await Deno.connect({ hostname, port: Number(port) });
    const head = `PUT /clients/a HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${body.length}\r\n\r\n`;
    await connection.write(new TextEncoder().encode(head + body.slice(0, sent)));
    const reply = new Uint8Array(1024);
    const length = await connection.read(reply) ?? 0;
    assert.match(new TextDecoder().decode(reply.subarray(0, length)), new RegExp(`^HTTP/1\\.1 ${status} `));
  }
});

Deno.test("a client that leaves in the middle of a body is no error of the server, and is audited", NET, async () => {
  const lines: string[] = [];
  const log = new Logger({ write: (line) => lines.push(line) });
  await using boat = await TestBoat.start({ log, sendEnabled: true });
  const { hostname, port } = new URL(boat.url);
  for (const [method, path] of [["PUT", "/clients/a"], ["POST", "/send"], ["POST", "/query"]]) {
    for (const framing of ["Content-Length: 40\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"]) {
      using connection = await Deno.connect({ hostname, port: Number(port) });
      const head = `${method} ${path} HTTP/1.1\r\nHost: ${hostname}\r\nExpect: 100-continue\r\n`;
      await connection.write(new TextEncoder().encode(head + framing));
      const reply = new Uint8Array(1024);
      const length = await connection.read(reply) ?? 0;
      assert.match(new TextDecoder().decode(reply.subarray(0, length)), /^HTTP\/1\.1 100 /);
    }
  }
  const audited = () => lines.filter((line) => line.includes("outcome=bad-request"));

  await eventually("audit lines", () => audited().length === 4);
  assert.deepEqual(lines.filter((line) => line.includes(" ERROR ")), []);
});
