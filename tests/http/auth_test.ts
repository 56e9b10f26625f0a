import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { pause } from "../support/eventually.ts";
import { sendRaw } from "../support/raw_http.ts";
import { SseClient } from "../support/sse_client.ts";
import { WsClient } from "../support/ws_client.ts";
import { GuardedServer, tokenOf } from "./auth_server.ts";

const READER = "reader-secret";
const SENDER = "sender-secret";
const MASTER = "master-secret";
const TOKENS = [
  tokenOf("chart table", READER, ["read"]),
  tokenOf("pilot", SENDER, ["send"]),
  tokenOf("skipper", MASTER, ["read", "send", "admin"]),
];
const SECRETS = [READER, SENDER, MASTER, ...TOKENS.map(({ sha256 }) => sha256)];
const OPEN = ["/livez", "/readyz", "/healthz"];
const GUARDED = [
  ...[
    "/devices",
    "/values",
    "/values/decoded",
    "/pgns",
    "/pgns/129025",
    "/pgns/129025/spans?data=00",
    "/metrics",
    "/openapi.json",
  ],
  ...["/events", "/ws", "/history?from=2026-01-01T00:00:00Z", "/nowhere"],
  ...["/journal/blocks?from=2026-01-01T00:00:00Z", "/journal/clock"],
];

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** [method, path, headers, status] */
type Row = [method: string, path: string, headers: Record<string, string>, status: number];

const TABLE: Row[] = [
  ...OPEN.flatMap((path): Row[] => [["GET", path, {}, 200], ["HEAD", path, {}, 200], ["GET", path, bearer("no"), 200]]),
  ...GUARDED.flatMap((path): Row[] => [
    ["GET", path, {}, 401],
    ["HEAD", path, {}, 401],
    ["GET", path, bearer("no"), 401],
    ["GET", path, bearer(SENDER), 403],
    ["OPTIONS", path, {}, 204],
  ]),
  ["GET", "/devices", bearer(READER), 200],
  ["HEAD", "/devices", bearer(READER), 200],
  ["GET", "/devices", { Authorization: `bearer   ${READER}` }, 200],
  ["GET", "/devices", { "X-API-Key": READER }, 200],
  ["GET", `/devices?access_token=${READER}`, {}, 200],
  ["HEAD", `/devices?access_token=${READER}`, {}, 200],
  ["GET", `/values?pgn=127250&access_token=${READER}&pgn=127245`, {}, 200],
  ["GET", `/values?access_token=${READER}&pgm=127250`, {}, 400],
  ["GET", "/nowhere", bearer(READER), 404],
  ["DELETE", "/devices", bearer(READER), 405],
  ["DELETE", "/devices", {}, 401],
  ["PATCH", "/livez", {}, 405],
  ["GET", "/livez/", {}, 401],
  ["GET", "/%6civez", {}, 200],
  ["GET", "/livez/../devices", {}, 401],
  // A credential of another kind is none of ours, and does not stand in the way of one that is.
  ["GET", "/devices", { Authorization: `Basic ${btoa(`a:${READER}`)}` }, 401],
  ["GET", "/devices", { Authorization: READER }, 401],
  ["GET", "/devices", { Authorization: "Basic YTpi", "X-API-Key": READER }, 200],
  ["GET", "/devices?access_token=", {}, 401],
  ["GET", "/devices?access_token=no", bearer(READER), 200],
  ["GET", "/devices", { Authorization: "Bearer " }, 401],
  ["GET", "/devices", { "X-API-Key": ` ${READER} ` }, 200],
  ["GET", "/devices", { "X-API-Key": READER.slice(0, -1) }, 401],
  ["GET", "/devices", { "X-API-Key": READER.toUpperCase() }, 401],
  ["GET", "/devices", { "X-API-Key": TOKENS[0]!.sha256 }, 401],
  ["GET", "/devices", { Cookie: `access_token=${READER}` }, 401],
  ["POST", "/who/send", {}, 401],
  ["POST", "/who/send", bearer(READER), 403],
  ["POST", "/who/admin", bearer(SENDER), 403],
  // Let in, and asked for a body.
  ["POST", "/who/send", bearer(SENDER), 400],
  ["POST", "/who/admin", bearer(MASTER), 400],
  ["PUT", "/clients/a", {}, 401],
];

Deno.test("with tokens, everything but health takes one that is good for it", async (t) => {
  await using server = await GuardedServer.start({ tokens: TOKENS });
  for (const [method, path, headers, status] of TABLE) {
    await t.step(`${method} ${path} ${JSON.stringify(headers)} → ${status}`, async () => {
      const reply = await server.raw(path, { method, headers });
      assert.equal(reply.status, status);
      assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*");
      assert.equal(reply.headers.get("WWW-Authenticate"), status === 401 ? "Bearer" : null);
      const text = await reply.text();
      if (status >= 400 && method !== "HEAD") {
        assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
        assert.equal(JSON.parse(text).status, status);
      }
      for (const secret of SECRETS) assert.ok(!text.includes(secret), "a secret in the reply");
    });
  }
});

Deno.test("without tokens everybody may ask for everything, with or without one", async () => {
  await using server = await GuardedServer.start();
  for (const headers of [{}, bearer("any")]) {
    assert.equal((await server.raw("/devices", { headers })).status, 200);
    assert.equal((await server.raw("/metrics?access_token=x", { headers })).status, 200);
  }
  const reply = await fetch(`${server.url}/who/send`, { method: "POST", body: "{}" });
  assert.deepEqual(await reply.json(), {
    scopes: ["read", "send", "admin"],
    originAllowed: true,
    address: "127.0.0.1",
  });
});

