import assert from "node:assert/strict";
import { Logger } from "../../src/base/mod.ts";
import { route, serveRoutes } from "../../src/http/mod.ts";
import { noQuery } from "../../src/http/params.ts";

const REPLIES = {};

Deno.test("a request that fails by our fault is a 500 that tells nothing of the inside, and is logged with it", async () => {
  const lines: string[] = [];
  const failing = (path: string, error: unknown) =>
    route({
      path,
      summary: "Fails",
      query: noQuery,
      replies: REPLIES,
      answer: () => {
        throw error;
      },
    });
  const handler = serveRoutes([failing("/sync", new TypeError("secret of /etc/boat.ts"))], {
    title: "Test",
    version: "1.0.0",
    log: new Logger({ write: (line) => lines.push(line) }),
  });
  const response = await handler(new Request("http://boat/sync?key=hidden"));
  assert.equal(response.status, 500);
  assert.equal(response.headers.get("Content-Type"), "application/problem+json");
  assert.equal(response.headers.get("Access-Control-Allow-Origin"), "*");
  assert.deepEqual(await response.json(), {
    type: "about:blank",
    title: "Internal Server Error",
    status: 500,
    detail: "The server failed to answer this request",
  });
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /ERROR request failed method=GET path=\/sync error=.*secret of \/etc\/boat\.ts/);
  assert.doesNotMatch(lines[0] ?? "", /hidden/, "no query string, which may carry a token");
});

Deno.test("a request that is the client's fault is not logged", async () => {
  const lines: string[] = [];
  const log = new Logger({ level: "debug", write: (line) => lines.push(line) });
  const handler = serveRoutes([], { title: "Test", version: "1.0.0", log });
  assert.equal((await handler(new Request("http://boat/nowhere"))).status, 404);
  assert.deepEqual(lines, []);
});
