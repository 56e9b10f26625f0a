import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { TestAuthority } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { WsClient } from "../support/ws_client.ts";
import { tokenOf } from "./auth_server.ts";

const OPENSSL = needs({ permissions: ["write"], programs: ["openssl"] });
const READER = "reader-secret";
const SENDER = "sender-secret";
const BOTH = "both-secret";
const TOKENS = [
  tokenOf("chart table", READER, ["read"]),
  tokenOf("pilot", SENDER, ["send"]),
  tokenOf("skipper", BOTH, ["read", "send"]),
];
const MESSAGE = { pgn: 127250, data: "00ffffff7fff7ffd" };
const FOREIGN = { Origin: "https://evil.example" };

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

/** [path, headers, status; 0: let in, whatever comes of it] */
type Row = [path: string, headers: Record<string, string>, status: number];

const TABLE: Row[] = ["/send", "/query"].flatMap((path): Row[] => [
  [path, {}, 401],
  [path, bearer("no"), 401],
  [path, bearer(READER), 403],
  [path, { "X-API-Key": READER }, 403],
  [`${path}?access_token=${READER}`, {}, 403],
  [path, { ...bearer(SENDER), ...FOREIGN }, 403],
  [path, { ...bearer(SENDER), Origin: "null" }, 403],
  [path, { ...bearer(SENDER), "Sec-Fetch-Site": "cross-site" }, 403],
  [path, { ...FOREIGN }, 401],
  [path, bearer(SENDER), 0],
  [path, { "X-API-Key": BOTH }, 0],
  [`${path}?access_token=${SENDER}`, {}, 0],
]);

Deno.test("sending and asking take a token for it, and no page of another origin", async (t) => {
  await using boat = await TestBoat.start({ sendEnabled: true, tokens: TOKENS });
  for (const [path, headers, status] of TABLE) {
    await t.step(`${path} ${JSON.stringify(headers)} → ${status || "let in"}`, async () => {
      const body = JSON.stringify(path.startsWith("/send") ? MESSAGE : { pgn: 126996, timeout: "PT0.05S" });
      const reply = await fetch(boat.url + path, { method: "POST", headers, body });
      const text = await reply.text();
      if (status !== 0) assert.equal(reply.status, status);
      else assert.equal(reply.status, path.startsWith("/send") ? 202 : 504, text);
      assert.doesNotMatch(text, /secret/);
    });
  }
  const letIn = TABLE.filter(([path, , status]) => path.startsWith("/send") && status === 0).length;
  await eventually("what was let in", () => boat.heard[0]?.filter(({ pgn }) => pgn === MESSAGE.pgn).length === letIn);
});

Deno.test("a WebSocket sends with a token for it, and from no page of another origin", async () => {
  await using boat = await TestBoat.start({ sendEnabled: true, tokens: TOKENS });
  const send = JSON.stringify({ type: "send", data: MESSAGE });
  await using reader = await WsClient.open(`${boat.url}/ws?access_token=${READER}`);
  assert.match(await reader.errorTo(send) ?? "", /token "chart table" does not have the scope "send"/);
  const url = `${boat.url.replace("http", "ws")}/ws?access_token=${BOTH}`;
  const foreign = new WebSocket(url, { headers: FOREIGN });
  const answered = new Promise((resolve) => foreign.onmessage = ({ data }) => resolve(JSON.parse(data)));
  await eventually("the socket to open", () => foreign.readyState === WebSocket.OPEN);
  foreign.send(send);
  assert.deepEqual(await answered, { type: "error", data: "send from another origin is not allowed" });
  foreign.close();
  assert.deepEqual(boat.heard[0], []);
  await using own = await WsClient.open(url);
  own.socket.send(send);
  await eventually("the message", () => boat.heard[0]?.length === 1);
  await eventually("the socket to close", () => foreign.readyState === WebSocket.CLOSED);
});

