import assert from "node:assert/strict";
import { ApiError, connect, connectCloud, ConnectionError } from "../../src/client/mod.ts";
import { CloudServer } from "../http/cloud_server.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { HeldPort } from "../support/held_port.ts";
import { needs } from "../support/needs.ts";
import { accessToken } from "../support/sending.ts";

const NET = needs({ permissions: ["net"] });
const DISK = needs({ permissions: ["net", "read", "write"] });

const HEADING = [0xff, 0, 0xab, 0xcd, 1, 2, 3, 0xfd];

/** What a refused call throws. */
async function refused(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(() => undefined, (reason: unknown) => reason);
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

Deno.test("a client reads devices, values and PGNs of a boat, bus included", NET, async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  const client = connect(`${boat.url}/`);
  boat.claim(7, { manufacturerCode: 229, deviceInstance: 3 }, { bus: 1 });
  boat.say({ pgn: 127250, src: 7, bus: 1, data: HEADING });
  boat.say({ pgn: 127250, src: 8, bus: 0 });
  await eventually("all frames", () => boat.boat.broker.head === 3);
  assert.deepEqual(await client.devices(), await boat.get("/devices"));
  assert.deepEqual((await client.devices()).map(({ src, bus }) => [src, bus]), [[8, "can0"], [7, "can1"]]);
  const filter = { pgn: [127250], bus: ["can1"], manufacturer: ["garmin"] };
  const [values, ...others] = await client.values(filter);
  assert.deepEqual([values?.bus, values?.values[0]?.data, others], ["can1", "ff00abcd010203fd", []]);
  const [decoded] = await client.decodedValues({ ...filter, instance: [3] });
  assert.deepEqual(decoded?.values[0]?.description, "Vessel heading");
  assert.equal(decoded?.values[0]?.decoded?.heading_reference, "magnetic");
  assert.deepEqual(await client.values({ instance: [4] }), []);
  assert.deepEqual([await client.alerts(), await client.limits()], [[], []]);
  assert.deepEqual(Object.keys(await client.doctor()), ["findings", "buses"]);
  assert.equal((await client.proof()).seen, boat.boat.broker.head);
  assert.ok((await client.pgns()).some(({ pgn }) => pgn === 127250));
  assert.equal((await client.pgn(127250)).layouts[0]?.fields[1]?.name, "heading");
  assert.deepEqual((await client.pgnSpans(127250, "ff00abcd010203fd"))[1], { name: "heading", bit: 8, bits: 16 });
  assert.deepEqual(await client.pgnSpans(127250, ""), []);
});

Deno.test("what a server refuses is an ApiError with status, problem and parameter", NET, async () => {
  await using boat = await TestBoat.start();
  const client = connect(boat.url);
  const error = await refused(client.values({ name: ["no hex"] }));
  assert.deepEqual([error.status, error.problem.parameter], [400, "name"]);
  assert.match(error.message, /^GET http:\/\/127\.0\.0\.1:\d+\/values: 400 Query parameter "name": expected a NAME/);
  assert.equal((await refused(client.pgn(1))).status, 404);
  assert.equal((await refused(client.pgnSpans(1, "00"))).status, 404);
  for (const data of ["0", "0x", "00".repeat(1786)]) {
    const { status, problem } = await refused(client.pgnSpans(127250, data));
    assert.deepEqual([status, problem.parameter], [400, "data"]);
  }
  assert.equal((await refused(client.replicationStatus())).status, 404);
  assert.equal((await refused(client.history({ from: new Date(0) }).next())).status, 503);
  assert.equal((await refused(client.series({ field: ["128267.depth"], from: new Date(0) }))).status, 503);
});

Deno.test("messages are sent, one or several, as bytes or fields, and a query brings the answer", NET, async () => {
  await using boat = await TestBoat.start({ sendEnabled: true });
  const client = connect(boat.url);
  await client.send({ pgn: 127250, data: "ff00abcd010203fd" });
  await client.send([{ pgn: 127250, data: "00" }, { pgn: 127245, fields: { position: 0.1 }, prio: 2 }]);
  await eventually("three messages", () => boat.heard[0]?.length === 3);
  assert.deepEqual(boat.heard[0]?.map(({ pgn, prio }) => [pgn, prio]), [[127250, 6], [127250, 6], [127245, 2]]);
  boat.answerRequests(9, () => boat.say({ pgn: 127250, src: 9, data: HEADING }));
  const answer = await client.query({ pgn: 127250, dst: 9, timeoutMs: 10_000, decode: true });
  assert.deepEqual([answer.src, answer.decoded?.heading_reference], [9, "magnetic"]);
  assert.equal((await refused(client.query({ pgn: 126996, dst: 10, timeoutMs: 1 }))).status, 504);
  assert.equal((await refused(client.send({ pgn: 127250, data: "0" }))).problem.field, "data");
});

Deno.test("a token is sent with every call; without it, or with another one, the call is refused", NET, async () => {
  await using boat = await TestBoat.start({ tokens: [accessToken("reader", "secret", ["read"])] });
  assert.deepEqual(await connect(boat.url, { token: "secret" }).devices(), []);
  assert.equal((await refused(connect(boat.url).devices())).status, 401);
  assert.equal((await refused(connect(boat.url, { token: "other" }).devices())).status, 401);
  const reader = connect(boat.url, { token: "secret" });
  assert.equal((await refused(reader.send({ pgn: 127250, data: "00" }))).status, 403);
  assert.equal((await refused(connect(boat.url).subscribe()[Symbol.asyncIterator]().next())).status, 401);
});

