import assert from "node:assert/strict";
import { OWN_SUBSCRIPTIONS, TestBoat } from "../support/boat.ts";

const READ_PATHS = ["/", ...["/devices", "/values", "/values/decoded", "/pgns", "/pgns/129025"], ...[
  "/healthz",
  "/livez",
  "/readyz",
  "/metrics",
  "/openapi.json",
]];
const STREAM_PATHS = ["/events", "/ws"];
const ALL_PATHS = [...READ_PATHS, ...STREAM_PATHS];
const OTHER_METHODS = ["POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"];
const UPGRADE = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

/** [method, path, status, headers that the reply has] */
type Row = [method: string, path: string, status: number, headers?: Record<string, string>];

const TABLE: Row[] = [
  ...READ_PATHS.map((path): Row => ["GET", path, 200]),
  ...READ_PATHS.map((path): Row => ["HEAD", path, 200]),
  ["HEAD", "/events", 200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" }],
  ["GET", "/ws", 426, { Upgrade: "websocket" }],
  ["HEAD", "/ws", 426, { Upgrade: "websocket" }],
  ...ALL_PATHS.map((path): Row => ["OPTIONS", path, 204]),
  ["OPTIONS", "/nowhere", 204],
  ...ALL_PATHS.flatMap((path) =>
    OTHER_METHODS.map((method): Row => [method, path, 405, { Allow: "GET, HEAD, OPTIONS" }])
  ),
  ...["/clients/a", "/clients/a/events"].flatMap((path): Row[] => [["GET", path, 404], ["HEAD", path, 404]]),
  ["DELETE", "/clients/a", 404],
  ["PUT", "/clients/a", 400],
  ["PUT", "/clients/a/ack", 400],
  ...["GET", "HEAD", "DELETE"].map((method): Row => [method, "/clients/a%20b", 400]),
  ...["", "/ack", "/events"].map((end): Row => ["OPTIONS", `/clients/a${end}`, 204]),
  ["POST", "/clients/a", 405, { Allow: "GET, PUT, DELETE, HEAD, OPTIONS" }],
  ["GET", "/clients/a/ack", 405, { Allow: "PUT, OPTIONS" }],
  ["PUT", "/clients/a/events", 405, { Allow: "GET, HEAD, OPTIONS" }],
  ["GET", "/clients", 404],
  ["GET", "/clients/", 404],
  ["GET", "/pgns/1", 404],
  ["GET", "/pgns/x", 400],
  ["GET", "/pgns/1/spans?data=00", 404],
  ["GET", "/pgns/129025/spans", 400],
  ["POST", "/pgns/x", 405, { Allow: "GET, HEAD, OPTIONS" }],
  ...[
    "/nowhere",
    "/pgns/",
    "/pgns/129025/",
    "/values/",
    "/devices/",
    "//devices",
    "/Devices",
    "/events/x",
    "/%zz",
    "/%2e%2e/etc",
  ].map((path): Row => [
    "GET",
    path,
    404,
  ]),
  ["POST", "/nowhere", 404],
  ["HEAD", "/nowhere", 404],
];

Deno.test("every path answers every method with the code the contract names", async (t) => {
  await using boat = await TestBoat.start();
  for (const [method, path, status, headers = {}] of TABLE) {
    await t.step(`${method} ${path} → ${status}`, async () => {
      const reply = await boat.raw(path, { method });
      assert.equal(reply.status, status);
      for (const [name, value] of Object.entries(headers)) assert.equal(reply.headers.get(name), value);
      assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*");
      if (method === "HEAD" || status === 204) assert.equal(reply.body.length, 0);
    });
  }
});

Deno.test("HEAD tells the same headers as GET, the length too", async () => {
  await using boat = await TestBoat.start();
  for (const path of ["/devices", "/livez", "/nowhere", "/ws", "/openapi.json"]) {
    const [get, head] = [await boat.raw(path), await boat.raw(path, { method: "HEAD" })];
    const names = ["Content-Type", "Content-Length", "Vary", "Cache-Control", "Content-Encoding"];
    for (const name of names) assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
    assert.equal(Number(head.headers.get("Content-Length")), get.body.length);
  }
});

Deno.test("HEAD of a stream opens no stream", async () => {
  await using boat = await TestBoat.start();
  await boat.raw("/events", { method: "HEAD" });
  await boat.raw("/ws", { method: "HEAD", headers: UPGRADE });
  assert.equal(await boat.metric(`vbg_streams{kind="sse"}`), 0);
  assert.equal(await boat.metric(`vbg_streams{kind="websocket"}`), 0);
  assert.equal(await boat.metric("vbg_subscriptions"), OWN_SUBSCRIPTIONS);
});

Deno.test("a browser may ask with PUT and with the headers that carry a key", async () => {
  await using boat = await TestBoat.start();
  const { headers } = await boat.raw("/events", {
    method: "OPTIONS",
    headers: { Origin: "https://example.com", "Access-Control-Request-Method": "PUT" },
  });
  assert.match(headers.get("Access-Control-Allow-Methods") ?? "", /\bPUT\b/);
  const allowed = (headers.get("Access-Control-Allow-Headers") ?? "").split(", ");
  assert.deepEqual(allowed, ["Authorization", "X-API-Key", "Content-Type"]);
});

Deno.test("a Host header that makes no URL is the client's error, not the server's", async () => {
  await using boat = await TestBoat.start();
  for (const Host of ["a b", "[::1", "x:99999", "%"]) {
    const reply = await boat.raw("/livez", { headers: { Host } });
    assert.equal(reply.status, 400, Host);
    assert.equal(JSON.parse(await reply.text()).detail, "The Host header is not valid");
  }
  for (const Host of ["", "boat.local", "[::1]:8089"]) {
    assert.equal((await boat.raw("/livez", { headers: { Host } })).status, 200, Host);
  }
});

const BAD_UPGRADES: [what: string, status: number, headers: Record<string, string>][] = [
  ["without a key", 400, { ...UPGRADE, "Sec-WebSocket-Key": "" }],
  ["without Connection: Upgrade", 426, { ...UPGRADE, Connection: "close" }],
  ["of another protocol", 426, { ...UPGRADE, Upgrade: "h2c" }],
  ["of an unknown version", 426, { ...UPGRADE, "Sec-WebSocket-Version": "8" }],
];

Deno.test("an upgrade that cannot be done is the client's error, not the server's", async (t) => {
  await using boat = await TestBoat.start();
  for (const [what, status, headers] of BAD_UPGRADES) {
    await t.step(`${what} → ${status}`, async () => {
      const reply = await boat.raw("/ws", { headers });
      assert.equal(reply.status, status);
      assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
    });
  }
  assert.equal(await boat.metric(`vbg_streams{kind="websocket"}`), 0);
});
