import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { StoreError } from "../../src/object_store/mod.ts";
import { eventually } from "../support/eventually.ts";
import { type RawReply, rawRequest, sendRaw } from "../support/raw_http.ts";
import { SseClient } from "../support/sse_client.ts";
import { atRest, ForwardLab, NET, type NodeAnswer, refusingUrl } from "./forward_lab.ts";

const AURORA = "/instances/aurora";
const CHUNK = new Uint8Array(64 * 1024);
/** More than kernels and streams hold together. */
const MANY_CHUNKS = 1000;
const CORS = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "*" };

const readAll: NodeAnswer = async (incoming, reply) => void reply.end(`${incoming.method} ${await text(incoming)}`);

/** Headers apart from those of the connection. */
function headersOf({ headers }: RawReply): [string, string][] {
  const own = ["connection", "date", "keep-alive", "transfer-encoding"];
  return [...headers].filter(([name]) => !own.includes(name));
}

Deno.test("a request arrives at the boat's node as it was sent, with the client's address", NET, async () => {
  const asked: IncomingMessage[] = [];
  await using lab = await ForwardLab.open((incoming, reply) => {
    asked.push(incoming);
    reply.end("there");
  });
  const sent = {
    "Host": "cloud.example:8443",
    "Authorization": "Bearer secret",
    "X-API-Key": "key",
    "Accept-Encoding": "gzip",
    "Last-Event-ID": "17",
  };
  const path = `${AURORA}/history?limit=3&token=a%20b`;
  const headers = { ...sent, "X-Forwarded-For": "10.0.0.1", "X-Forwarded-Proto": "https", "TE": "trailers" };
  assert.equal(await (await rawRequest(lab.url + path, { headers })).text(), "there");
  const [{ method, url, headers: received }] = asked as [IncomingMessage];
  assert.deepEqual([method, url], ["GET", path]);
  const { connection: _connection, ...others } = received;
  const lower = Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]);
  const forwarded = { "x-forwarded-for": "127.0.0.1", "x-forwarded-proto": "http" };
  assert.deepEqual(others, { ...Object.fromEntries(lower), ...forwarded });
});

Deno.test("the client's answer is that of the boat's node: status, headers and bytes", NET, async () => {
  const zipped = gzipSync("x".repeat(10_000));
  const type = { "Content-Type": "application/json", "Vary": ["Origin", "Accept-Encoding"], ...CORS };
  const answers: Record<string, NodeAnswer> = {
    zipped: (_, reply) => void reply.writeHead(200, { ...type, "Content-Encoding": "gzip" }).end(zipped),
    sized: (_, reply) => void reply.writeHead(200, { ...type, "Content-Length": 5 }).end("hello"),
    parts: (_, reply) => void (reply.writeHead(200, type).write("a"), reply.end("b")),
    empty: (_, reply) => void reply.writeHead(200, type).end(),
    none: (_, reply) => void reply.writeHead(204, CORS).end(),
    same: (_, reply) => void reply.writeHead(304, { ETag: `"1"` }).end(),
    missing: (_, reply) => void reply.writeHead(404, { "Content-Type": "application/problem+json" }).end("{}"),
    away: (_, reply) => void reply.writeHead(503, { "Retry-After": 5 }).end("busy"),
  };
  await using lab = await ForwardLab.open((incoming, reply) =>
    answers[incoming.url!.split("/").at(-1)!]!(incoming, reply)
  );
  for (const name of Object.keys(answers)) {
    for (const method of ["GET", "HEAD"]) {
      const path = `${AURORA}/${name}`;
      const [there, here] = [
        await rawRequest(lab.node + path, { method }),
        await rawRequest(lab.url + path, { method }),
      ];
      const what = `${method} ${name}`;
      assert.equal(here.status, there.status, what);
      assert.deepEqual(here.body, there.body, what);
      const known = headersOf(here).filter(([header]) => there.headers.has(header) || header !== "content-length");
      assert.deepEqual(known, headersOf(there), what);
      const length = here.headers.get("Content-Length");
      if (length !== null && method === "GET") assert.equal(Number(length), here.body.length, what);
    }
  }
});

