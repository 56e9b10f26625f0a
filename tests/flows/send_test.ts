import assert from "node:assert/strict";
import { parseSendRules } from "../../src/transmit/mod.ts";
import { TestBoat, type TestBoatOptions } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { allowed } from "../support/needs.ts";
import { accessToken, type PostReply } from "../support/sending.ts";

const NET = { ignore: !allowed("net") };
const HEADING = { pgn: 127250, data: "00102700007ffd" };
const ASK = { pgn: 126996 };
const [READER, SENDER] = ["reader-secret", "sender-secret"];

/** What is asked and what must come back; what is refused on `/send` is refused in the same words on a WebSocket. */
interface Row {
  what: string;
  /** Default `/send`. */
  path?: string;
  body: unknown;
  headers?: Record<string, string>;
  status: number;
  /** Of the problem's detail, or of the answer. */
  says?: RegExp;
  /** The field that a 400 names. */
  field?: string;
}

/** Rows that need the same server. */
interface Group {
  what: string;
  options?: TestBoatOptions;
  prepare?: (boat: TestBoat) => void | Promise<unknown>;
  /** Headers of every row, and of its WebSocket. */
  headers?: Record<string, string>;
  rows: Row[];
}

const OPEN: TestBoatOptions = { sendEnabled: true, names: ["can0", "can1"] };

/** A 400 of `/send` by its field; empty when none is named. */
function bad(what: string, body: unknown, field = ""): Row {
  return { what, body, status: 400, field };
}

function badQuery(what: string, body: unknown, field = ""): Row {
  return { ...bad(what, body, field), path: "/query" };
}

const BAD_BODIES: Row[] = [
  bad("an empty body", ""),
  bad("half of a JSON text", `{"pgn":127250`),
  bad("null", null),
  bad("a number", "5"),
  bad("a text", `"send"`),
  { ...bad("an empty array", []), says: /array to have >=1 items/ },
  bad("an array of arrays", [[HEADING]], "[0]"),
  { ...bad("65 messages", Array(65).fill(HEADING)), says: /at most 64 entries, got 65/ },
  bad("nothing", {}, "pgn"),
  bad("a PGN that is a text", { ...HEADING, pgn: "127250" }, "pgn"),
  bad("a PGN below 0", { ...HEADING, pgn: -1 }, "pgn"),
  bad("a PGN of more than 18 bits", { ...HEADING, pgn: 0x40000 }, "pgn"),
  bad("half a PGN", { ...HEADING, pgn: 127250.5 }, "pgn"),
  bad("an addressed PGN with a low byte", { ...HEADING, pgn: 59905 }, "pgn"),
  bad("the announcement of a long message", { ...HEADING, pgn: 60416 }, "pgn"),
  bad("the packet of a long message", { ...HEADING, pgn: 60160 }, "pgn"),
  bad("source 255", { ...HEADING, src: 255 }, "src"),
  bad("source -1", { ...HEADING, src: -1 }, "src"),
  bad("a source that is a text", { ...HEADING, src: "7" }, "src"),
  bad("destination 254", { ...HEADING, dst: 254 }, "dst"),
  bad("destination 256", { ...HEADING, dst: 256 }, "dst"),
  bad("destination -1", { ...HEADING, dst: -1 }, "dst"),
  bad("priority 8", { ...HEADING, prio: 8 }, "prio"),
  bad("priority -1", { ...HEADING, prio: -1 }, "prio"),
  bad("half a byte", { ...HEADING, data: "0" }, "data"),
  bad("data that are no hex", { ...HEADING, data: "0x00" }, "data"),
  bad("data that are a list", { ...HEADING, data: [0] }, "data"),
  bad("data and fields", { ...HEADING, fields: {} }, "data"),
  bad("neither data nor fields", { pgn: 127250 }, "data"),
  bad("1786 bytes", { pgn: 126720, data: "00".repeat(1786) }, "data"),
  bad("a fast packet of nothing", { pgn: 129029, data: "" }, "data"),
  bad("a field that nobody knows", { ...HEADING, priority: 2 }, "priority"),
  bad("fields that are a list", { pgn: 127250, fields: [] }, "fields"),
  bad("fields of a PGN that nobody has described", { pgn: 1024, fields: {} }, "fields"),
  bad("a field that the PGN does not have", { pgn: 127250, fields: { speed: 1 } }, "fields.speed"),
  bad("a field out of its range", { pgn: 127250, fields: { heading: 99 } }, "fields.heading"),
  bad("an unknown bus", { ...HEADING, bus: "can9" }, "bus"),
  bad("a bus without a name", { ...HEADING, bus: "" }, "bus"),
  bad("a good message and a bad one", [HEADING, { ...HEADING, prio: 8 }], "[1].prio"),
  bad("a good message and one for an unknown bus", [HEADING, { ...HEADING, bus: "can9" }], "[1].bus"),
  bad("a good message and one without payload", [HEADING, { pgn: 127250 }], "[1].data"),
  badQuery("an empty body", ""),
  badQuery("a list", [ASK]),
  badQuery("no PGN", {}, "pgn"),
  badQuery("an addressed PGN with a low byte", { pgn: 59905 }, "pgn"),
  badQuery("a PGN of more than 18 bits", { pgn: 0x40000 }, "pgn"),
  badQuery("destination 254", { ...ASK, dst: 254 }, "dst"),
  badQuery("destination 256", { ...ASK, dst: 256 }, "dst"),
  badQuery("a timeout that is none", { ...ASK, timeout: "soon" }, "timeout"),
  badQuery("a timeout of nothing", { ...ASK, timeout: "PT0S" }, "timeout"),
  badQuery("a timeout below nothing", { ...ASK, timeout: "-PT1S" }, "timeout"),
  badQuery("a timeout over the maximum", { ...ASK, timeout: "PT61S" }, "timeout"),
  badQuery("a timeout that is a number", { ...ASK, timeout: 2 }, "timeout"),
  badQuery("an unknown bus", { ...ASK, bus: "can9" }, "bus"),
  badQuery("decode that is a text", { ...ASK, decode: "true" }, "decode"),
  badQuery("a field that nobody knows", { ...ASK, src: 1 }, "src"),
];

