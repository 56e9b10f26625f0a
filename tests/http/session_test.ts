import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { range, seqs, SessionClient } from "../support/session.ts";

const GOOD = { buffer_timeout: "PT5M" };

/** [what is wrong, body, field that is named] */
const BAD_BODIES: [what: string, body: unknown, field?: string][] = [
  ["nothing", ""],
  ["no JSON", "{"],
  ["no UTF-8 JSON value", "nope"],
  ["a list", []],
  ["null", null],
  ["no timeout", {}, "buffer_timeout"],
  ["a timeout of nothing", { buffer_timeout: "" }, "buffer_timeout"],
  ["a timeout of zero", { buffer_timeout: "PT0S" }, "buffer_timeout"],
  ["a timeout of zero, short", { buffer_timeout: "0" }, "buffer_timeout"],
  ["a timeout that is a number", { buffer_timeout: 300 }, "buffer_timeout"],
  ["a timeout in words", { buffer_timeout: "soon" }, "buffer_timeout"],
  ["a negative timeout", { buffer_timeout: "-PT5M" }, "buffer_timeout"],
  ["a timeout whose length varies", { buffer_timeout: "P1M" }, "buffer_timeout"],
  ["an unknown field", { ...GOOD, bufer: 1 }, "bufer"],
  ["a filter that is a list", { ...GOOD, filter: [] }, "filter"],
  ["an unknown filter", { ...GOOD, filter: { manufactuer: ["x"] } }, "filter.manufactuer"],
  ["a PGN that is text", { ...GOOD, filter: { pgn: ["127250"] } }, "filter.pgn[0]"],
  ["a PGN that is no list", { ...GOOD, filter: { pgn: 127250 } }, "filter.pgn"],
  ["a PGN that is too large", { ...GOOD, filter: { exclude_pgn: [1, 4294967296] } }, "filter.exclude_pgn[1]"],
  ["a PGN below zero", { ...GOOD, filter: { pgn: [-1] } }, "filter.pgn[0]"],
  ["a fraction", { ...GOOD, filter: { pgn: [1.5] } }, "filter.pgn[0]"],
  ["an instance that is too large", { ...GOOD, filter: { instance: [253] } }, "filter.instance[0]"],
  ["a NAME that is no hex", { ...GOOD, filter: { name: ["0xzz"] } }, "filter.name[0]"],
  ["a NAME with 17 digits", { ...GOOD, filter: { exclude_name: ["1".repeat(17)] } }, "filter.exclude_name[0]"],
  ["an empty bus", { ...GOOD, filter: { bus: [""] } }, "filter.bus[0]"],
  ["a manufacturer that is a number", { ...GOOD, filter: { manufacturer: [229] } }, "filter.manufacturer[0]"],
];

Deno.test("a body that cannot be used is a 400 that names the field, and makes no session", async (t) => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  for (const [what, body, field] of BAD_BODIES) {
    await t.step(what, async () => {
      const problem = await client.problem("PUT", "", body);
      assert.equal(problem.status, 400);
      assert.equal(problem.field, field, problem.detail);
      if (field) assert.ok(problem.detail.startsWith(`Field "${field}": `), problem.detail);
      assert.doesNotMatch(problem.detail, /invalid_|Error|undefined/i);
    });
  }
  assert.equal((await client.problem("GET", "")).status, 404);
});

Deno.test("a 400 for a value of several forms describes the form that was meant", async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  const rows = [
    [["252", 1], /expected number, received string/],
    ["A", /a list of numbers, or base64/],
    ["A".repeat(400), /at most 256 entries/],
    [5, /expected array, received number/],
  ] as const;
  for (const [instance, says] of rows) {
    const problem = await client.problem("PUT", "", { ...GOOD, filter: { instance } });
    assert.match(problem.detail, says);
  }
});

Deno.test("an acknowledgement that cannot be used is a 400 that names the field", async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put();
  for (const body of [{}, { seq: "1" }, { seq: -1 }, { seq: 1.5 }, { seq: null }, { seq: 2 ** 60 }]) {
    const problem = await client.problem("PUT", "/ack", body);
    assert.deepEqual([problem.status, problem.field], [400, "seq"], JSON.stringify(body));
  }
  assert.equal((await client.problem("PUT", "/ack", { seq: 1 })).detail, "No frame has number 1 yet: the newest is 0");
  assert.equal((await client.problem("PUT", "/ack", { seq: 0, more: 1 })).field, "more");
  assert.equal(await client.ack(0), 204);
});

