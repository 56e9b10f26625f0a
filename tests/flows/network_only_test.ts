// The public API as a pure client sees it. Needs nothing but the network: start a boat server, say with
// `deno task boat -interface vcan0`, and run `deno test --allow-net`. Assumes nothing of what is on the bus.
import assert from "node:assert/strict";
import type { Device, Frame } from "../../src/frame/mod.ts";
import { eventually } from "../support/eventually.ts";
import { allowed } from "../support/needs.ts";
import { postTo } from "../support/sending.ts";
import { range, seqs, SessionClient } from "../support/session.ts";
import { SseClient } from "../support/sse_client.ts";
import { WsClient } from "../support/ws_client.ts";

const BOAT = "http://127.0.0.1:8089";
const PROBE_MS = 5000;
/** Devices of the simulated boat, at least. */
const SIMULATED_DEVICES = 10;
/** Serial number of the simulated boat's GPS, by which it is known; of any other boat nothing is expected. */
const SIMULATED_GPS = "3925117734";
/** How long a stream is watched that may well be silent. */
const WATCH_MS = 2000;

async function probe(): Promise<boolean> {
  if (!allowed("net")) return false;
  try {
    const response = await fetch(`${BOAT}/livez`, { signal: AbortSignal.timeout(PROBE_MS) });
    return JSON.stringify(await response.json()) === `{"status":"ok"}`;
  } catch {
    return false;
  }
}

const ignore = !await probe();
if (ignore) {
  // deno-lint-ignore no-console -- the reason belongs beside "ignored" in the test report
  console.log(`skipping tests: no boat server listens on ${BOAT}`);
}

async function get<T>(path: string): Promise<T> {
  const response = await fetch(BOAT + path);
  assert.ok(response.ok, `${path}: ${response.status}`);
  return await response.json();
}

