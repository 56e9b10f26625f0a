import assert from "node:assert/strict";
import { acceptsGzip } from "../../src/http/reply.ts";
import { TestBoat } from "../support/boat.ts";

const BODIES: [path: string, method: string][] = [
  ["/devices", "GET"],
  ["/values", "GET"],
  ["/values/decoded", "GET"],
  ["/pgns", "GET"],
  ["/pgns/129025", "GET"],
  ["/livez", "GET"],
  ["/healthz", "GET"],
  ["/metrics", "GET"],
  ["/openapi.json", "GET"],
  ["/nowhere", "GET"],
  ["/values?pgn=x", "GET"],
  ["/ws", "GET"],
  ["/devices", "POST"],
];
const GZIP = { headers: { "Accept-Encoding": "gzip" } };

Deno.test("every body that is no stream is gzip when asked for, tiny ones and errors too", async () => {
  await using boat = await TestBoat.start();
  for (const [path, method] of BODIES) {
    const plain = await boat.raw(path, { method });
    assert.equal(plain.headers.get("Content-Encoding"), null);
    assert.equal(plain.headers.get("Vary"), "Accept-Encoding", path);
    const packed = await boat.raw(path, { ...GZIP, method });
    assert.equal(packed.status, plain.status);
    assert.equal(packed.headers.get("Content-Encoding"), "gzip", `${method} ${path}`);
    assert.equal(packed.headers.get("Vary"), "Accept-Encoding");
    assert.equal(packed.headers.get("Content-Type"), plain.headers.get("Content-Type"));
    if (path !== "/metrics" && path !== "/healthz") assert.equal(await packed.text(), await plain.text());
  }
});

Deno.test("nothing is compressed where there is no body or a stream", async () => {
  await using boat = await TestBoat.start();
  const options = await boat.raw("/devices", { ...GZIP, method: "OPTIONS" });
  assert.equal(options.headers.get("Content-Encoding"), null);
  assert.equal(options.body.length, 0);
  const head = await boat.raw("/devices", { ...GZIP, method: "HEAD" });
  assert.equal(head.body.length, 0);
  assert.equal(head.headers.get("Vary"), "Accept-Encoding");
  const stream = await boat.raw("/events", { ...GZIP, method: "HEAD" });
  assert.equal(stream.headers.get("Content-Encoding"), null);
  await using events = await boat.events();
  assert.equal(events.response.headers.get("Content-Encoding"), null);
  boat.say();
  await events.atLeast(1);
});

const ACCEPT: [header: string, taken: boolean][] = [
  ["", false],
  ["gzip", true],
  ["GZIP", true],
  ["gzip;q=0", false],
  ["gzip;q=0.000", false],
  ["gzip; q=0.001", true],
  ["gzip ; Q=0", false],
  ["deflate, br", false],
  ["deflate, gzip;q=1.0, *;q=0.5", true],
  ["*", true],
  ["*;q=0", false],
  ["gzip;q=0, *", false],
  ["*;q=0, gzip", true],
  ["identity;q=0", false],
  ["br;q=1, identity", false],
  ["gzipped", false],
  ["x-gzip", true],
  ["gzip;q=zero", false],
];

Deno.test("Accept-Encoding is read as RFC 9110 says", async () => {
  for (const [header, taken] of ACCEPT) assert.equal(acceptsGzip(header), taken, header);
  await using boat = await TestBoat.start();
  for (const [header, taken] of ACCEPT) {
    const reply = await boat.raw("/livez", { headers: { "Accept-Encoding": header } });
    assert.equal(reply.headers.get("Content-Encoding") === "gzip", taken, header);
    assert.equal(await reply.text(), `{"status":"ok"}`);
  }
});