Deno.test("a WebSocket may what its token is good for now, not what it was good for when it was opened", async () => {
  await using boat = await TestBoat.start({ sendEnabled: true });
  await using nobody = await boat.ws();
  boat.boat.reload({ tokens: TOKENS });
  const send = JSON.stringify({ type: "send", data: MESSAGE });
  assert.match(await nobody.errorTo(send) ?? "", /no longer valid/);
  await using skipper = await boat.ws(`?access_token=${BOTH}`);
  boat.boat.reload({ tokens: [tokenOf("skipper", BOTH, ["read"])] });
  assert.match(await skipper.errorTo(send) ?? "", /token "skipper" does not have the scope "send"/);
  boat.boat.reload({ tokens: TOKENS.slice(0, 2) });
  assert.match(await skipper.errorTo(send) ?? "", /no longer valid/);
  assert.deepEqual(boat.heard[0], []);
  boat.boat.reload({ tokens: TOKENS });
  skipper.socket.send(send);
  await eventually("the message", () => boat.heard[0]?.length === 1);
});

Deno.test("a WebSocket of another origin may send for as long as the origin is listed", async () => {
  await using boat = await TestBoat.start({ sendEnabled: true, allowOrigins: [FOREIGN.Origin] });
  await using page = await boat.ws("", FOREIGN);
  const send = JSON.stringify({ type: "send", data: MESSAGE });
  page.socket.send(send);
  await eventually("the message", () => boat.heard[0]?.length === 1);
  boat.boat.reload({ allowOrigins: [] });
  assert.match(await page.errorTo(send) ?? "", /another origin/);
});

Deno.test("a boat that is told other tokens asks for them from then on, and opens when it has none", async () => {
  await using boat = await TestBoat.start({ tokens: TOKENS });
  const status = async (token: string) => (await boat.raw("/devices", { headers: bearer(token) })).status;
  assert.deepEqual([await status(READER), await status("new")], [200, 401]);
  boat.boat.reload({ tokens: [tokenOf("new", "new", ["read"])] });
  assert.deepEqual([await status(READER), await status("new")], [401, 200]);
  boat.boat.reload({ maxStreams: 7 });
  assert.equal(await status("new"), 200, "what is not told stays");
  boat.boat.reload({ tokens: [] });
  assert.equal((await boat.raw("/devices")).status, 200);
});

Deno.test("no token is written into a log line, whatever goes wrong", async () => {
  const lines: string[] = [];
  const log = new Logger({ level: "debug", write: (line) => lines.push(line) });
  await using boat = await TestBoat.start({ sendEnabled: true, tokens: TOKENS, log });
  for (const [path, headers] of TABLE) {
    await (await fetch(boat.url + path, { method: "POST", headers, body: "{" })).text();
  }
  await boat.raw(`/devices?access_token=wrong-secret`);
  await boat.raw(`/nowhere?access_token=${READER}`);
  assert.deepEqual(lines.filter((line) => line.includes("secret")), []);
  for (const { sha256 } of TOKENS) assert.ok(!lines.join("").includes(sha256));
});

Deno.test(
  "a boat with a certificate serves HTTPS alone, and tells of the certificate in its health",
  OPENSSL,
  async () => {
    await inFolder(async (folder) => {
      const authority = await TestAuthority.make(folder);
      const tls = await authority.issue("boat", { days: 3 });
      await using boat = await TestBoat.start({ tls });
      using client = Deno.createHttpClient({ caCerts: [authority.pem] });
      const url = boat.url.replace("http", "https");
      const { status, components } = await (await fetch(`${url}/healthz`, { client })).json();
      assert.equal(status, "degraded");
      assert.match(components.tls.message, /^certificate ends 20\d\d-/);
      await assert.rejects(fetch(`${boat.url}/livez`));
      await authority.issue("boat");
      boat.boat.reload({});
      const isWell = async () => (await (await fetch(`${url}/healthz`, { client })).json()).status === "ok";
      await eventually("the new certificate", isWell);
    });
  },
);
