import assert from "node:assert/strict";
import { maySend, mayUseSession } from "../../src/http/origin.ts";
import { GuardedServer } from "./auth_server.ts";

const LISTED = ["https://chart.example.com", "chrome-extension://abcdef"];

/** [what, headers, whether the page may send] */
const TABLE: [what: string, headers: Record<string, string>, allowed: boolean][] = [
  ["no browser", { Host: "boat.example.com" }, true],
  ["no browser and no host", {}, true],
  ["the same address", { Host: "192.168.1.5:8089", Origin: "http://192.168.1.5:8089" }, true],
  ["the same IPv6 address", { Host: "[fe80::1]:8089", Origin: "http://[fe80::1]:8089" }, true],
  ["the same local name", { Host: "boat.local:8089", Origin: "http://boat.local:8089" }, true],
  ["localhost", { Host: "localhost:8089", Origin: "http://localhost:8089" }, true],
  ["a name under localhost", { Host: "a.localhost:8089", Origin: "http://a.localhost:8089" }, true],
  ["a name without dots", { Host: "boat", Origin: "http://boat" }, true],
  ["the standard port, written and not", { Host: "boat:443", Origin: "https://boat" }, true],
  ["a name in capitals", { Host: "BOAT.local", Origin: "http://boat.local" }, true],
  ["a listed page", { Host: "boat:8089", Origin: "https://chart.example.com" }, true],
  ["a listed page, in capitals", { Host: "boat:8089", Origin: "HTTPS://Chart.Example.com" }, true],
  ["a listed extension", { Host: "boat:8089", Origin: "chrome-extension://abcdef" }, true],
  ["a listed page on another site", {
    Host: "boat:8089",
    Origin: "https://chart.example.com",
    "Sec-Fetch-Site": "cross-site",
  }, true],
  ["an address typed in", { Host: "boat:8089", "Sec-Fetch-Site": "none" }, true],
  ["our own page, without an origin", { Host: "boat:8089", "Sec-Fetch-Site": "same-origin" }, true],
  ["another site", { Host: "boat:8089", Origin: "https://evil.example" }, false],
  ["another port", { Host: "localhost:8089", Origin: "http://localhost:3000" }, false],
  ["another name of this machine", { Host: "127.0.0.1:8089", Origin: "http://localhost:8089" }, false],
  ["another address of this machine", { Host: "127.0.0.1:8089", Origin: "http://127.0.0.2:8089" }, false],
  ["a public name that points here", { Host: "evil.example:8089", Origin: "http://evil.example:8089" }, false],
  ["the same with a dot at its end", { Host: "evil.example.", Origin: "http://evil.example." }, false],
  [
    "a name that only looks like an address",
    { Host: "127.0.0.1.evil.com", Origin: "http://127.0.0.1.evil.com" },
    false,
  ],
  [
    "a name that only begins with localhost",
    { Host: "localhost.evil.com", Origin: "http://localhost.evil.com" },
    false,
  ],
  ["a name that only ends like local", { Host: "a.notlocal", Origin: "http://a.notlocal" }, false],
  ["a page without an origin of its own", { Host: "boat:8089", Origin: "null" }, false],
  ["a file", { Host: "boat:8089", Origin: "file://" }, false],
  ["two origins", { Host: "boat", Origin: "http://boat, http://evil.example" }, false],
  ["an origin with a path", { Host: "boat", Origin: "http://boat/" }, false],
  ["an origin with a name in it", { Host: "boat", Origin: "http://evil@boat" }, false],
  ["an empty origin", { Host: "boat", Origin: "" }, false],
  ["no host", { Origin: "http://boat" }, false],
  ["a host that is none", { Host: "a b", Origin: "http://boat" }, false],
  ["an origin under a listed one", { Host: "boat", Origin: "https://chart.example.com.evil.com" }, false],
  ["a listed host by another scheme", { Host: "boat", Origin: "http://chart.example.com" }, false],
  ["another extension", { Host: "boat", Origin: "chrome-extension://evil" }, false],
  ["another server on the standard port of another scheme", {
    Host: "boat.local",
    Origin: "http://boat.local",
    "Sec-Fetch-Site": "cross-site",
  }, false],
  ["our own page, which the browser knows to be it", {
    Host: "boat.local",
    Origin: "http://boat.local",
    "Sec-Fetch-Site": "same-origin",
  }, true],
  ["another site that hides its origin", { Host: "boat:8089", "Sec-Fetch-Site": "cross-site" }, false],
  ["another port that hides its origin", { Host: "boat:8089", "Sec-Fetch-Site": "same-site" }, false],
];

for (const [what, headers, allowed] of TABLE) {
  Deno.test(`a request from ${what} may ${allowed ? "" : "not "}send`, () => {
    assert.equal(maySend(new Headers(headers), LISTED), allowed);
    assert.equal(maySend(new Headers(headers), ["*"]), true, "all pages are allowed");
  });
}