Deno.test("a body over the limit is a 413, told by its length or found on the way", async () => {
  await using boat = await TestBoat.start({ maxBodyBytes: 1000 });
  const client = new SessionClient(boat.url);
  const body = (bytes: number) => JSON.stringify({ ...GOOD, filter: {} }).padEnd(bytes);
  await client.put(body(1000));
  assert.equal((await client.problem("PUT", "", body(1001))).status, 413);
  assert.match((await client.problem("PUT", "/ack", body(5000))).detail, /larger than 1000 bytes: see -max-body-bytes/);
  const chunks = new Blob([body(100_000)]).stream();
  const streamed = await fetch(client.url, { method: "PUT", body: chunks });
  assert.equal(streamed.status, 413);
  await streamed.body?.cancel();
});

Deno.test("a client id has 1 to 64 letters, digits, hyphens and underscores", async () => {
  await using boat = await TestBoat.start();
  for (const id of ["a", "A-b_9", "x".repeat(64), "-", "0"]) {
    assert.equal((await new SessionClient(boat.url, { id }).put()).client_id, id);
  }
  for (const id of ["a%20b", "a.b", "x".repeat(65), "%C3%A4", "a%2Fb", "a:b"]) {
    const problem = await new SessionClient(boat.url, { id }).problem("PUT", "", GOOD);
    assert.deepEqual([problem.status, problem.parameter], [400, "clientId"], id);
  }
});

Deno.test("the reply tells head, cursor, devices and the timeout that holds", async () => {
  await using boat = await TestBoat.start({ maxBufferDurationMs: 3_600_000 });
  const client = new SessionClient(boat.url);
  const first = await client.put({ buffer_timeout: "90m", filter: null });
  const { epoch } = first;
  assert.match(epoch ?? "", /^[0-9a-f]{32}$/);
  assert.deepEqual(first, { client_id: "pilot", seq: 0, cursor: 1, devices: [], buffer_timeout: "PT1H", epoch });
  boat.say({ src: 4 });
  boat.claim(5, { manufacturerCode: 229 });
  await eventually("both frames", () => boat.boat.broker.head === 2);
  const again = await client.put({ buffer_timeout: "PT5M", filter: { pgn: [127250], instance: "AAE=" } });
  assert.deepEqual([again.seq, again.cursor, again.buffer_timeout], [2, 1, "PT5M"]);
  assert.deepEqual(again.devices.map(({ src }) => src), [4, 5]);
  assert.deepEqual(await (await client.request("GET", "")).json(), {
    client_id: "pilot",
    seq: 2,
    cursor: 1,
    buffer_timeout: "PT5M",
    epoch,
    filter: { pgn: [127250], instance: [0, 1] },
    streaming: false,
    slot: false,
  });
});

Deno.test("a stream sends the very lines of /events, decoded where asked, and what the filter wants", async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put({ ...GOOD, filter: { exclude_pgn: [127245] } });
  await using plain = await boat.events("?exclude_pgn=127245");
  await using decoded = await boat.events("?exclude_pgn=127245&decode=true");
  for (let src = 1; src <= 20; src++) boat.say({ src, pgn: src % 2 ? 127250 : 127245 });
  await plain.atLeast(10);
  await decoded.atLeast(10);
  for (const [query, live] of [["", plain], ["?decode=false", plain], ["?decode=true", decoded]] as const) {
    await using stream = await client.events(query);
    assert.equal(stream.response.headers.get("Content-Type"), "text/event-stream");
    await stream.atLeast(10);
    assert.deepEqual(stream.texts, live.texts);
  }
  assert.match(decoded.texts[0]!, /"decoded":\{"/);
  assert.deepEqual((await client.problem("GET", "/events?pgn=1")).parameter, "pgn");
});

Deno.test("HEAD of a session's stream opens none and takes nobody's over", async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put();
  await using stream = await client.events();
  await eventually("the stream", async () => await boat.metric(`vbg_streams{kind="session"}`) === 1);
  const head = await boat.raw("/clients/pilot/events", { method: "HEAD" });
  assert.deepEqual([head.status, head.headers.get("Content-Type")], [200, "text/event-stream"]);
  boat.say();
  await stream.atLeast(1);
  assert.equal(stream.ended, false);
  assert.deepEqual(stream.events, []);
});