function assertFrame(frame: Frame): void {
  const text = JSON.stringify(frame);
  assert.ok(Number.isInteger(frame.seq) && frame.seq > 0, text);
  assert.match(frame.ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(frame.prio >= 0 && frame.prio <= 7, text);
  assert.ok(frame.pgn >= 0 && frame.pgn <= 0x3ffff, text);
  assert.ok(frame.src >= 0 && frame.src <= 255 && frame.dst >= 0 && frame.dst <= 255, text);
  assert.match(frame.data, /^([0-9a-f]{2})*$/);
}

/** Reads for a while, or until enough is there; a silent bus gives nothing. */
async function some(stream: { frames: Frame[] }, count = 50): Promise<Frame[]> {
  const until = performance.now() + WATCH_MS;
  await eventually("frames or silence", () => stream.frames.length >= count || performance.now() > until);
  return stream.frames;
}

Deno.test({
  name: "a boat server on 8089 tells its health, and its numbers only grow",
  ignore,
  async fn() {
    interface Body {
      status: string;
      broker: { head_seq: number; frames_total: number; ring_entries: number; ring_capacity: number };
    }
    const before = await get<Body>("/healthz");
    assert.match(before.status, /^(ok|degraded)$/);
    assert.ok(before.broker.ring_entries <= before.broker.ring_capacity);
    const after = await get<Body>("/readyz");
    assert.ok(after.broker.head_seq >= before.broker.head_seq);
    assert.ok(after.broker.frames_total >= before.broker.frames_total);
  },
});

Deno.test({
  name: "a boat server on 8089 lists devices and values in the specification's shape",
  ignore,
  async fn() {
    for (const device of await get<Device[]>("/devices")) {
      assert.ok(device.src >= 0 && device.src <= 253);
      assert.ok(device.packet_count > 0 && device.first_seen <= device.last_seen);
      if (device.name !== undefined) assert.match(device.name, /^0x[0-9a-f]{16}$/);
    }
    interface Values {
      name: string;
      values: { pgn: number; ts: string; data: string; seq: number }[];
    }
    for (const { name, values } of await get<Values[]>("/values")) {
      assert.match(name, /^(0x[0-9a-f]{16})?$/);
      assert.ok(values.length > 0);
      for (const { pgn, ts, data, seq } of values) assertFrame({ pgn, ts, data, seq, prio: 0, src: 0, dst: 0 });
    }
    assert.deepEqual(await get("/values?pgn=1"), []);
  },
});

Deno.test({
  name: "a boat server on 8089 streams every frame in order, or stays open while the bus is silent",
  ignore,
  async fn() {
    await using events = await SseClient.open(`${BOAT}/events`);
    assert.equal(events.response.headers.get("Content-Type"), "text/event-stream");
    const frames = await some(events);
    frames.forEach(assertFrame);
    assert.equal(events.ended, false);
    const seqs = frames.map(({ seq }) => seq);
    assert.deepEqual(seqs, seqs.map((_, at) => (seqs[0] ?? 0) + at), "no frame is missing");
  },
});

Deno.test({
  name: "a boat server on 8089 gives the same frames over WebSocket, and keeps to a filter",
  ignore,
  async fn() {
    await using all = await SseClient.open(`${BOAT}/events`);
    const pgn = (await some(all))[0]?.pgn ?? 127250;
    await using socket = await WsClient.open(`${BOAT}/ws?pgn=${pgn}`);
    await using excluding = await SseClient.open(`${BOAT}/events?exclude_pgn=${pgn}`);
    await some(excluding);
    for (const frame of socket.of<Frame>("frame")) {
      assertFrame(frame);
      assert.equal(frame.pgn, pgn);
    }
    for (const frame of excluding.frames) assert.notEqual(frame.pgn, pgn);
    assert.equal(await socket.errorTo(`{"type":"nonsense"}`), `unknown message type "nonsense"`);
  },
});

Deno.test({
  name: "a boat server on 8089 decodes frames and values for who asks, and describes every PGN that it can decode",
  ignore,
  async fn() {
    interface Summary {
      pgn: number;
      description: string;
      layouts: number;
    }
    const pgns = await get<Summary[]>("/pgns");
    const position = await get<Omit<Summary, "layouts"> & { layouts: { fields: { name: string }[] }[] }>(
      "/pgns/129025",
    );
    assert.equal(position.description, pgns.find(({ pgn }) => pgn === 129025)?.description);
    assert.deepEqual(position.layouts.map(({ fields }) => fields.map(({ name }) => name)), [["latitude", "longitude"]]);
    await using plain = await SseClient.open(`${BOAT}/events?decode=false`);
    await using decoding = await SseClient.open(`${BOAT}/events?decode=true`);
    await some(decoding);
    const known = new Set(pgns.map(({ pgn }) => pgn));
    for (const text of decoding.texts) {
      const { pgn, decoded } = JSON.parse(text);
      if (decoded !== undefined) assert.ok(known.has(pgn) && /,"decoded":\{.*\}\}$/.test(text), text);
    }
    for (const text of plain.texts) assert.doesNotMatch(text, /"decoded"/);
    interface Values {
      values: { pgn: number; description?: string; decoded?: Record<string, unknown> }[];
    }
    for (const { values } of await get<Values[]>("/values/decoded")) {
      for (const { pgn, description, decoded } of values) {
        if (decoded !== undefined) assert.ok(known.has(pgn) && description, `PGN ${pgn}`);
      }
    }
  },
});

Deno.test({
  name: "a boat server on 8089 keeps a session: what comes meanwhile is replayed, what is acknowledged is not",
  ignore,
  async fn() {
    const client = new SessionClient(BOAT, { id: "network-only-test" });
    const { cursor, buffer_timeout } = await client.put({ buffer_timeout: "PT1M" });
    assert.equal(buffer_timeout, "PT1M");
    await using live = await SseClient.open(`${BOAT}/events`);
    await some(live);
    await using stream = await client.events();
    const frames = await some(stream);
    frames.forEach(assertFrame);
    const last = frames.at(-1)?.seq ?? cursor - 1;
    assert.deepEqual(seqs(frames), range(cursor, last), "no frame is missing");
    assert.equal(await client.ack(last), 204);
    await using again = await client.events();
    for (const { seq } of await some(again, 5)) assert.ok(seq > last);
    assert.equal((await client.request("DELETE", "")).status, 204);
    assert.equal((await client.problem("GET", "/events")).status, 404);
  },
});

/** Asks every device who it is, as the server does itself at its start. */
const WHO_IS_THERE = { pgn: 59904, data: "00ee00" };
const ADDRESS_CLAIM = 60928;

/** Whether the server takes messages from us; what it is asked with is never sent. */
async function isOpenForSending(): Promise<boolean> {
  const { status, detail, field } = await postTo(`${BOAT}/send`, { body: {} });
  if (status === 400) assert.equal(field, "pgn");
  else assert.ok(status === 401 || status === 403, `${status} ${detail}`);
  return status === 400;
}

