import assert from "node:assert/strict";
import { STALLED_MS } from "../../src/http/signalk/socket.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { SlowSocket } from "../support/slow_socket.ts";
import { tokenOf } from "./auth_server.ts";

const MMSI = "230012345";
const OWN = `vessels.urn:mrn:imo:mmsi:${MMSI}`;
const API = "/signalk/v1/api/vessels/self";
const TOKEN = "reader-secret";
const HEADING = "navigation.headingTrue";

interface Delta {
  context?: string;
  self?: string;
  requestId?: string;
  statusCode?: number;
  updates?: { $source: string; timestamp: string; values: { path: string; value: unknown }[] }[];
}

/** Values of a path, in the order in which they came. */
function valuesOf(deltas: readonly Delta[], path: string): unknown[] {
  return deltas.flatMap(({ updates = [] }) => updates).flatMap(({ values = [] }) => values)
    .filter((each) => each.path === path).map(({ value }) => value);
}

/** A client of the stream that keeps what it gets. */
class SignalKClient implements AsyncDisposable {
  readonly deltas: Delta[] = [];
  readonly socket: WebSocket;
  closed: { code: number; reason: string } | undefined;

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.onmessage = ({ data }) => this.deltas.push(JSON.parse(String(data)));
    socket.onclose = ({ code, reason }) => this.closed = { code, reason };
  }

  static async open(boat: TestBoat, query = ""): Promise<SignalKClient> {
    const client = new SignalKClient(new WebSocket(`${boat.url.replace("http", "ws")}/signalk/v1/stream${query}`));
    await eventually("the greeting", () => client.deltas[0]?.self !== undefined || client.closed);
    return client;
  }

  values(path: string): unknown[] {
    return valuesOf(this.deltas, path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.close();
    await eventually("the socket to close", () => this.closed !== undefined);
  }
}

/** Says a true heading in 1/10000 rad. */
function sayHeading(boat: TestBoat, raw: number, src = 35): void {
  const data = new Uint8Array([0xff, 0, 0, 0xff, 0x7f, 0xff, 0x7f, 0xfc]);
  new DataView(data.buffer).setUint16(1, raw, true);
  boat.say({ pgn: 127250, src, data });
}

Deno.test("a client of the stream is greeted, gets the newest values, then every new one", async () => {
  await using boat = await TestBoat.start({ signalk: { name: "Aurora", mmsi: MMSI }, clock: new FakeClock() });
  sayHeading(boat, 10_000);
  await using client = await SignalKClient.open(boat, "?subscribe=self");
  assert.equal(client.deltas[0]?.self, OWN);
  await eventually("the newest value", () => client.values(HEADING).length === 1);
  assert.deepEqual(client.values(""), [{ name: "Aurora", mmsi: MMSI }]);
  for (let raw = 10_001; raw <= 10_050; raw++) sayHeading(boat, raw);
  await eventually("all values", () => client.values(HEADING).length === 51);
  const expected = Array.from({ length: 51 }, (_, index) => (10_000 + index) / 10_000);
  assert.deepEqual(client.values(HEADING), expected);
  await using late = await SignalKClient.open(boat, "?subscribe=self&sendCachedValues=false");
  await using none = await SignalKClient.open(boat, "?subscribe=none");
  sayHeading(boat, 20_000);
  await eventually("the new value", () => late.values(HEADING).length === 1);
  assert.equal(none.deltas.length, 1);
  none.socket.send(JSON.stringify({ context: "vessels.self", subscribe: [{ path: "navigation.*" }] }));
  await eventually("what it subscribed to", () => none.values(HEADING).length === 1);
  none.socket.send(JSON.stringify({ context: "*", unsubscribe: [{ path: "*" }] }));
  none.socket.send(JSON.stringify({ requestId: "7", put: { path: "a", value: 1 } }));
  await eventually("the refusal", () => none.deltas.at(-1)?.requestId === "7");
  assert.equal(none.deltas.at(-1)?.statusCode, 405);
  assert.equal(await boat.metric("vbg_signalk_clients"), 3);
});

Deno.test("a client that changes its subscriptions all the time is disconnected, and others stay", async () => {
  await using boat = await TestBoat.start({ signalk: {} });
  await using other = await SignalKClient.open(boat);
  await using client = await SignalKClient.open(boat);
  for (let index = 0; index < 100; index++) {
    client.socket.send(JSON.stringify({ context: "vessels.self", subscribe: [{ path: `path.${index}` }] }));
  }
  await eventually("the end", () => client.closed !== undefined);
  assert.equal(other.closed, undefined);
});

Deno.test("a source is the NAME of its device, the same after its address changes, and sources tell the device", async () => {
  await using boat = await TestBoat.start({ signalk: {}, clock: new FakeClock() });
  sayHeading(boat, 1, 35);
  const source = async () => (await boat.get<{ $source: string }>(`${API}/navigation/headingTrue`)).$source;
  assert.equal(await source(), "can0.35");
  const name = boat.claim(35, { uniqueNumber: 77 }).toString(16).padStart(16, "0");
  boat.product(35, "Compass");
  assert.equal(await source(), `can0.${name}`);
  boat.claim(36, { uniqueNumber: 77 });
  sayHeading(boat, 2, 36);
  assert.equal(await source(), `can0.${name}`);
  const path = `/signalk/v1/api/sources/can0/${name}/n2k`;
  const { src, productName, pgns } = await boat.get<{ src: string; productName: string; pgns: object }>(path);
  assert.deepEqual([src, productName, Object.hasOwn(pgns, 127250)], ["36", "Compass", true]);
});

