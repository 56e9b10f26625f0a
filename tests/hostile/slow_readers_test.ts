// Clients that open streams and do not read them: what they cost is bounded, and nothing is lost silently.
import assert from "node:assert/strict";
import type { Frame } from "../../src/frame/mod.ts";
import { cpuMs, rssMb, startProcess } from "../bench/process.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { environment, needs } from "../support/needs.ts";
import { sendRaw } from "../support/raw_http.ts";
import { SseClient } from "../support/sse_client.ts";

const MIB = 2 ** 20;
/** What a connection holds at least when its client does not read. */
const CONNECTION_BYTES = 64 * 1024;
/** Large messages, so that the buffers of the kernel are soon full. */
const MESSAGE_BYTES = 1785;
/** More than kernel and client library hold together. */
const FLOOD_MESSAGES = 3000;
const STEP = 100;
const MEMORY = "vbg_stream_memory_bytes";
const DROPPED = `vbg_dropped_deliveries_total{reason="client_slow"}`;
const UPGRADE = {
  "Upgrade": "websocket",
  "Connection": "Upgrade",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

async function flood(boat: TestBoat, messages = FLOOD_MESSAGES): Promise<void> {
  for (let sent = 0; sent < messages; sent += STEP) {
    boat.flood(STEP, MESSAGE_BYTES);
    await pause();
  }
}

/** Every number up to `head` is a frame, or in a range that was reported and is counted right. */
function assertAccounted({ frames, dropped }: SseClient, head: number): void {
  const seqs = frames.map(({ seq }) => seq);
  assert.deepEqual(seqs, [...new Set(seqs)].sort((a, b) => a - b), "in order, none twice");
  const missing = new Set(Array.from({ length: head }, (_, i) => i + 1)).difference(new Set(seqs));
  for (const { from_seq, to_seq, count } of dropped) {
    const inRange = [...missing].filter((seq) => seq >= from_seq && seq <= to_seq);
    assert.equal(inRange.length, count, `count of ${from_seq}-${to_seq}`);
    for (const seq of inRange) missing.delete(seq);
  }
  assert.equal(missing.size, 0, "every lost frame is in a range");
}

/** Streams that share nothing: each has a filter of its own. */
async function openDeaf(boat: TestBoat, clients: number): Promise<AsyncDisposable[]> {
  const open = async (i: number) => {
    const connection = await sendRaw(`${boat.url}/events?pgn=126720&pgn=${i}`);
    return { [Symbol.asyncDispose]: () => Promise.resolve(connection.close()) };
  };
  return await Promise.all(Array.from({ length: clients }, (_, i) => open(i)));
}

Deno.test("streams that do not read stay within the budget of all, and each is told every frame that it lost", async () => {
  const budget = 8 * MIB;
  await using boat = await TestBoat.start({ streamMemoryBytes: budget, streamBufferBytes: MIB });
  await using deaf = new AsyncDisposableStack();
  // Their connections take up to 7 MiB; their queues would take 12 MiB more.
  for (const each of await openDeaf(boat, 11)) deaf.use(each);
  await using slow = await boat.events("?pgn=126720");
  await eventually("the streams", async () => await boat.metric(`vbg_streams{kind="sse"}`) === 12);
  slow.pause();
  await flood(boat);
  await eventually("the budget", async () => {
    const used = await boat.metric(MEMORY) ?? 0;
    return used > 5 * MIB && used <= budget;
  });
  await eventually("drops", async () => (await boat.metric(DROPPED) ?? 0) > 0);
  slow.resume();
  await eventually("the end", () => {
    return Math.max(slow.frames.at(-1)?.seq ?? 0, slow.dropped.at(-1)?.to_seq ?? 0) === FLOOD_MESSAGES;
  });
  assertAccounted(slow, FLOOD_MESSAGES);
});

Deno.test("a client that reads gets every frame while the budget is used up by others", async () => {
  await using boat = await TestBoat.start({ streamMemoryBytes: 4 * MIB, streamBufferBytes: MIB });
  await using deaf = new AsyncDisposableStack();
  await using quick = await boat.events();
  for (const each of await openDeaf(boat, 7)) deaf.use(each);
  await eventually("the streams", async () => await boat.metric(`vbg_streams{kind="sse"}`) === 8);
  for (let sent = 0; sent < FLOOD_MESSAGES; sent += STEP) {
    boat.flood(STEP, MESSAGE_BYTES);
    await eventually("the quick one", () => quick.frames.length === sent + STEP);
  }
  await eventually("drops", async () => (await boat.metric(DROPPED) ?? 0) > 0);
  assert.deepEqual(quick.events, []);
});

Deno.test("when clients that do not read use up the budget a further stream is refused with 503, and let in when they go", async () => {
  const budget = 2 * CONNECTION_BYTES;
  await using boat = await TestBoat.start({ streamMemoryBytes: budget });
  const deaf = await openDeaf(boat, 2);
  await eventually("the streams", async () => await boat.metric(`vbg_streams{kind="sse"}`) === 2);
  await flood(boat);
  await eventually("the budget to be used up", async () => (await boat.metric(MEMORY) ?? 0) >= budget);
  for (const path of ["/events", "/ws"]) {
    const { status, headers, text } = await boat.raw(path, path === "/ws" ? { headers: UPGRADE } : {});
    assert.deepEqual([status, headers.get("Retry-After")], [503, "5"], path);
    assert.match(await text(), /-stream-memory/);
  }
  for (const each of deaf) await each[Symbol.asyncDispose]();
  await eventually("memory", async () => (await boat.metric(MEMORY) ?? Infinity) < budget);
  await (await boat.events())[Symbol.asyncDispose]();
});

Deno.test("WebSockets that do not read stay within the budget, whatever a message costs the transport", async () => {
  const budget = 2 * MIB;
  await using boat = await TestBoat.start({ streamMemoryBytes: budget, streamBufferBytes: MIB });
  const deaf = await Promise.all(
    Array.from({ length: 8 }, (_, i) => sendRaw(`${boat.url}/ws?pgn=126720&pgn=${i}`, { headers: UPGRADE })),
  );
  await eventually("the sockets", async () => await boat.metric(`vbg_streams{kind="websocket"}`) === 8);
  await flood(boat);
  await eventually("drops", async () => (await boat.metric(DROPPED) ?? 0) > 0);
  await eventually("the budget", async () => (await boat.metric(MEMORY) ?? Infinity) <= budget);
  for (const connection of deaf) connection.close();
  await eventually("all memory to be given back", async () => await boat.metric(MEMORY) === 0);
});

Deno.test("a WebSocket that asks and does not read the answers is closed", async () => {
  await using boat = await TestBoat.start();
  const connection = await sendRaw(`${boat.url}/ws`, { headers: UPGRADE });
  await eventually("the socket", async () => await boat.metric(`vbg_streams{kind="websocket"}`) === 1);
  // A masked text frame that is no envelope.
  const question = Uint8Array.of(0x81, 0x81, 0, 0, 0, 0, 0x78);
  const many = new Uint8Array(question.length * 10_000);
  for (let i = 0; i < many.length; i += question.length) many.set(question, i);
  let sent = 0;
  (async () => {
    for (;;) sent += await connection.write(many);
  })().catch(() => {});
  await eventually("the end", async () => await boat.metric(`vbg_streams{kind="websocket"}`) === 0);
  assert.ok((await boat.metric(MEMORY) ?? Infinity) < MIB, `after ${sent} bytes`);
  connection.close();
});

Deno.test("a session gets every frame while streams that do not read use up the budget", async () => {
  const budget = 3 * CONNECTION_BYTES;
  await using boat = await TestBoat.start({ streamMemoryBytes: budget, ringFrames: 8192 });
  await using deaf = new AsyncDisposableStack();
  const put = await fetch(`${boat.url}/clients/reader`, { method: "PUT", body: `{"buffer_timeout": "PT5M"}` });
  assert.equal(put.status, 200);
  await put.body?.cancel();
  await using session = await SseClient.open(`${boat.url}/clients/reader/events`);
  for (const each of await openDeaf(boat, 3)) deaf.use(each);
  await eventually("the streams", async () => await boat.metric(`vbg_streams{kind="sse"}`) === 3);
  for (let sent = 0; sent < FLOOD_MESSAGES; sent += STEP) {
    boat.flood(STEP, MESSAGE_BYTES);
    await eventually("the session", () => session.frames.length === sent + STEP);
  }
  await eventually("the budget to be used up", async () => (await boat.metric(MEMORY) ?? 0) >= budget);
  const head = FLOOD_MESSAGES + 10 * STEP;
  for (let sent = FLOOD_MESSAGES; sent < head; sent += STEP) {
    boat.flood(STEP, MESSAGE_BYTES);
    await eventually("the session", () => session.frames.at(-1)?.seq === sent + STEP);
  }
  assert.deepEqual(session.frames.map(({ seq }: Frame) => seq), Array.from({ length: head }, (_, i) => i + 1));
  assert.deepEqual(session.events, []);
});

/** What 900 WebSockets that do not read may add to the memory of a server, megabytes. They took 7400. */
const MAX_GROWTH_MB = 1500;

Deno.test({
  name: "900 streams of either kind that do not read leave the server's memory bounded",
  ...needs({ permissions: ["run", "read", "env"] }),
  ignore: environment("VBG_TEST_FULL") !== "1",
  fn: async () => {
    for (const [path, headers] of [["/events", {}], ["/ws", UPGRADE]] as const) {
      const server = await startProcess("server.ts", ["2000"]);
      const before = rssMb(server.pid);
      const url = `http://127.0.0.1:${server.line}${path}`;
      const deaf = [];
      for (let i = 0; i < 900; i++) deaf.push(await sendRaw(url, { headers }));
      await pause(45_000);
      const grown = rssMb(server.pid) - before;
      assert.ok(cpuMs(server.pid) > 0 && grown < MAX_GROWTH_MB, `${path}: ${grown} MB`);
      for (const connection of deaf) connection.close();
      await server.stop();
    }
  },
});