Deno.test({
  name: "a boat server on 8089 says why it sends nothing, in the same words on every way",
  ignore,
  async fn() {
    const isOpen = await isOpenForSending();
    await using socket = await WsClient.open(`${BOAT}/ws`);
    for (
      const body of [{}, { pgn: 59905, data: "00" }, { ...WHO_IS_THERE, dst: 254 }, { ...WHO_IS_THERE, prio: 8 }, []]
    ) {
      const { status, detail = "" } = await postTo(`${BOAT}/send`, { body });
      assert.ok(isOpen ? status === 400 : status === 401 || status === 403, `${status} ${detail}`);
      const told = await socket.errorTo(JSON.stringify({ type: "send", data: body }));
      assert.ok(told && detail.startsWith(told), `${told} and ${detail}`);
    }
    for (
      const body of [{}, { pgn: 59905 }, { pgn: ADDRESS_CLAIM, timeout: "PT0S" }, { pgn: ADDRESS_CLAIM, dst: 254 }]
    ) {
      const { status, detail } = await postTo(`${BOAT}/query`, { body });
      assert.ok(isOpen ? status === 400 : status === 401 || status === 403, `${status} ${detail}`);
    }
    for (const path of ["/send", "/query"]) {
      const headers = { Origin: "https://evil.example" };
      const { status } = await postTo(BOAT + path, { body: {}, headers });
      assert.ok(status >= 400 && status <= 403, "a page of another origin");
      const reply = await fetch(BOAT + path);
      await reply.body?.cancel();
      assert.deepEqual([reply.status, reply.headers.get("Allow")], [405, "POST, OPTIONS"]);
    }
  },
});

Deno.test({
  name: "a boat server on 8089 sends what it may, which streams then show, and answers a query with a frame",
  ignore,
  async fn() {
    const isOpen = await isOpenForSending();
    await using events = await SseClient.open(`${BOAT}/events?pgn=${WHO_IS_THERE.pgn}`);
    const sent = await postTo(`${BOAT}/send`, { body: WHO_IS_THERE });
    // Rules, a rate, or an address that is not claimed yet may stand against it.
    assert.ok(isOpen ? [202, 403, 429, 503].includes(sent.status) : [401, 403].includes(sent.status), sent.text);
    if (sent.status === 202) {
      assert.equal(sent.text, "");
      await eventually("the request", () => events.frames.some(({ data }) => data === WHO_IS_THERE.data));
    }
    const asked = await postTo(`${BOAT}/query`, { body: { pgn: ADDRESS_CLAIM, timeout: "500ms" } });
    const answers = isOpen ? [200, 403, 429, 503, 504] : [401, 403];
    assert.ok(answers.includes(asked.status), asked.text);
    if (asked.status !== 200) return;
    const frame: Frame = JSON.parse(asked.text);
    assertFrame(frame);
    assert.equal(frame.pgn, ADDRESS_CLAIM);
  },
});

Deno.test({
  name: "a boat server on 8089 answers errors as problems and lets every page read",
  ignore,
  async fn() {
    for (
      const [path, method, status] of [["/events?pgn=x", "GET", 400], ["/nowhere", "GET", 404], [
        "/devices",
        "DELETE",
        405,
      ]] as const
    ) {
      const response = await fetch(BOAT + path, { method });
      assert.equal(response.status, status);
      assert.equal(response.headers.get("Content-Type"), "application/problem+json");
      assert.equal(response.headers.get("Access-Control-Allow-Origin"), "*");
      assert.equal((await response.json()).status, status);
    }
  },
});

Deno.test({
  name: "a boat server on 8089 describes itself, and every path it describes without parameters answers",
  ignore,
  async fn() {
    const api = await get<{ openapi: string; paths: Record<string, { get?: unknown }> }>("/openapi.json");
    assert.match(api.openapi, /^3\.1/);
    const paths = ["/events", "/ws", "/devices", "/values", "/values/decoded", "/pgns", "/pgns/{pgn}", "/healthz"];
    for (const path of [...paths, "/livez", "/readyz", "/metrics"]) {
      assert.ok(api.paths[path]?.get, path);
    }
    const metrics = await (await fetch(`${BOAT}/metrics`)).text();
    assert.match(metrics, /^vbg_head_seq \d+$/m);
  },
});

Deno.test({
  name: "the simulated boat, when it is what runs on 8089, shows its devices",
  ignore,
  async fn() {
    const isSimulated = (await get<Device[]>("/devices")).some((each) => each.model_serial === SIMULATED_GPS);
    if (!isSimulated) return;
    await eventually(
      `${SIMULATED_DEVICES} devices`,
      async () => (await get<Device[]>("/devices")).length >= SIMULATED_DEVICES,
    );
  },
});
