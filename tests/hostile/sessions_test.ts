import assert from "node:assert/strict";
import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { CloudServer } from "../http/cloud_server.ts";
import { TestBoat } from "../support/boat.ts";
import { TestAuthority } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { messages, record } from "../support/replay.ts";
import { accessToken } from "../support/sending.ts";
import { SessionClient } from "../support/session.ts";
import { TestSimulation } from "../support/simulation.ts";
import { SseClient } from "../support/sse_client.ts";

const DISK = needs({ permissions: ["read", "write"] });
const OPENSSL = needs({ permissions: ["write"], programs: ["openssl"] });
const PUT = JSON.stringify({ buffer_timeout: "P7D" });
const TOKENS = [
  accessToken("navigator", "n-secret", ["read"]),
  accessToken("guest", "g-secret", ["read"]),
  accessToken("skipper", "s-secret", ["read", "admin"]),
];

interface Call {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Our own address. */
  from?: string;
}

interface Answer {
  status: number;
  detail: string;
}

/** A request with any headers, and from any address of this machine; an event stream is closed at its head. */
function call(url: string, { method = "GET", headers = {}, body, from }: Call = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = {
      method,
      headers,
      ...(from !== undefined && { localAddress: from }),
      agent: false,
      rejectUnauthorized: false,
    };
    const open = url.startsWith("https:") ? httpsRequest : httpRequest;
    const request = open(url, options, (reply: IncomingMessage) => {
      const status = reply.statusCode ?? 0;
      if (reply.headers["content-type"] === "text/event-stream") {
        resolve({ status, detail: "" });
        return void request.destroy();
      }
      let text = "";
      reply.setEncoding("utf8");
      reply.on("data", (piece: string) => text += piece);
      reply.on("end", () => resolve({ status, detail: text === "" ? "" : JSON.parse(text).detail ?? "" }));
    });
    request.on("error", reject);
    request.end(body);
  });
}

function bearer(secret: string): Record<string, string> {
  return { Authorization: `Bearer ${secret}` };
}

/** A sample of the metrics, where they may take a token. */
async function metric({ url }: TestBoat, sample: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics?access_token=s-secret`)).text();
  const line = text.split("\n").find((each) => each.startsWith(`${sample} `));
  return Number(line?.slice(sample.length + 1));
}

/** Every call of a session, the one that deletes it last. */
function everyCall(base: string): [what: string, url: string, call: Call][] {
  const session = `${base}/clients/pilot`;
  return [
    ["PUT", session, { method: "PUT", body: PUT }],
    ["GET", session, {}],
    ["HEAD", `${session}/events`, { method: "HEAD" }],
    ["events", `${session}/events`, {}],
    ["ack", `${session}/ack`, { method: "PUT", body: JSON.stringify({ seq: 1 }) }],
    ["DELETE", session, { method: "DELETE" }],
  ];
}

const BROWSER = { "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140" };

/** [what, headers of all calls, headers of GET alone]: a browser leaves out Origin in a GET of its own site and in `no-cors`. */
const PAGES: [what: string, headers: Record<string, string>, ofGet: Record<string, string>][] = [
  ["a page of another site", { Origin: "https://evil.example" }, { Origin: "https://evil.example" }],
  ["a page without an origin", { Origin: "null" }, { Origin: "null" }],
  [
    "another site that leaves out its origin",
    { Origin: "http://evil.example", "Sec-Fetch-Site": "cross-site" },
    { "Sec-Fetch-Site": "cross-site" },
  ],
  ["a public name that was pointed here", { Host: "evil.example", Origin: "http://evil.example" }, {
    Host: "evil.example",
  }],
  [
    "a public name that was pointed here, with a made-up user agent",
    { Host: "evil.example:8089", Origin: "http://evil.example:8089" },
    { Host: "evil.example:8089", "User-Agent": "curl/8" },
  ],
  [
    "an image or script tag of a page on another site",
    { Origin: "http://evil.example" },
    { ...BROWSER, Referer: "http://evil.example/" },
  ],
  ["an image tag of a page that hides itself", { Origin: "null" }, BROWSER],
];

Deno.test(
  "no page of another origin reads, takes over, acknowledges, replaces or deletes a session",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      (await cloud.boat("boat-1")).say();
      await using boat = await TestBoat.start();
      boat.say();
      for (const base of [boat.url, `${cloud.url}/instances/boat-1`]) {
        const client = new SessionClient(base);
        await client.put();
        await using stream = await client.events();
        for (const [page, headers, ofGet] of PAGES) {
          for (const [what, url, { method = "GET", body }] of everyCall(base)) {
            const given = ["GET", "HEAD"].includes(method) ? ofGet : headers;
            const { status } = await call(url, { method, headers: given, ...(body !== undefined && { body }) });
            assert.equal(status, 403, `${what} by ${page}`);
          }
        }
        assert.equal(stream.ended, false);
        assert.deepEqual(stream.events, []);
        assert.equal((await call(client.url)).status, 200);
      }
    }),
);

/** Who may, and with which headers. */
const WELCOME: [what: string, headers: (host: string) => Record<string, string>][] = [
  ["a program", () => ({})],
  ["a program that says it is no page", () => ({ Host: "boat.example.com", "Sec-Fetch-Site": "none" })],
  ["our own page", (host) => ({ ...BROWSER, Origin: `http://${host}`, Referer: `http://${host}/` })],
  ["a listed page", () => ({ ...BROWSER, Origin: "https://chart.example.com" })],
  ["a program that uses a listed name", () => ({ Host: "chart.example.com" })],
];

