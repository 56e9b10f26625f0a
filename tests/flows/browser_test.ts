import assert from "node:assert/strict";
import { Browser, hasPlaywright, type Page } from "../support/browser.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { needs, SLOW } from "../support/needs.ts";

const BROWSER = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: ["chromium"],
  others: { 'npm package "playwright-core"': hasPlaywright() },
  extras: SLOW,
});

/** A public name that somebody has pointed at the boat. */
const REBOUND = "boat.evil.example";
const FOREIGN = "send from another origin is not allowed";

const PAYLOAD = "00ffffff7fff7ffd";

/** What no server knows: its refusal comes behind all others. */
const LAST = "last";
const NOTHING_ELSE = `unknown message type "${LAST}"`;

/** What a page does. Each gives what it has seen. */
const PAGE_SCRIPT = `
  const once = (target, name) => new Promise((resolve) => target.addEventListener(name, resolve, { once: true }));
  const BODY = JSON.stringify({ pgn: 127250, data: "${PAYLOAD}" });
  window.ways = {
    events: async (url) => {
      const events = new EventSource(url + "/events");
      const { data } = await once(events, "message");
      events.close();
      return JSON.parse(data).pgn;
    },
    devices: async (url) => (await fetch(url + "/devices")).status,
    json: async (url, path) => {
      const headers = { "Content-Type": "application/json", "X-API-Key": "any" };
      const reply = await fetch(url + path, { method: "POST", body: BODY, headers });
      return reply.status + " " + (await reply.text());
    },
    plain: async (url, path) => {
      const reply = await fetch(url + path, { method: "POST", body: BODY });
      return reply.status + " " + (await reply.text());
    },
    blind: async (url, path) => (await fetch(url + path, { method: "POST", mode: "no-cors", body: BODY })).type,
    beacon: async (url, path) => navigator.sendBeacon(url + path, BODY),
    form: async (url, path) => {
      const frame = document.body.appendChild(document.createElement("iframe"));
      frame.name = "target";
      const form = document.body.appendChild(document.createElement("form"));
      Object.assign(form, { action: url + path, method: "post", enctype: "text/plain", target: "target" });
      const field = form.appendChild(document.createElement("input"));
      Object.assign(field, { name: '{"pgn":127250,"data":"00', value: '"}' });
      form.submit();
    },
    sandboxed: async (url, path) => {
      const frame = document.createElement("iframe");
      frame.sandbox = "allow-scripts";
      const request = "fetch(" + JSON.stringify(url + path) + ", { method: 'POST', body: '{}' })";
      frame.srcdoc = "<script>" + request + ".then((reply) => parent.postMessage(reply.status, '*'))</" + "script>";
      document.body.append(frame);
      return (await once(window, "message")).data;
    },
    socket: async (url) => {
      const socket = new WebSocket(url.replace("http", "ws") + "/ws");
      const first = (type) => new Promise((resolve) => {
        socket.addEventListener("message", ({ data }) => {
          const envelope = JSON.parse(data);
          if (envelope.type === type) resolve(envelope.data);
        });
      });
      const [frame, error] = [first("frame"), first("error")];
      await once(socket, "open");
      await frame;
      socket.send(JSON.stringify({ type: "send", data: JSON.parse(BODY) }));
      socket.send(JSON.stringify({ type: "${LAST}" }));
      const answer = await error;
      socket.close();
      return answer;
    },
  };
`;

/** Opens an address and gives the page its ways. */
async function visit(page: Page, url: string): Promise<(way: string, ...args: string[]) => Promise<unknown>> {
  await page.goto(url);
  await page.evaluate(PAGE_SCRIPT);
  return (way, ...args) => page.evaluate(`ways.${way}(${args.map((each) => JSON.stringify(each)).join(", ")})`);
}

/** Lets frames come in while something is waited for. */
async function underWay<T>(boat: TestBoat, work: Promise<T>): Promise<T> {
  let done = false;
  const end = work.finally(() => done = true);
  while (!done) {
    boat.say({ pgn: 127250 });
    await Promise.race([end, pause(10)]);
  }
  return await end;
}

