// Requests that are cheap to make and costly to answer: what one of them costs is bounded.
import assert from "node:assert/strict";
import type { z } from "zod";
import { readBody, sessionBody } from "../../src/http/bodies.ts";
import { historyQuery } from "../../src/http/history/query.ts";
import { HistoryTurns, MAX_WAITING_HISTORIES } from "../../src/http/history/turns.ts";
import { eventsQuery, filterQuery, MAX_LIST_ENTRIES, streamQuery } from "../../src/http/params.ts";
import { queryBody, sendBody } from "../../src/http/send/body.ts";
import { silentLogger, StallDetector } from "../../src/base/mod.ts";
import { Connections, listen } from "../../src/listen/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { inFolder } from "../support/folder.ts";
import { TestApi, TestJournal } from "../support/history.ts";
import { message } from "../support/messages.ts";
import { needs } from "../support/needs.ts";
import { rawRequest, sendRaw } from "../support/raw_http.ts";

const DISK = needs({ permissions: ["read", "write"] });
const FROM = "from=2026-01-02T03:04:05Z";
/** Entries of a list in a body of 62 KB. */
const MANY = 31_000;
/** Faults of one entry, of each of its forms. */
const MAX_ISSUES = 32;

/** Faults that a check has gathered, those of the forms of a value included. */
function countIssues(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => {
    const inner = issue.code === "invalid_union" ? issue.errors.map(countIssues).reduce((a, b) => a + b, 0) : 0;
    return sum + 1 + inner;
  }, 0);
}

const FILTER_LISTS = ["pgn", "exclude_pgn", "manufacturer", "instance", "name", "exclude_name", "bus"];
const WRONG = [-1, "", null, {}, [], true];
const bodies: { name: string; schema: z.ZodType; bodyOf: (entries: unknown[]) => unknown }[] = [
  { name: "messages", schema: sendBody, bodyOf: (entries) => entries },
  ...FILTER_LISTS.map((field) => ({
    name: field,
    schema: sessionBody,
    bodyOf: (entries: unknown[]) => ({ buffer_timeout: "PT5M", filter: { [field]: entries } }),
  })),
];

for (const { name, schema, bodyOf } of bodies) {
  Deno.test(`a body whose list of ${name} is long or wrong throughout costs the check of one entry`, () => {
    for (const wrong of WRONG) {
      for (const entries of [2, MAX_LIST_ENTRIES, MANY]) {
        const result = schema.safeParse(bodyOf(Array(entries).fill(wrong)));
        assert.equal(result.success, false);
        assert.ok(countIssues(result.error!.issues) <= MAX_ISSUES, `${entries} of ${JSON.stringify(wrong)}`);
      }
    }
  });
}

Deno.test("entries behind the longest list that is taken are not looked at", () => {
  let looks = 0;
  const watched = Array.from({ length: MANY }, () => ({
    get pgn() {
      looks++;
      return -1;
    },
  }));
  assert.equal(sendBody.safeParse(watched).success, false);
  assert.equal(looks, 0);
});

Deno.test("a body with 62 KB of fields that nobody knows is refused by the first", async () => {
  const text = JSON.stringify(Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`key${i}`, 1])));
  for (const schema of [sendBody, queryBody, sessionBody]) {
    const request = new Request("http://boat", { method: "POST", body: text });
    await assert.rejects(readBody(request, schema, { maxBytes: 65_536, timeoutMs: 1000 }), (error: Error) => {
      return error.message.length < 200;
    });
  }
});

for (const [name, schema] of Object.entries({ filterQuery, streamQuery, eventsQuery, historyQuery })) {
  Deno.test(`a query string takes at most ${MAX_LIST_ENTRIES} values of each parameter: ${name}`, () => {
    for (const parameter of Object.keys(schema.shape)) {
      const raw = { from: ["2026-01-02T03:04:05Z"], [parameter]: Array(MANY).fill("?") };
      const result = schema.safeParse(raw);
      assert.ok(!result.success && countIssues(result.error.issues) <= MAX_ISSUES, parameter);
    }
    const result = schema.safeParse({ from: ["2026-01-02T03:04:05Z"], pgn: Array(MAX_LIST_ENTRIES + 1).fill("1") });
    assert.match(result.error?.issues[0]?.message ?? "", /at most 256 entries/);
  });
}

Deno.test("a session whose filter has 256 entries is made, and one with 257 is refused with the name of the list", async () => {
  await using boat = await TestBoat.start();
  const put = async (length: number) => {
    const pgn = Array.from({ length }, (_, i) => i);
    const body = JSON.stringify({ buffer_timeout: "PT5M", filter: { pgn } });
    const response = await fetch(`${boat.url}/clients/x`, { method: "PUT", body });
    return [response.status, (await response.json()).field];
  };
  assert.deepEqual(await put(256), [200, undefined]);
  assert.deepEqual(await put(257), [400, "filter.pgn"]);
});