Deno.test("programs, our own pages and listed pages use sessions", async () => {
  await using boat = await TestBoat.start({ allowOrigins: ["https://chart.example.com"] });
  boat.say();
  await eventually("the frame", () => boat.boat.broker.head === 1);
  const { host } = new URL(boat.url);
  for (const [who, headersFor] of WELCOME) {
    for (const [what, url, { method = "GET", body }] of everyCall(boat.url)) {
      const headers = headersFor(host);
      // A browser leaves it out where the page is ours.
      if (["GET", "HEAD"].includes(method) && headers.Origin?.includes(host)) delete headers.Origin;
      const { status, detail } = await call(url, { method, headers, ...(body !== undefined && { body }) });
      assert.ok(status === 200 || status === 204, `${what} by ${who}: ${status} ${detail}`);
    }
  }
});

Deno.test(
  "over HTTPS, whose certificate no other site has, a program uses sessions by any name",
  OPENSSL,
  () =>
    inFolder(async (folder) => {
      const tls = await (await TestAuthority.make(folder)).issue("boat");
      await using boat = await TestBoat.start({ tls });
      const url = `https://127.0.0.1:${boat.boat.address.port}/clients/pilot`;
      const headers = { Host: "boat.example.com" };
      assert.equal((await call(url, { method: "PUT", headers, body: PUT })).status, 200);
      assert.equal((await call(`${url}/events`, { headers })).status, 200);
      assert.equal((await call(`${url}/events`, { headers: { ...headers, ...BROWSER } })).status, 403);
    }),
);

Deno.test(
  "a replay's sessions are closed to pages of other origins, and open to those that are listed",
  DISK,
  () =>
    inFolder(async (folder) => {
      const files = [await record(folder, { messages: messages(10) })];
      const allowOrigins = ["http://localhost:3000"];
      await using server = await TestSimulation.start({ files, allowOrigins });
      const put = (Origin: string) =>
        call(`${server.url}/clients/pilot`, { method: "PUT", headers: { Origin }, body: PUT }).then(({ status }) =>
          status
        );
      assert.equal(await put("http://evil.example"), 403);
      assert.equal(await put("http://localhost:3000"), 200);
    }),
);

Deno.test("a known token in a header opens sessions to any page, in the query to no page of others", async () => {
  await using boat = await TestBoat.start({ tokens: TOKENS });
  boat.say();
  await eventually("the frame", () => boat.boat.broker.head === 1);
  const foreign = { Origin: "https://evil.example", "Sec-Fetch-Site": "cross-site" };
  for (const [what, url, { method = "GET", body }] of everyCall(boat.url)) {
    const put = body !== undefined && { body };
    const inQuery = await call(`${url}?access_token=n-secret`, { method, headers: foreign, ...put });
    assert.equal(inQuery.status, 403, what);
    const unknown = { ...foreign, "X-API-Key": "guessed" };
    assert.equal((await call(`${url}?access_token=n-secret`, { method, headers: unknown, ...put })).status, 403, what);
    const { status } = await call(url, { method, headers: { ...foreign, ...bearer("n-secret") }, ...put });
    assert.ok(status === 200 || status === 204, `${what}: ${status}`);
  }
});

