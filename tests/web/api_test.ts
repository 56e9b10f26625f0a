import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { needs } from "../support/needs.ts";
import {
  addressOf,
  type ApiDocument,
  canTry,
  curlOf,
  operationsOf,
  schemaText,
  searchOperations,
} from "../../web/views/api/operations.ts";
import { firstPart, MAX_REPLY_BYTES } from "../../web/views/api/first_part.ts";

const NET = needs({ permissions: ["net"] });

Deno.test("every operation of the server is listed once, and those that only read can be tried", NET, async () => {
  await using boat = await TestBoat.start();
  const document = await boat.get<ApiDocument>("/openapi.json");
  const all = operationsOf(document);
  const expected = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`)
  );
  assert.deepEqual(all.map(({ id }) => id).sort(), expected.sort());
  const tried = new Set(all.filter(canTry).map(({ id }) => id));
  assert.ok(tried.has("get /series") && tried.has("get /events"));
  for (const id of ["post /send", "get /ws", "delete /clients/{clientId}", "get /clients/{clientId}/events"]) {
    assert.equal(tried.has(id), false, id);
  }
  assert.deepEqual(searchOperations("points", all).map(({ id }) => id), ["get /series"]);
});

Deno.test("an address has path and query, a command line is one for a shell", () => {
  const [series] = operationsOf({
    info: { title: "", version: "" },
    paths: {
      "/a/{id}/series": {
        get: {
          security: [{}, { bearer: [] }],
          parameters: [
            { name: "id", in: "path", required: true },
            { name: "field", in: "query", required: true, schema: { type: "array", items: { type: "string" } } },
            { name: "from", in: "query", required: true, schema: { example: "it's" } },
            { name: "to", in: "query" },
          ],
        },
      },
    },
  });
  assert.ok(series);
  const values = new Map([["id", "a/b"], ["field", "1.x, 2.y"]]);
  assert.equal(addressOf(series, values), "/a/a%2Fb/series?field=1.x&field=2.y");
  assert.equal(
    curlOf(series, { origin: "http://boat", values, hasToken: true }),
    `curl -H "Authorization: Bearer $TOKEN" 'http://boat/a/a%2Fb/series?field=1.x&field=2.y&from=it%27s'`,
  );
});

Deno.test("types are told with their limits and defaults", () => {
  assert.equal(schemaText({ type: "integer", minimum: 0, maximum: 255, default: 7 }), "integer, 0 to 255, default 7");
  assert.equal(
    schemaText({ type: "array", items: { type: "string", minLength: 1 }, minItems: 0, maxItems: 9 }),
    [
      ...["list of string", "at least 1 characters", "at most 9 items"],
    ].join(", "),
  );
  assert.equal(schemaText({ anyOf: [{ $ref: "#/components/schemas/Frame" }, { type: "null" }] }), "Frame | null");
  assert.equal(schemaText({ type: "string", enum: ["a", "b"] }), '"a" | "b"');
});

Deno.test("of a large reply the first bytes are shown; a short one is shown whole", async () => {
  const replyOf = (text: string, type: string) => () =>
    Promise.resolve(new Response(text, { headers: { "Content-Type": type } }));
  const short = await firstPart(replyOf('{"a":1}', "application/json"));
  assert.deepEqual(short, { status: "200", text: '{\n  "a": 1\n}', note: "7 bytes" });
  const long = await firstPart(replyOf("x".repeat(100_000), "text/plain"));
  assert.deepEqual([long.text.length, long.note], [MAX_REPLY_BYTES, `the first ${MAX_REPLY_BYTES} bytes`]);
  const endless = new ReadableStream<Uint8Array>({
    start: (stream) => stream.enqueue(new TextEncoder().encode("event: a\n")),
  });
  const begun = await firstPart(() => Promise.resolve(new Response(endless)), { readMs: 50 });
  assert.deepEqual([begun.text, begun.note], ["event: a\n", "the first 9 bytes"]);
});