Deno.test("who asks is known by name and address", async () => {
  await using server = await GuardedServer.start({ tokens: TOKENS });
  const reply = await fetch(`${server.url}/who/send?access_token=${SENDER}`, { method: "POST", body: "{}" });
  assert.deepEqual(await reply.json(), {
    name: "pilot",
    scopes: ["send"],
    originAllowed: true,
    address: "127.0.0.1",
  });
});

Deno.test("a boat takes no notice of the instances that a token is limited to", async () => {
  await using server = await GuardedServer.start({
    tokens: [{ ...tokenOf("owner", "owner", ["read"]), instances: [] }],
  });
  assert.equal((await server.raw("/devices", { headers: bearer("owner") })).status, 200);
});

Deno.test("event streams and WebSockets open with the token in the address", async () => {
  await using server = await GuardedServer.start({ tokens: TOKENS });
  await using events = await SseClient.open(`${server.url}/events?access_token=${READER}&pgn=127250`);
  assert.equal(events.response.status, 200);
  await using socket = await WsClient.open(`${server.url}/ws?access_token=${READER}&decode=true`);
  assert.match(await socket.errorTo("x") ?? "", /JSON/);
  await assert.rejects(SseClient.open(`${server.url}/events?access_token=no`), /401/);
  await assert.rejects(WsClient.open(`${server.url}/ws`), /Cannot open/);
});

Deno.test("who may not ask is answered before a body has come", async () => {
  await using server = await GuardedServer.start({ tokens: TOKENS });
  const headers = { "Content-Length": "1000", "Content-Type": "application/json" };
  for (
    const [path, given] of [["/who/send", {}], ["/clients/a", bearer("no")], ["/who/send", bearer(READER)]] as const
  ) {
    const method = path.startsWith("/who") ? "POST" : "PUT";
    const { status } = await server.raw(path, { method, headers: { ...headers, ...given } });
    assert.equal(status, path === "/who/send" && "Authorization" in given ? 403 : 401);
  }
  const chunked = await server.raw("/who/send", { method: "POST", headers: { "Transfer-Encoding": "chunked" } });
  assert.equal(chunked.status, 401);
  assert.deepEqual(server.asked, []);
});

Deno.test("refusals are counted by reason, and those who look at health are none", async () => {
  await using server = await GuardedServer.start({ tokens: TOKENS });
  const ask = (path: string, headers: Record<string, string>, method = "GET") => server.raw(path, { headers, method });
  await ask("/devices", {});
  await ask("/livez", {});
  for (let i = 0; i < 3; i++) await ask("/devices", bearer(`guess ${i}`.replace(" ", "")));
  await ask("/devices", bearer(SENDER));
  await ask("/who/send", { ...bearer(SENDER), Origin: "https://evil.example" }, "POST");
  const text = await (await ask("/metrics", bearer(READER))).text();
  const lines = text.split("\n").filter((line) => line.startsWith("vbg_auth_failures_total"));
  assert.deepEqual(lines, [
    `vbg_auth_failures_total{reason="missing"} 1`,
    `vbg_auth_failures_total{reason="unknown"} 3`,
    `vbg_auth_failures_total{reason="scope"} 1`,
    `vbg_auth_failures_total{reason="origin"} 1`,
  ]);
});

Deno.test("whoever is refused what sends has a line in the audit log, without the token", async () => {
  const lines: string[] = [];
  await using server = await GuardedServer.start({
    tokens: TOKENS,
    log: new Logger({ write: (line) => lines.push(line) }),
  });
  const post = (headers: Record<string, string>) => server.raw("/who/send?access_token=x", { method: "POST", headers });
  await post(bearer("no"));
  await post(bearer(READER));
  await post({ ...bearer(SENDER), Origin: "null" });
  await server.raw("/devices");
  const told = lines.map((line) => line.slice(line.indexOf("audit")));
  assert.deepEqual(told, [
    `audit component=audit outcome=unknown via=/who/send client=127.0.0.1 why="The token is unknown"`,
    `audit component=audit outcome=scope via=/who/send client=127.0.0.1 token="chart table" ` +
    String.raw`why="The token \"chart table\" does not have the scope \"send\""`,
    `audit component=audit outcome=origin via=/who/send client=127.0.0.1 token=pilot ` +
    `why="send from another origin is not allowed: see -allow-origins"`,
  ]);
});

Deno.test("other tokens count from the next request on, and an open stream goes on", async () => {
  await using server = await GuardedServer.start({ tokens: TOKENS });
  await using events = await SseClient.open(`${server.url}/events?access_token=${READER}`);
  server.access.reload({ tokens: [tokenOf("new", "other", ["read"])] });
  assert.equal((await server.raw("/devices", { headers: bearer(READER) })).status, 401);
  assert.equal((await server.raw("/devices", { headers: bearer("other") })).status, 200);
  server.access.reload({ allowOrigins: ["*"] });
  assert.equal((await server.raw("/devices", { headers: bearer("other") })).status, 200, "tokens left out stay");
  assert.equal(events.ended, false);
  server.access.reload({ tokens: [] });
  assert.equal((await server.raw("/devices")).status, 200);
});

Deno.test("a client that sends half a request keeps nobody waiting", async () => {
  await using server = await GuardedServer.start({ tokens: TOKENS });
  const half = await sendRaw(`${server.url}/who/send`, { method: "POST", headers: { "Content-Length": "9" } });
  await pause();
  assert.equal((await server.raw("/devices", { headers: bearer(READER) })).status, 200);
  half.close();
});