Deno.test("a client that takes nothing for a while misses nothing, and costs no memory but the ring", async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put();
  await using stream = await client.events("", { keep: false, onFrame: ({ seq }) => taken.push(seq) });
  const taken: number[] = [];
  boat.say();
  await eventually("the first frame", () => taken.length === 1);
  stream.pause();
  boat.flood(30_000, 200);
  stream.resume();
  await eventually("all frames", () => taken.length === 30_001);
  assert.deepEqual(taken, range(1, 30_001));
  assert.deepEqual(stream.events, []);
});

Deno.test("a client that has fallen behind in mid-stream is told where it can go on, and the stream ends", async () => {
  await using boat = await TestBoat.start({ ringFrames: 1024 });
  const client = new SessionClient(boat.url);
  await client.put();
  await using stream = await client.events();
  boat.say();
  await stream.atLeast(1);
  boat.flood(1500, 8);
  await eventually("the end", () => stream.ended);
  const oldest = boat.boat.broker.ring.oldest;
  assert.deepEqual(stream.events, [{ name: "error", data: { code: "fallen_behind", oldest_seq: oldest } }]);
  const problem = await client.problem("GET", "/events");
  assert.deepEqual([problem.status, problem.oldest_seq], [410, oldest]);
  assert.match(problem.type, /ErrFallenBehind$/);
  assert.equal(await client.ack(oldest - 2), 204);
  assert.equal((await client.problem("GET", "/events")).status, 410);
  assert.equal(await client.ack(oldest - 1), 204);
  await using healed = await client.events();
  assert.deepEqual(seqs(await healed.atLeast(1024)), range(oldest, oldest + 1023));
});

Deno.test("silence is broken by a comment", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  const client = new SessionClient(boat.url);
  await client.put();
  await using stream = await client.events();
  await eventually("the stream", async () => await boat.metric(`vbg_streams{kind="session"}`) === 1);
  clock.advance(15_000);
  await eventually("a comment", () => stream.comments.length === 1);
  boat.say();
  await stream.atLeast(1);
  clock.advance(14_000);
  assert.equal(stream.comments.length, 1);
});

Deno.test("a session is taken by its second stream, ended by DELETE, and kept while a stream is open", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  const client = new SessionClient(boat.url);
  await client.put();
  await using first = await client.events();
  await eventually("the stream", async () => await boat.metric(`vbg_streams{kind="session"}`) === 1);
  await using second = await client.events();
  await eventually("the first to end", () => first.ended);
  assert.deepEqual(first.events, [{ name: "error", data: { code: "superseded" } }]);
  clock.advance(3_600_000);
  boat.say();
  assert.deepEqual(seqs(await second.atLeast(1)), [1]);
  assert.equal((await client.request("DELETE", "")).status, 204);
  await eventually("the second to end", () => second.ended);
  assert.deepEqual(second.events, [{ name: "error", data: { code: "deleted" } }]);
  assert.equal((await client.problem("DELETE", "")).status, 404);
  await eventually("the places to be given back", async () => await boat.metric(`vbg_streams{kind="session"}`) === 0);
  assert.equal(await boat.metric("vbg_sessions"), 0);
});

Deno.test("sessions and their streams are few: more are a 503 that says when to try again", async () => {
  await using boat = await TestBoat.start({ maxSessions: 2, maxStreams: 1 });
  const [a, b, c] = ["a", "b", "c"].map((id) => new SessionClient(boat.url, { id }));
  await a!.put();
  await b!.put();
  const refused = await c!.request("PUT", "", GOOD);
  assert.deepEqual([refused.status, refused.headers.get("Retry-After")], [503, "5"]);
  await refused.body?.cancel();
  await using stream = await a!.events();
  await eventually("the stream", async () => await boat.metric(`vbg_streams{kind="session"}`) === 1);
  assert.equal((await b!.problem("GET", "/events")).status, 503);
  await stream.close();
  await eventually("the place", async () => {
    const response = await b!.request("GET", "/events");
    await response.body?.cancel();
    return response.status === 200;
  });
  boat.boat.reload({ maxSessions: 3 });
  await c!.put();
});