Deno.test(
  "a session of another token is not there, whatever is asked, and stays as it is",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder, { tokens: TOKENS });
      (await cloud.boat("boat-1")).say();
      await using boat = await TestBoat.start({ tokens: TOKENS });
      boat.say();
      for (const base of [boat.url, `${cloud.url}/instances/boat-1`]) {
        const made = { method: "PUT", headers: bearer("n-secret"), body: PUT };
        assert.equal((await call(`${base}/clients/pilot`, made)).status, 200);
        await using stream = await SseClient.open(`${base}/clients/pilot/events?access_token=n-secret`);
        for (const [what, url, asked] of everyCall(base)) {
          const { status, detail } = await call(url, { ...asked, headers: bearer("g-secret") });
          assert.equal(status, 404, what);
          const nobody = await call(url.replace("pilot", "nobody"), { ...asked, headers: bearer("g-secret") });
          if (what !== "PUT") assert.equal(detail, nobody.detail.replace("nobody", "pilot").replace("nobody", "pilot"));
          await call(`${base}/clients/nobody`, { method: "DELETE", headers: bearer("g-secret") });
        }
        assert.equal(stream.ended, false);
        const { status } = await call(`${base}/clients/pilot`, { headers: bearer("n-secret") });
        assert.equal(status, 200);
        for (const [what, url, asked] of everyCall(base)) {
          const { status } = await call(url, { ...asked, headers: bearer("s-secret") });
          assert.ok(status === 200 || status === 204, `${what} by an admin: ${status}`);
        }
      }
    }),
);

Deno.test(
  "who owns a session survives a restart, a new secret of the same name, and tokens that go and come",
  DISK,
  () =>
    inFolder(async (stateDirectory) => {
      const state = (boat: TestBoat, headers: Record<string, string> = {}) =>
        call(`${boat.url}/clients/pilot`, { headers }).then(({ status }) => status);
      {
        await using boat = await TestBoat.start({ stateDirectory, tokens: TOKENS });
        const put = { method: "PUT", headers: bearer("n-secret"), body: PUT };
        assert.equal((await call(`${boat.url}/clients/pilot`, put)).status, 200);
      }
      {
        await using boat = await TestBoat.start({ stateDirectory });
        assert.equal(await state(boat), 200, "without tokens anybody may");
        const put = { method: "PUT", body: JSON.stringify({ buffer_timeout: "P6D" }) };
        assert.equal((await call(`${boat.url}/clients/pilot`, put)).status, 200);
        assert.equal((await call(`${boat.url}/clients/old`, put)).status, 200);
      }
      const tokens = [...TOKENS.slice(1), accessToken("navigator", "another-secret", ["read"])];
      await using boat = await TestBoat.start({ stateDirectory, tokens });
      assert.equal(await state(boat, bearer("g-secret")), 404);
      assert.equal(await state(boat, bearer("another-secret")), 200);
      const old = `${boat.url}/clients/old`;
      for (const secret of ["g-secret", "another-secret"]) {
        assert.equal((await call(old, { headers: bearer(secret) })).status, 200, "it has no owner yet");
      }
      assert.equal((await call(old, { method: "PUT", headers: bearer("g-secret"), body: PUT })).status, 200);
      assert.equal((await call(old, { headers: bearer("another-secret") })).status, 404, "a PUT has claimed it");
    }),
);

Deno.test("a slot is open to every reader, and nobody claims it", async () => {
  const slots = [{ id: "pilot", timeoutMs: 60_000, filter: {} }];
  await using boat = await TestBoat.start({ slots, tokens: TOKENS });
  for (const secret of ["g-secret", "n-secret", "g-secret"]) {
    const put = { method: "PUT", headers: bearer(secret), body: PUT };
    assert.equal((await call(`${boat.url}/clients/pilot`, put)).status, 200);
    assert.equal((await call(`${boat.url}/clients/pilot`, { headers: bearer(secret) })).status, 200);
  }
});

/** Makes so many sessions; gives the status of each. */
async function makeMany(base: string, count: number, { prefix, ...by }: Call & { prefix: string }): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) {
    const { status } = await call(`${base}/clients/${prefix}-${i}`, { ...by, method: "PUT", body: PUT });
    statuses.push(status);
  }
  return statuses;
}

Deno.test("one token that makes sessions without end replaces its own oldest, and locks nobody out", async () => {
  await using boat = await TestBoat.start({ tokens: TOKENS, maxSessions: 12, maxSessionsPerOwner: 5 });
  assert.equal((await makeMany(boat.url, 1, { prefix: "mine", headers: bearer("n-secret") }))[0], 200);
  const flood = await makeMany(boat.url, 40, { prefix: "flood", headers: bearer("g-secret") });
  assert.deepEqual(new Set(flood), new Set([200]), "a session that was never read gives way to the next");
  assert.equal(await metric(boat, "vbg_sessions"), 6);
  assert.equal(await metric(boat, "vbg_sessions_replaced_total"), 35);
  assert.deepEqual(
    await Promise.all(
      [34, 35, 39].map(async (index) =>
        (await call(`${boat.url}/clients/flood-${index}`, { headers: bearer("g-secret") })).status
      ),
    ),
    [404, 200, 200],
  );
  assert.equal((await makeMany(boat.url, 5, { prefix: "mine", headers: bearer("n-secret") }))[4], 200);
});

