import assert from "node:assert/strict";
import { TestBoat } from "../support/boat.ts";
import { Browser, hasPlaywright } from "../support/browser.ts";
import { eventually } from "../support/eventually.ts";
import { needs } from "../support/needs.ts";
import { SessionClient } from "../support/session.ts";

const BROWSER = needs({
  permissions: ["env", "net", "read", "run", "sys", "write"],
  programs: ["chromium"],
  others: { 'npm package "playwright-core"': hasPlaywright() },
});

/** A public name that somebody has pointed at the boat. */
const REBOUND = "boat.evil.example";
/** A name of the local network; a browser tells such a server less than one by HTTPS or on this machine. */
const OWN = "boat.local";

const SCRIPT = `
  const STATUS = async (reply) => (await reply).status;
  window.calls = async (url) => {
    const controller = new AbortController();
    const seen = {
      put: await STATUS(fetch(url, { method: "PUT", body: '{"buffer_timeout":"PT5M"}' })),
      get: await STATUS(fetch(url)),
      events: await STATUS(fetch(url + "/events", { signal: controller.signal })),
      ack: await STATUS(fetch(url + "/ack", { method: "PUT", body: '{"seq":0}' })),
      delete: await STATUS(fetch(url, { method: "DELETE" })),
    };
    controller.abort();
    return seen;
  };
  window.source = (url) => new Promise((resolve) => {
    const source = new EventSource(url + "/events");
    source.onopen = () => resolve("open");
    source.onerror = () => resolve("error");
  });
  // Requests whose answer a page does not get to see.
  window.blind = async (url) => {
    await fetch(url + "/events", { mode: "no-cors", headers: { Accept: "text/event-stream" } }).catch(() => {});
    await fetch(url + "/events", { mode: "no-cors", referrerPolicy: "no-referrer" }).catch(() => {});
    for (const name of ["img", "script", "iframe"]) {
      const element = document.createElement(name);
      const done = new Promise((resolve) => element.onload = element.onerror = resolve);
      element.src = url + "/events";
      document.body.append(element);
      await done;
    }
    return "done";
  };
`;
const REFUSED = { put: 403, get: 403, events: 403, ack: 403, delete: 403 };

Deno.test(
  "in a real browser, no page of others takes a session over, and the boat's own page uses it",
  BROWSER,
  async () => {
    const site = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => new Response("<!doctype html><body>", { headers: { "Content-Type": "text/html" } }),
    );
    try {
      await using boat = await TestBoat.start();
      await using browser = await Browser.start({ hosts: [REBOUND, OWN, "evil.example"] });
      const { port } = new URL(boat.url);
      const client = new SessionClient(boat.url);
      await client.put();
      await using stream = await client.events();
      await eventually("the stream", async () => await boat.metric(`vbg_streams{kind="session"}`) === 1);
      const page = await browser.newPage();
      const visit = async (address: string) => {
        await page.goto(address);
        await page.evaluate(SCRIPT);
        return async (call: string, host: string) =>
          await page.evaluate(`${call}("http://${host}:${port}/clients/pilot")`);
      };
      const rebound = await visit(`http://${REBOUND}:${port}/livez`);
      assert.deepEqual(await rebound("calls", REBOUND), REFUSED, "a public name that points here");
      assert.equal(await rebound("source", REBOUND), "error");
      const foreign = await visit(`http://evil.example:${site.addr.port}/`);
      for (const host of [OWN, "127.0.0.1"]) {
        // Without a question before, what is not simple does not even leave the browser.
        assert.equal(await foreign("source", host), "error", host);
        assert.deepEqual(await foreign("calls", host), REFUSED, host);
        await foreign("blind", host);
      }
      assert.deepEqual([stream.ended, stream.events], [false, []], "nobody has taken it over");
      assert.equal((await client.request("GET", "")).status, 200);
      for (const host of [OWN, "127.0.0.1", "localhost"]) {
        const own = await visit(`http://${host}:${port}/livez`);
        assert.deepEqual(await own("calls", host), { put: 200, get: 200, events: 200, ack: 204, delete: 204 }, host);
      }
    } finally {
      await site.shutdown();
    }
  },
);