Deno.test("an answer arrives part by part, and waits at its node while the client does not read", NET, async () => {
  let written = 0;
  await using lab = await ForwardLab.open(async (_incoming, reply) => {
    reply.write("first");
    while (written < MANY_CHUNKS && !reply.destroyed) {
      written++;
      if (!reply.write(CHUNK)) await new Promise((resolve) => reply.once("drain", resolve));
    }
    reply.end();
  });
  const socket = await lab.silent(`GET ${AURORA}/history HTTP/1.0\r\nHost: a\r\n\r\n`);
  assert.ok(await atRest("the node", () => written) < MANY_CHUNKS / 2);
  let bytes = 0;
  socket.on("data", (part: Uint8Array) => bytes += part.length).resume();
  await eventually("the rest", () => bytes > MANY_CHUNKS * CHUNK.length);
});

Deno.test("bodies of requests arrive whole, whatever the method, and only as a body", NET, async () => {
  let requests = 0;
  await using lab = await ForwardLab.open((incoming, reply) => {
    requests++;
    void readAll(incoming, reply);
  });
  const url = `${lab.url}${AURORA}/sessions/a`;
  const smuggled = "GET /instances HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const method of ["PUT", "POST", "DELETE"]) {
    assert.equal(await (await rawRequest(url, { method, body: "sized" })).text(), `${method} sized`);
    const body = new Blob([smuggled]).stream();
    assert.equal(await (await fetch(url, { method, body })).text(), `${method} ${smuggled}`);
    assert.equal(await (await rawRequest(url, { method })).text(), `${method} `);
  }
  for (const body of [smuggled, ""]) assert.equal(await (await rawRequest(url, { body })).text(), "GET ");
  assert.equal(requests, 11);
});

Deno.test("a body waits at the client while the boat's node does not read it", NET, async () => {
  const asked = Promise.withResolvers<IncomingMessage>();
  await using lab = await ForwardLab.open(async (incoming, reply) => {
    asked.resolve(incoming);
    let bytes = 0;
    await read.promise;
    for await (const part of incoming) bytes += part.length;
    reply.end(`${bytes}`);
  });
  const read = Promise.withResolvers<void>();
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pulled++ < MANY_CHUNKS) controller.enqueue(CHUNK.slice());
      else controller.close();
    },
  });
  const answer = fetch(`${lab.url}${AURORA}/sessions/a`, { method: "PUT", body });
  await asked.promise;
  assert.ok(await atRest("the client", () => pulled) < MANY_CHUNKS / 2);
  read.resolve();
  assert.equal(await (await answer).text(), `${MANY_CHUNKS * CHUNK.length}`);
});

Deno.test("an answer before the end of the request's body reaches the client", NET, async () => {
  await using lab = await ForwardLab.open((_incoming, reply) => void reply.writeHead(413).end("too long"));
  const headers = { "Content-Length": "1000000" };
  const reply = await rawRequest(`${lab.url}${AURORA}/sessions/a`, { method: "PUT", headers });
  assert.deepEqual([reply.status, await reply.text()], [413, "too long"]);
});

Deno.test("the boat of a path is decoded as routes decode it", NET, async () => {
  await using lab = await ForwardLab.open((incoming, reply) => void reply.end(incoming.url));
  for (const path of ["/instances/%61urora/status", "/%69nstances/aurora/status", "/instances/aurora/a%zz"]) {
    assert.equal(await (await rawRequest(lab.url + path)).text(), path);
  }
});

Deno.test("a node answers itself for other boats and paths, and for OPTIONS", NET, async () => {
  const found: string[] = [];
  await using lab = await ForwardLab.open((_incoming, reply) => void reply.end("there"));
  lab.find = (id) => {
    found.push(id);
    return Promise.resolve(undefined);
  };
  const paths = [
    "/instances/borealis/status",
    "/healthz",
    "/instances/aurora",
    "/instances/%zz/status",
    "/instancesx/aurora/a",
  ];
  for (const path of paths) assert.equal(await (await rawRequest(lab.url + path)).text(), `{"local":"GET"}`);
  await rawRequest(`${lab.url}${AURORA}/status`, { method: "OPTIONS" });
  assert.deepEqual(lab.local, [...paths.map((path) => `GET ${path}`), `OPTIONS ${AURORA}/status`]);
  assert.deepEqual(found, ["borealis"]);
});