/** Ways of a page to have a body sent. */
const ATTACKS: [what: string, headers: Record<string, string>][] = [
  ["a form", { "Content-Type": "text/plain", "Sec-Fetch-Mode": "navigate" }],
  ["a form in an empty frame", { Origin: "null", "Content-Type": "application/x-www-form-urlencoded" }],
  ["fetch without a question before", { "Content-Type": "text/plain;charset=UTF-8", "Sec-Fetch-Mode": "no-cors" }],
  ["fetch with a question before", { "Content-Type": "application/json", "Sec-Fetch-Mode": "cors" }],
  ["a beacon", { "Content-Type": "text/plain;charset=UTF-8", "Sec-Fetch-Dest": "empty" }],
  ["a name that was pointed here", { Host: "evil.example", Origin: "http://evil.example" }],
];

Deno.test("a page of another origin can read and cannot send, whatever way it takes", async (t) => {
  await using server = await GuardedServer.start();
  for (const [what, headers] of ATTACKS) {
    const foreign = { Origin: "http://evil.example", ...headers };
    await t.step(what, async () => {
      const reply = await server.raw("/who/send", { method: "POST", headers: foreign });
      assert.equal(reply.status, 403);
      assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*");
      const { detail } = JSON.parse(await reply.text());
      assert.equal(detail, "send from another origin is not allowed: see -allow-origins");
      assert.equal((await server.raw("/devices", { headers: foreign })).status, 200);
      assert.equal((await server.raw("/who/send", { method: "OPTIONS", headers: foreign })).status, 204);
    });
  }
  assert.deepEqual(server.asked, []);
  assert.equal(server.access.failures.origin, ATTACKS.length);
});

Deno.test("a listed origin may send, and a list that is read again counts at once", async () => {
  await using server = await GuardedServer.start({ allowOrigins: ["https://chart.example.com"] });
  const send = (origin: string) =>
    fetch(`${server.url}/who/send`, { method: "POST", body: "1", headers: { Origin: origin } });
  assert.equal((await (await send("https://chart.example.com")).json()).originAllowed, true);
  server.access.reload({ allowOrigins: [] });
  assert.equal((await (await send("https://chart.example.com")).json()).status, 403);
  assert.equal((await send(server.url)).status, 200, "our own page");
});

const BROWSER = { "User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0" };

/** [what, headers of a GET, whether it may use a session over plain HTTP, and over TLS alone] */
const SESSION_TABLE: [what: string, headers: Record<string, string>, plain: boolean, tls: boolean][] = [
  ["a program that uses an address", { Host: "192.168.1.5:8089" }, true, true],
  ["a program that uses a local name", { Host: "boat.local:8089", "User-Agent": "curl/8" }, true, true],
  ["a program without a host", {}, true, true],
  ["a program that uses a public name", { Host: "boat.example.com", "User-Agent": "curl/8" }, false, true],
  ["a program that uses a listed name", { Host: "chart.example.com" }, true, true],
  ["a program that uses a listed name, with the port written", { Host: "chart.example.com:443" }, true, true],
  ["a listed name at another port", { Host: "chart.example.com:8089" }, false, true],
  ["a public name that points here", { ...BROWSER, Host: "evil.example:8089" }, false, false],
  [
    "the same with itself as the page",
    { ...BROWSER, Host: "evil.example", Referer: "http://evil.example/" },
    false,
    false,
  ],
  ["a host that is none", { Host: "a b" }, false, true],
  ["our own page", { ...BROWSER, Host: "boat.local", Referer: "http://boat.local/map" }, true, true],
  ["an image on another page", { ...BROWSER, Host: "boat.local", Referer: "http://evil.example/" }, false, false],
  ["an image on a page that hides itself", { ...BROWSER, Host: "boat.local" }, false, false],
  ["an image on a listed page", { ...BROWSER, Host: "boat.local", Referer: "https://chart.example.com/" }, true, true],
  [
    "our own page, by the browser's word",
    { ...BROWSER, Host: "boat:8089", "Sec-Fetch-Site": "same-origin" },
    true,
    true,
  ],
  [
    "another site, by the browser's word",
    { ...BROWSER, Host: "boat:8089", "Sec-Fetch-Site": "cross-site" },
    false,
    false,
  ],
  ["a program that says it is no page", { Host: "boat.example.com", "Sec-Fetch-Site": "none" }, true, true],
  ["another origin", { Host: "boat.local", Origin: "http://evil.example" }, false, false],
  ["a listed origin", { Host: "boat.local", Origin: "https://chart.example.com" }, true, true],
];

for (const [what, headers, plain, tls] of SESSION_TABLE) {
  Deno.test(`a GET of a session by ${what} may ${plain ? "" : "not "}pass, and over TLS may ${tls ? "" : "not "}`, () => {
    const request = { method: "GET", headers: new Headers(headers) };
    assert.equal(mayUseSession(request, { allowOrigins: LISTED, isOverTls: false }), plain);
    assert.equal(mayUseSession(request, { allowOrigins: LISTED, isOverTls: true }), tls);
    assert.equal(mayUseSession(request, { allowOrigins: ["*"], isOverTls: false }), true, "all pages are allowed");
  });
}

Deno.test("what changes a session follows the rule of sending: there a browser always names its origin", () => {
  for (const [what, headers, allowed] of TABLE) {
    for (const method of ["PUT", "DELETE"]) {
      const request = { method, headers: new Headers(headers) };
      assert.equal(mayUseSession(request, { allowOrigins: LISTED, isOverTls: false }), allowed, `${method} by ${what}`);
    }
  }
});