Deno.test("sessions that were read stay: beyond its limit their owner gets a 429 that says why", async () => {
  await using boat = await TestBoat.start({ tokens: TOKENS, maxSessions: 12, maxSessionsPerOwner: 3 });
  const headers = bearer("g-secret");
  await makeMany(boat.url, 3, { prefix: "read", headers });
  for (const index of [0, 1]) {
    const ack = { method: "PUT", headers, body: JSON.stringify({ seq: 0 }) };
    assert.equal((await call(`${boat.url}/clients/read-${index}/ack`, ack)).status, 204);
  }
  await using stream = await SseClient.open(`${boat.url}/clients/read-2/events?access_token=g-secret`);
  await eventually("the stream", async () => await metric(boat, `vbg_streams{kind="session"}`) === 1);
  const refused = await call(`${boat.url}/clients/more`, { method: "PUT", headers, body: PUT });
  assert.equal(refused.status, 429);
  assert.equal(await metric(boat, `vbg_sessions_refused_total{limit="owner"}`), 1);
  assert.match(refused.detail, /"guest" has 3 sessions.*-max-sessions-per-owner/);
  assert.equal((await call(`${boat.url}/clients/read-1`, { method: "PUT", headers, body: PUT })).status, 200);
  assert.equal((await makeMany(boat.url, 1, { prefix: "mine", headers: bearer("n-secret") }))[0], 200);
  assert.equal(stream.ended, false);
});

Deno.test("without tokens an address has its share, and many addresses of one network do not lock out a newcomer", async () => {
  await using boat = await TestBoat.start({ maxSessions: 12, maxSessionsPerOwner: 4 });
  for (const from of ["127.0.0.2", "127.0.0.3", "127.0.0.4"]) {
    assert.deepEqual(await makeMany(boat.url, 6, { prefix: `of-${from.at(-1)}`, from }), Array(6).fill(200));
  }
  assert.equal(await boat.metric("vbg_sessions"), 12);
  const newcomer = await makeMany(boat.url, 1, { prefix: "newcomer", from: "127.0.0.9" });
  assert.deepEqual(newcomer, [200], "the address with the most gives way");
  assert.equal(await boat.metric("vbg_sessions"), 12);
  assert.equal((await call(`${boat.url}/clients/newcomer-0`)).status, 200);
});

Deno.test("a filter of more than 256 entries is a 400 that names the field, wherever it is given", DISK, async () => {
  await using boat = await TestBoat.start();
  const many = Array.from({ length: 257 }, (_, index) => index);
  const query = `exclude_pgn=1&${many.slice(1).map((pgn) => `pgn=${pgn}`).join("&")}`;
  const history = "from=2026-01-02T00:00:00Z&";
  for (const path of ["/events?", "/values?", "/values/decoded?"]) {
    const reply = await boat.raw(path + query);
    assert.equal(reply.status, 400, path);
    assert.equal(JSON.parse(await reply.text()).parameter, "exclude_pgn", path);
  }
  const upgrade = {
    Connection: "Upgrade",
    Upgrade: "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  };
  assert.equal((await boat.raw(`/ws?${query}`, { headers: upgrade })).status, 400);
  assert.equal(
    (await boat.raw(`/values?${"pgn=127250&instance=0&".repeat(200)}`)).status,
    200,
    "duplicates do not count",
  );
  const client = new SessionClient(boat.url);
  const body = (filter: unknown) => ({ buffer_timeout: "PT5M", filter });
  const problem = await client.problem("PUT", "", body({ pgn: many }));
  assert.deepEqual([problem.status, problem.field], [400, "filter.pgn"]);
  const second = await client.problem("PUT", "", body({ pgn: many.slice(1), bus: ["can0"] }));
  assert.deepEqual([second.status, second.field], [400, "filter.bus"]);
  const some = many.slice(0, 128);
  await client.put(body({ pgn: [...some, ...some], exclude_pgn: some }));
  const { filter } = await (await client.request("GET", "")).json();
  assert.deepEqual(filter, { pgn: some, exclude_pgn: some });
  await inFolder(async (folder) => {
    await using cloud = await CloudServer.start(folder);
    await cloud.boat("boat-1");
    assert.equal((await cloud.raw(`/instances/boat-1/history?${history}${query}`)).status, 400);
  });
});