Deno.test("a stream says null when a sensor falls silent, and the tree does, too", async () => {
  await using boat = await TestBoat.start({ signalk: {} });
  sayHeading(boat, 10_000);
  await using client = await SignalKClient.open(boat);
  await eventually("null", () => client.values(HEADING).at(-1) === null);
  const leaf = await boat.get<{ value: unknown; meta: { timeout: number } }>(`${API}/navigation/headingTrue`);
  assert.deepEqual([leaf.value, leaf.meta.timeout], [null, 1]);
});

Deno.test("what cannot be had is said in Signal K's forms", async () => {
  await using boat = await TestBoat.start({ signalk: {} });
  const status = async (path: string, init?: RequestInit) => {
    const response = await fetch(boat.url + path, init);
    const body: { statusCode?: number } = await response.json();
    return [response.status, body.statusCode];
  };
  assert.deepEqual(await status(`${API}/navigation/x`, { method: "PUT", body: "{}" }), [405, 405]);
  assert.deepEqual(await status("/signalk/v1/access/requests", { method: "POST", body: "{}" }), [501, 501]);
  assert.equal((await status(`${API}/navigation/nothing`))[0], 404);
  assert.equal((await status("/signalk/v1/stream"))[0], 426);
  await using off = await TestBoat.start();
  for (const path of ["/signalk", "/signalk/v1/api/", "/skServer/loginStatus"]) {
    const response = await fetch(off.url + path);
    await response.body?.cancel();
    assert.equal(response.status, 404, path);
  }
});

Deno.test("with tokens a client logs in with one as its password; before that it learns only where to", async () => {
  await using boat = await TestBoat.start({ signalk: {}, tokens: [tokenOf("chart table", TOKEN, ["read"])] });
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(boat.url + path, init);
    const body: Record<string, unknown> = await response.json();
    return { status: response.status, body };
  };
  assert.equal((await ask("/signalk")).status, 200);
  assert.equal((await ask("/signalk/v1/api/")).status, 401);
  const before = await ask("/skServer/loginStatus");
  assert.deepEqual([before.body.status, before.body.authenticationRequired], ["notLoggedIn", true]);
  const login = (password: string) =>
    ask("/signalk/v1/auth/login", { method: "POST", body: JSON.stringify({ username: "any", password }) });
  assert.equal((await login("wrong")).status, 401);
  const { body: { token } } = await login(TOKEN);
  const headers = { Authorization: `JWT ${token}` };
  assert.equal((await ask("/signalk/v1/api/", { headers })).status, 200);
  assert.equal((await ask("/skServer/loginStatus", { headers })).body.status, "loggedIn");
  await using client = await SignalKClient.open(boat, `?token=${token}`);
  assert.equal(client.closed, undefined);
  const refused = new WebSocket(`${boat.url.replace("http", "ws")}/signalk/v1/stream`);
  await new Promise((resolve) => refused.onerror = refused.onclose = resolve);
  // The parameter is Signal K's alone.
  assert.equal((await ask(`/devices?token=${token}`)).status, 401);
});

Deno.test("a client that does not read loses values, which are counted, and gets the newest when it reads again", async () => {
  // Time stands still: nothing becomes stale.
  await using boat = await TestBoat.start({ signalk: {}, streamBufferBytes: 64 * 1024, clock: new FakeClock() });
  await using quick = await SignalKClient.open(boat);
  const slow = await SlowSocket.open(`${boat.url}/signalk/v1/stream`);
  await eventually("the slow one", async () => await boat.metric("vbg_signalk_clients") === 2);
  const dropped = async () => await boat.metric("vbg_signalk_dropped_total") ?? 0;
  let said = 0;
  while (await dropped() === 0) {
    for (let index = 0; index < 2000; index++) sayHeading(boat, said++);
    await eventually("the quick one", () => quick.values(HEADING).length === said);
  }
  const { components } = await boat.get<{ components: Record<string, { message: string }> }>("/healthz");
  assert.equal(components.signalk?.message, "2 clients, 1 of them too slow");
  slow.read();
  const received = () => valuesOf(slow.messages.map((message) => message as Delta), HEADING);
  await eventually("the newest value", () => received().at(-1) === (said - 1) / 10_000);
  const inOrder = Array.from({ length: received().length - 1 }, (_, raw) => raw / 10_000);
  assert.deepEqual(received().slice(0, -1), inOrder, "no gap before the drops");
  assert.equal(received().length - 1 + await dropped(), said, "received + dropped = said");
  sayHeading(boat, said);
  await eventually("the value after it", () => received().at(-1) === said / 10_000);
  assert.equal(received().length - 2 + await dropped(), said);
  await slow.close();
});

Deno.test("a client that goes on reading nothing is disconnected, and its memory is free", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ signalk: {}, streamBufferBytes: 64 * 1024, clock });
  const slow = await SlowSocket.open(`${boat.url}/signalk/v1/stream`);
  const clients = () => boat.metric("vbg_signalk_clients");
  await eventually("the client", async () => await clients() === 1);
  while (await boat.metric("vbg_signalk_dropped_total") === 0) {
    for (let index = 0; index < 2000; index++) sayHeading(boat, index);
    await pause();
  }
  // It was behind from some moment on, and it is looked at from then on.
  await eventually("the end", async () => {
    clock.advance(STALLED_MS);
    return await clients() === 0;
  });
  await slow.close();
  await eventually("its memory", async () => await boat.metric("vbg_stream_memory_bytes") === 0);
});