/** A request whose client may go. */
function asked() {
  const client = new AbortController();
  return { signal: client.signal, go: () => client.abort() };
}

Deno.test("histories are answered so many at once, and those that wait in the order in which they came", async () => {
  const turns = new HistoryTurns(() => 2);
  const order: number[] = [];
  const take = async (id: number) => {
    const end = await turns.take(asked());
    order.push(id);
    return end;
  };
  const ends = [await take(0), await take(1)];
  const later = [2, 3, 4].map(take);
  await pause();
  assert.deepEqual([order, turns.running, turns.waiting], [[0, 1], 2, 3]);
  ends[1]!();
  ends[1]!();
  const third = await later[0]!;
  assert.deepEqual([order, turns.running, turns.waiting], [[0, 1, 2], 2, 2]);
  ends[0]!();
  third();
  for (const each of await Promise.all(later.slice(1))) each();
  assert.deepEqual([order, turns.running, turns.waiting], [[0, 1, 2, 3, 4], 0, 0]);
});

Deno.test("a history whose client goes leaves the queue, and one that finds the queue full is refused with 503", async () => {
  const turns = new HistoryTurns(() => 1);
  const end = await turns.take(asked());
  const clients = Array.from({ length: MAX_WAITING_HISTORIES }, asked);
  const waiting = clients.map((client) => turns.take(client).catch((error: Error) => error));
  await assert.rejects(turns.take(asked()), { status: 503, headers: { "Retry-After": "5" } });
  for (const client of clients.slice(1)) client.go();
  assert.equal(turns.waiting, 1);
  end();
  const first = await waiting[0]!;
  assert.ok(typeof first === "function");
  first();
  assert.deepEqual([turns.running, turns.waiting], [0, 0]);
});

Deno.test("a history that is waited for begins when the limit is raised and another ends", async () => {
  let most = 1;
  const turns = new HistoryTurns(() => most);
  const end = await turns.take(asked());
  const waiting = [turns.take(asked()), turns.take(asked())];
  most = 2;
  end();
  for (const each of await Promise.all(waiting)) each();
  assert.equal(turns.running, 0);
});

Deno.test(
  "requests for history end their turns when they are read, cancelled, or not read",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      journal.append(1, Array.from({ length: 2000 }, (_, i) => message({ monoMs: i })));
      await journal.writer.sync();
      const histories = new HistoryTurns(() => 2);
      const api = new TestApi({ index: journal.index, histories });
      const path = `/history?${FROM}&to=2026-01-02T04:04:05Z`;
      const [read, cancelled] = [await api.fetch(path), await api.fetch(path)];
      const third = api.fetch(path);
      await eventually("a third that waits", () => histories.waiting === 1);
      assert.equal((await read.json()).length, 2000);
      assert.equal((await (await third).json()).length, 2000);
      await cancelled.body?.cancel();
      assert.deepEqual([histories.running, histories.waiting], [0, 0]);

      const impatient = new HistoryTurns(() => 1, { idleMs: 1 });
      const unread = await new TestApi({ index: journal.index, histories: impatient }).fetch(path);
      await eventually("the one that is not read to be given up", () => impatient.running === 0);
      await assert.rejects(unread.text());
    }),
);

Deno.test(
  "a request for history whose connection ends leaves the queue, and one too many is refused",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using journal = await TestJournal.open(folder);
      const histories = new HistoryTurns(() => 1);
      const api = new TestApi({ index: journal.index, histories });
      const stall = new StallDetector(silentLogger);
      const connections = new Connections();
      const listener = await listen({ hostname: "127.0.0.1", port: 0 }, {
        handler: api.handle,
        stall,
        connections,
        log: silentLogger,
      });
      const url = `http://127.0.0.1:${listener.address.port}/history?${FROM}`;
      const end = await histories.take(asked());
      const waiting = await Promise.all(Array.from({ length: MAX_WAITING_HISTORIES }, () => sendRaw(url)));
      await eventually("the queue to be full", () => histories.waiting === MAX_WAITING_HISTORIES);
      const { status, headers } = await rawRequest(url);
      assert.deepEqual([status, headers.get("Retry-After")], [503, "5"]);
      for (const each of waiting) each.close();
      await eventually("the queue to be empty", () => histories.waiting === 0);
      end();
      assert.equal((await rawRequest(url)).status, 200);
      await eventually("no turn to be kept", () => histories.running === 0);
      await listener.stop();
      stall.stop();
    }),
);