Deno.test("health is told when it is bad, too", NET, async () => {
  await using boat = await TestBoat.start();
  const client = connect(boat.url);
  assert.equal((await client.health()).status, "ok");
  await boat.buses[0]?.close();
  await eventually("bad health", async () => (await client.health()).status === "unhealthy");
});

Deno.test("a server that is not there is a ConnectionError, an address that is none a TypeError", NET, async () => {
  using nobody = HeldPort.take();
  const { port } = nobody;
  await assert.rejects(connect(`http://127.0.0.1:${port}`).devices(), (error: unknown) => {
    assert.ok(error instanceof ConnectionError && error.cause !== undefined);
    assert.match(error.message, /^GET http:\/\/127\.0\.0\.1:\d+\/devices: the server cannot be reached$/);
    return true;
  });
  for (const url of ["localhost:8089", "boat", "ftp://boat", "http://boat/?a", ""]) {
    assert.throws(() => connect(url), { name: "TypeError", message: /^Cannot connect to ".*": expected an address/ });
  }
  assert.throws(() => connect("http://boat", { token: "two\nlines" }), TypeError);
});

Deno.test("a call ends with its own signal, the client's, or when the server does not answer", NET, async () => {
  const silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${silent.addr.port}`;
  const reason = new Error("enough");
  const call = new AbortController();
  const whole = new AbortController();
  const client = connect(url, { signal: whole.signal });
  const one = assert.rejects(client.devices({ signal: call.signal }), reason);
  const other = assert.rejects(client.health(), reason);
  call.abort(reason);
  await one;
  whole.abort(reason);
  await other;
  await assert.rejects(client.devices(), reason);
  await assert.rejects(connect(url, { timeoutMs: 1 }).devices(), {
    name: "ConnectionError",
    message: /devices: no response within 0\.001 s$/,
  });
  silent.close();
});

Deno.test("what is no answer of such a server is told as what it is", NET, async () => {
  const answers = [
    new Response("<h1>Log in first</h1>", { status: 511, statusText: "Network Authentication Required" }),
    new Response("<h1>Welcome</h1>"),
    new Response(null, { status: 502, headers: { "Retry-After": "7" } }),
  ];
  const client = connect("http://boat", { fetch: () => Promise.resolve(answers.shift() ?? Response.error()) });
  assert.deepEqual((await refused(client.devices())).problem.detail, "<h1>Log in first</h1>");
  await assert.rejects(client.devices(), { name: "ConnectionError", message: /expected JSON, got something else$/ });
  const { status, retryAfterMs, problem } = await refused(client.devices());
  assert.deepEqual([status, retryAfterMs, problem.detail], [502, 7000, "no reason given"]);
});

Deno.test("a cloud's client lists boats and reads each as on the boat itself", DISK, () =>
  inFolder(async (folder) => {
    const tokens = [accessToken("all", "secret", ["read"])];
    await using server = await CloudServer.start(folder, { tokens });
    const boat = await server.boat("boat-1", { busNames: ["can0", "can1"] });
    boat.say({ pgn: 127250, src: 7, bus: 1, data: HEADING });
    const cloud = connectCloud(server.url, { token: "secret" });
    assert.deepEqual((await cloud.instances()).map(({ id, connected }) => [id, connected]), [["boat-1", true]]);
    assert.equal((await cloud.status("boat-1")).received_through, 1);
    server.instances.get("boat-1")?.events.add("checkpoint", "");
    assert.deepEqual((await cloud.replicationEvents("boat-1", { limit: 1 })).map(({ type }) => type), ["checkpoint"]);
    assert.equal((await cloud.health()).instances_total, 1);
    assert.equal((await refused(cloud.status("a/b"))).status, 404);
    const client = cloud.boat("boat-1");
    assert.deepEqual((await client.devices()).map(({ src, bus }) => [src, bus]), [[7, "can1"]]);
    assert.equal((await client.decodedValues())[0]?.values[0]?.decoded?.heading_reference, "magnetic");
    assert.equal((await client.pgn(127250)).description, "Vessel heading");
    const history = await Array.fromAsync(client.history({ from: new Date(0), decode: true }));
    assert.deepEqual(history.map(({ seq, bus, decoded }) => [seq, bus, decoded?.heading_reference]), [[
      1,
      "can1",
      "magnetic",
    ]]);
    const { series } = await client.series({ field: ["127250.heading", "128267.depth"], from: new Date(0), src: [7] });
    assert.deepEqual(series.map(({ field, src, bus, keys, count }) => [field, src, bus, keys, count]), [
      ["127250.heading", 7, "can1", { heading_reference: "magnetic" }, [1]],
    ]);
    const frames = client.subscribe()[Symbol.asyncIterator]();
    const next = frames.next();
    await eventually("the stream", () => server.readers.count("sse") === 1);
    boat.say({ src: 9 });
    const { value: frame } = await next;
    assert.deepEqual([frame?.seq, frame?.src], [2, 9]);
    await frames.return();
    assert.equal((await refused(client.send({ pgn: 127250, data: "00" }))).status, 404);
  }));
