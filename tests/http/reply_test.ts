import assert from "node:assert/strict";
import { jsonList, slices } from "../../src/http/reply.ts";
import { Logger } from "../../src/base/mod.ts";
import { route, serveRoutes } from "../../src/http/mod.ts";
import { noQuery } from "../../src/http/params.ts";
import { networkOf } from "../../src/http/origin.ts";

const ITEMS = 40;

Deno.test("a list whose items take long to make lets other work have its turn, even when read all at once", async () => {
  let made = 0;
  function* slowly(): Generator<number> {
    while (made < ITEMS) {
      const readyMs = performance.now() + 1;
      while (performance.now() < readyMs);
      yield made++;
    }
  }
  const reading = jsonList(slowly()).json();
  const madeBefore = await new Promise<number>((resolve) => setTimeout(() => resolve(made)));
  assert.ok(madeBefore < ITEMS / 2, `${madeBefore} of ${ITEMS} were made before a timer had its turn`);
  assert.deepEqual(await reading, Array.from({ length: ITEMS }, (_, index) => index));
});

Deno.test("a list of nothing is an empty list", async () => {
  assert.deepEqual(await jsonList([]).json(), []);
});

Deno.test("a list is as it was given, however many slices it takes", async () => {
  const items = Array.from({ length: 20_000 }, (_, index) => ({ index, text: `"${index}"` }));
  assert.deepEqual(await jsonList(items).json(), items);
});

Deno.test("a list can be a member of an object, with something in it and with nothing", async () => {
  assert.equal(await jsonList([1, "2"], { member: "boats" }).text(), `{"boats":[1,"2"]}`);
  assert.equal(await jsonList([], { member: "boats" }).text(), `{"boats":[]}`);
});

Deno.test("texts that are empty are work, not the end: other work has its turn, and the body is whole", async () => {
  let made = 0;
  function* slowly(): Generator<string> {
    for (; made < ITEMS; made++) {
      const readyMs = performance.now() + 1;
      while (performance.now() < readyMs);
      yield "";
    }
    yield "done";
  }
  const reading = new Response(slices(slowly())).text();
  const madeBefore = await new Promise<number>((resolve) => setTimeout(() => resolve(made)));
  assert.ok(madeBefore < ITEMS / 2, `${madeBefore} of ${ITEMS} were made before a timer had its turn`);
  assert.equal(await reading, "done");
});

Deno.test("whoever takes no more of a body ends what makes it", async () => {
  let ended = false;
  function* endless(): Generator<string> {
    try {
      for (;;) yield "x".repeat(1000);
    } finally {
      ended = true;
    }
  }
  const reader = slices(endless()).getReader();
  await reader.read();
  await reader.cancel();
  assert.ok(ended);
});

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

/** [address, network] */
const TABLE: [address: string, network: string][] = [
  ["192.0.2.7", "192.0.2.7"],
  ["", ""],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:db8:1:2::9", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002:ffff::", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["fe80::1%eth0", "fe80::1"],
  ["fe80::2", "fe80::2"],
];

Deno.test("an IPv4 address counts by itself, an IPv6 address by its /64, one of the link by itself", () => {
  for (const [address, network] of TABLE) assert.equal(networkOf(address), network, address);
});