/** The same refusal on `/send` and `/query`. */
function both(what: string, row: { status: number; says: RegExp; headers?: Record<string, string> }): Row[] {
  return [{ what, body: HEADING, ...row }, { what, path: "/query", body: ASK, ...row }];
}

/** A device at 20 that refuses each PGN with a control byte of its own. */
const REFUSALS: Record<number, number> = { 126996: 1, 126998: 2, 126464: 3 };

function refuseAll(boat: TestBoat): void {
  boat.answerRequests(20, ({ pgn, src }) => {
    const bytes = [REFUSALS[pgn] ?? 1, 255, 255, 255, src, pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16];
    boat.say({ pgn: 59392, src: 20, dst: 255, data: bytes });
  });
}

const GROUPS: Group[] = [
  { what: "a server as it comes", rows: both("sending is not enabled", { status: 403, says: /^send is disabled$/ }) },
  {
    what: "a server that may be read only",
    options: { sendEnabled: true, readOnly: true },
    rows: both("read-only", { status: 403, says: /^the server is in read-only mode$/ }),
  },
  {
    what: "a server with rules",
    options: { sendEnabled: true, sendRules: parseSendRules("!pgn:126000-127250; pgn:59904,130306") },
    rows: [
      {
        what: "a rule that denies",
        body: HEADING,
        status: 403,
        says: /^send denied by rule 1 "! pgn:126000-127250" \(pgn=127250, dst=255\)$/,
      },
      { what: "no rule", body: { ...HEADING, pgn: 127251 }, status: 403, says: /^no send rule matched \(pgn=127251, / },
      {
        what: "one of several",
        body: [{ ...HEADING, pgn: 130306 }, HEADING],
        status: 403,
        says: /^send denied by rule 1 /,
      },
      { what: "a rule that denies", path: "/query", body: ASK, status: 403, says: /denied by rule 1 .*\(pgn=126996, / },
      {
        what: "no rule",
        path: "/query",
        body: { pgn: 129029 },
        status: 403,
        says: /no send rule matched \(pgn=129029/,
      },
    ],
  },
  {
    what: "a server with tokens, asked without",
    options: { ...OPEN, tokens: [accessToken("pilot", SENDER, ["send"])] },
    rows: [
      ...["/send", "/query"].map((path): Row => ({ what: "no token", path, body: HEADING, status: 401 })),
      ...["/send", "/query"].map((path): Row => (
        { what: "an unknown token", path, body: HEADING, headers: { "X-API-Key": "guess" }, status: 401 }
      )),
    ],
  },
  {
    what: "a server with tokens, asked with one for reading",
    options: { ...OPEN, tokens: [accessToken("chart", READER, ["read"])] },
    headers: { "X-API-Key": READER },
    rows: both("no scope", { status: 403, says: /^The token "chart" does not have the scope "send"$/ }),
  },
  {
    what: "a page of another origin",
    options: OPEN,
    headers: { Origin: "https://evil.example" },
    rows: both("another origin", { status: 403, says: /^send from another origin is not allowed/ }),
  },
  {
    what: "an open server",
    options: OPEN,
    rows: [
      ...BAD_BODIES,
      ...["/send", "/query"].map((path): Row => (
        { what: "a body of 64 KiB and a byte", path, body: " ".repeat(65_537), status: 413, says: /65536 bytes/ }
      )),
    ],
  },
  {
    what: "a server that has let through what it may",
    options: { ...OPEN, sendRateLimit: 0.001, sendRateBurst: 1 },
    prepare: (boat) => boat.post("/send", HEADING),
    rows: both("too many", { status: 429, says: /^more than 0.001 messages a second: see -send-rate-limit$/ }),
  },
  {
    what: "a server whose rate allows a few at once",
    options: { ...OPEN, sendRateLimit: 1, sendRateBurst: 2 },
    rows: [{
      what: "more",
      body: Array(3).fill(HEADING),
      status: 429,
      says: /^3 messages at once exceed the burst size of 2/,
    }],
  },
  {
    what: "a server that claims its address",
    options: { ...OPEN, virtualDevice: { name: 0xc0328200ffc00001n }, clock: new FakeClock() },
    rows: both("no address yet", { status: 503, says: /no address on bus "can0": it is being claimed$/ }),
  },
  {
    what: "a server whose queue is short",
    options: { ...OPEN, transmit: { queueMessages: 1 } },
    rows: [{ what: "no room", body: [HEADING, HEADING], status: 503, says: /^Cannot send on bus "can0": / }],
  },
  {
    what: "a server whose bus is down",
    options: OPEN,
    prepare: (boat) => boat.buses[0]?.close(),
    rows: both("the bus is down", { status: 503, says: /bus "can0".* is closed/ }),
  },
  {
    what: "a server that answers as many queries as it may",
    options: { ...OPEN, maxQueries: 0 },
    rows: [{
      what: "one more",
      path: "/query",
      body: ASK,
      status: 503,
      says: /^All 0 queries are in use: see -max-qu/,
    }],
  },
  {
    what: "a device that refuses",
    options: OPEN,
    prepare: refuseAll,
    rows: [
      { what: "does not have it", path: "/query", body: { ...ASK, dst: 20 }, status: 502, says: /PGN not available$/ },
      {
        what: "denies",
        path: "/query",
        body: { pgn: 126998, dst: 20 },
        status: 502,
        says: /20 refused the request: access den/,
      },
      { what: "is busy", path: "/query", body: { pgn: 126464, dst: 20 }, status: 502, says: /cannot respond now$/ },
    ],
  },
  {
    what: "nobody who answers",
    options: OPEN,
    rows: [
      {
        what: "addressed",
        path: "/query",
        body: { ...ASK, dst: 20, timeout: "PT0.05S" },
        status: 504,
        says: /in time$/,
      },
      { what: "everybody", path: "/query", body: { ...ASK, timeout: "50ms" }, status: 504, says: /in time$/ },
    ],
  },
];

function assertReply(reply: PostReply, { status, says, field }: Row): void {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
  assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*");
  if (says) assert.match(reply.detail ?? "", says);
  if (field !== undefined) assert.equal(reply.field ?? "", field, reply.detail ?? "");
  const isLater = status === 429 || status === 503;
  assert.equal(Number(reply.headers.get("Retry-After")) >= 1, isLater, "Retry-After");
  assert.equal(reply.headers.get("WWW-Authenticate"), status === 401 ? "Bearer" : null);
}

/** What a WebSocket may be told too: a value for `/send`, from somebody who was let in. */
function isForSocket({ path = "/send", status, body }: Row): boolean {
  return path === "/send" && status !== 401 && status !== 413 && (typeof body !== "string" || /^[\d"]/.test(body));
}

for (const { what, options = {}, prepare, headers = {}, rows } of GROUPS) {
  Deno.test(`sending, ${what}: every refusal has its code and its reason, and nothing is sent`, NET, async (t) => {
    await using boat = await TestBoat.start(options);
    await prepare?.(boat);
    const isQueried = rows.some(({ status }) => status === 502 || status === 504);
    const before = boat.heard.flat().length;
    for (const row of rows) {
      const { path = "/send", body, status } = row;
      const all = { ...headers, ...row.headers };
      const reply = () => boat.post(path, body, all);
      await t.step(`POST ${path}, ${row.what} → ${status}`, async () => assertReply(await reply(), row));
      if (!isForSocket(row)) continue;
      await t.step(`WebSocket, ${row.what}`, async () => {
        await using socket = await boat.ws("", all);
        const data = typeof body === "string" ? JSON.parse(body) : body;
        const told = await socket.errorTo(JSON.stringify({ type: "send", data }));
        const { detail = "" } = await reply();
        assert.ok(told && detail.startsWith(told), `${told} and ${detail}`);
      });
    }
    if (!isQueried) assert.deepEqual(boat.heard.flat().slice(before), []);
  });
}

const ACCEPTED: [what: string, body: unknown, messages: number][] = [
  ["a message", HEADING, 1],
  ["a message without data", { pgn: 127250, data: "" }, 1],
  ["hex in capitals", { pgn: 127250, data: "00FF" }, 1],
  ["fields", { pgn: 127250, fields: {} }, 1],
  ["source 254, destination 0, priority 0", { pgn: 126208, src: 254, dst: 0, prio: 0, data: "00" }, 1],
  ["source 0 and priority 7", { ...HEADING, src: 0, prio: 7 }, 1],
  ["the highest PGN", { pgn: 0x3ffff, data: "00" }, 1],
  ["the other bus", { ...HEADING, bus: "can1" }, 1],
  ["an array of one", [HEADING], 1],
  ["an array of 20", Array(20).fill(HEADING), 20],
];

Deno.test("what may be sent is 202 with an empty body, and silence on a WebSocket", NET, async (t) => {
  await using boat = await TestBoat.start(OPEN);
  await using socket = await boat.ws();
  let count = 0;
  for (const [what, body, messages] of ACCEPTED) {
    await t.step(what, async () => {
      const { status, text, headers } = await boat.post("/send", body);
      assert.deepEqual([status, text, headers.get("Content-Type")], [202, "", null]);
      socket.socket.send(JSON.stringify({ type: "send", data: body }));
      count += 2 * messages;
      await eventually("the frames", () => boat.heard.flat().length === count);
    });
  }
  assert.deepEqual(socket.of("error"), []);
});

Deno.test("sending takes POST alone, and tells so to every other method", NET, async (t) => {
  await using boat = await TestBoat.start(OPEN);
  for (const path of ["/send", "/query"]) {
    for (const method of ["GET", "HEAD", "PUT", "DELETE", "PATCH"]) {
      await t.step(`${method} ${path} → 405`, async () => {
        const { status, headers, body } = await boat.raw(path, { method });
        assert.deepEqual([status, headers.get("Allow")], [405, "POST, OPTIONS"]);
        if (method === "HEAD") assert.equal(body.length, 0);
      });
    }
    const { status, headers } = await boat.raw(path, { method: "OPTIONS", headers: { Origin: "https://any.example" } });
    assert.equal(status, 204);
    assert.match(headers.get("Access-Control-Allow-Methods") ?? "", /\bPOST\b/);
  }
});