Deno.test("an event stream ends when its node is away, or when its node's answer breaks off", NET, async () => {
  let cut = () => {};
  await using lab = await ForwardLab.open((incoming, reply) => {
    reply.writeHead(200, { "Content-Type": "text/event-stream" }).write(": hello\n\n");
    cut = () => incoming.socket.destroy();
  });
  for (const end of [() => lab.away.abort(), () => cut()]) {
    lab.away = new AbortController();
    await using stream = await SseClient.open(`${lab.url}${AURORA}/events`);
    await eventually("the comment", () => stream.comments.length === 1);
    assert.ok(!stream.ended);
    end();
    await eventually("the end", () => stream.ended);
  }
  assert.deepEqual(lab.errors, []);
});

Deno.test("another answer that breaks off is not complete for the client", NET, async () => {
  await using lab = await ForwardLab.open((incoming, reply) => {
    reply.writeHead(200, { "Content-Type": "application/json" }).write("[1,");
    reply.write("2");
    incoming.socket.end();
  });
  await assert.rejects(fetch(`${lab.url}${AURORA}/history`).then((answer) => answer.text()), TypeError);
});

Deno.test("a stream's node sees that its client has left", NET, async () => {
  let closed = 0;
  await using lab = await ForwardLab.open((_incoming, reply) => {
    reply.on("close", () => closed++);
    reply.writeHead(200, { "Content-Type": "text/event-stream" }).write(": hello\n\n");
  });
  const stream = await SseClient.open(`${lab.url}${AURORA}/events`);
  await eventually("the comment", () => stream.comments.length === 1);
  await stream.close();
  await eventually("the node to see it", () => closed === 1);
  assert.deepEqual(lab.lines, []);
});

Deno.test("a client that leaves before the answer ends its request at the boat's node", NET, async () => {
  let [asked, closed] = [0, 0];
  await using lab = await ForwardLab.open((_incoming, reply) => {
    asked++;
    reply.on("close", () => closed++);
  });
  const client = await sendRaw(`${lab.url}${AURORA}/history`);
  await eventually("the request", () => asked === 1);
  client.close();
  await eventually("the node to see it", () => closed === 1);
  assert.deepEqual(lab.lines, []);
});

/** Expects the problem of a boat that cannot be read now. */
async function assertUnread(reply: RawReply, why: string): Promise<void> {
  assert.equal(reply.status, 503);
  assert.equal(reply.headers.get("Content-Type"), "application/problem+json");
  assert.equal(reply.headers.get("Retry-After"), "5");
  assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*");
  assert.equal(JSON.parse(await reply.text()).detail, `The boat "aurora" cannot be read now: ${why}`);
}

Deno.test("a boat whose node does not answer cannot be read now: 503", NET, async () => {
  await using lab = await ForwardLab.open((incoming) => void incoming.socket.destroy());
  const url = `${lab.url}${AURORA}/status`;
  const why = "the node that has it does not answer";
  await assertUnread(await rawRequest(url), why);
  lab.away.abort();
  await assertUnread(await rawRequest(url), why);
  lab.node = await refusingUrl();
  await assertUnread(await rawRequest(url), why);
  // The body of this one never ends.
  await assertUnread(await rawRequest(url, { method: "PUT", headers: { "Content-Length": "5" } }), why);
  assert.equal(lab.lines.filter((line) => /WARN .*request for a boat not answered.*id=aurora/.test(line)).length, 4);
});

Deno.test("a boat that the store does not know for sure cannot be read now: 503", NET, async () => {
  await using lab = await ForwardLab.open();
  lab.find = () => Promise.reject(new StoreError("no connection", { kind: "away" }));
  await assertUnread(await rawRequest(`${lab.url}${AURORA}/status`), "the store does not answer");
  assert.deepEqual(lab.local, []);
});