/** A web server of somebody else, on all addresses of this machine. */
function somebodyElse(): Deno.HttpServer<Deno.NetAddr> {
  const headers = { "Content-Type": "text/html" };
  return Deno.serve(
    { hostname: "0.0.0.0", port: 0, onListen: () => {} },
    () => new Response("<!doctype html><body>", { headers }),
  );
}

/** Attempts of pages of other origins to send that the boat has refused. */
async function refused(boat: TestBoat): Promise<number> {
  return await boat.metric('vbg_auth_failures_total{reason="origin"}') ?? 0;
}

/** What clients have had sent. */
function sent(boat: TestBoat): string[] {
  return boat.heard.flat().filter(({ src }) => src === DEFAULT_SOURCE).map(({ data }) => data);
}

const DEFAULT_SOURCE = 254;
const PATHS = ["/send", "/query"];

Deno.test("in a real browser, pages of other origins can read and cannot send", BROWSER, async (t) => {
  await using boat = await TestBoat.start({ sendEnabled: true });
  const other = somebodyElse();
  try {
    await using browser = await Browser.start({ hosts: [REBOUND] });
    const { port } = other.addr;
    const own = new URL(boat.url).port;
    const page = await browser.newPage();
    const origins = [
      ["another port", `http://127.0.0.1:${port}`, boat.url],
      ["another address", `http://127.0.0.2:${port}`, boat.url],
      ["another name", `http://a.localhost:${port}`, boat.url],
      ["a public name that points at the boat", `http://${REBOUND}:${own}/livez`, `http://${REBOUND}:${own}`],
    ] as const;
    for (const [what, origin, target] of origins) {
      await t.step(what, async () => {
        const go = await visit(page, origin);
        assert.equal(await underWay(boat, go("events", target)), 127250);
        assert.equal(await go("devices", target), 200);
        for (const path of PATHS) await cannotSend(boat, (way) => go(way, target, path));
        assert.equal(await underWay(boat, go("socket", target)), FOREIGN);
        assert.deepEqual(sent(boat), []);
      });
    }
  } finally {
    await other.shutdown();
  }
});

async function cannotSend(boat: TestBoat, go: (way: string) => Promise<unknown>): Promise<void> {
  for (const way of ["json", "plain"]) {
    const answer = String(await go(way));
    assert.match(answer, /^403 /, way);
    assert.ok(answer.includes(FOREIGN), way);
  }
  // What the page does not get to see is seen in what the boat has counted.
  for (const way of ["blind", "beacon", "form"]) {
    const before = await refused(boat);
    await go(way);
    await eventually(`the ${way} to be refused`, async () => await refused(boat) > before);
  }
  assert.equal(await go("sandboxed"), 403);
}

Deno.test("in a real browser, the boat's own page can send", BROWSER, async () => {
  await using boat = await TestBoat.start({ sendEnabled: true });
  await using browser = await Browser.start({ hosts: ["boat.local"] });
  const page = await browser.newPage();
  const { port } = new URL(boat.url);
  for (const origin of [boat.url, `http://localhost:${port}`, `http://boat.local:${port}`]) {
    const go = await visit(page, `${origin}/livez`);
    assert.match(String(await go("json", origin, "/send")), /^202 /);
    assert.equal(await underWay(boat, go("socket", origin)), NOTHING_ELSE);
  }
  await eventually("all messages", () => sent(boat).length === 6);
  assert.deepEqual(new Set(sent(boat)), new Set([PAYLOAD]));
});

Deno.test("in a real browser, a page that is listed can send", BROWSER, async () => {
  const other = somebodyElse();
  try {
    const origin = `http://a.localhost:${other.addr.port}`;
    await using boat = await TestBoat.start({ sendEnabled: true, allowOrigins: [origin] });
    await using browser = await Browser.start({ hosts: [] });
    const go = await visit(await browser.newPage(), origin);
    assert.match(String(await go("json", boat.url, "/send")), /^202 /);
    await eventually("the message", () => sent(boat).length === 1);
  } finally {
    await other.shutdown();
  }
});
