import assert from "node:assert/strict";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { Random } from "../support/random.ts";
import { CloudServer } from "./cloud_server.ts";

const REQUESTS = 600;
const IDS = [
  "boat-1",
  "nobody",
  "..",
  "%2e%2e",
  "%00",
  "a%2fb",
  "boat-1%20",
  "B".repeat(300),
  "__proto__",
  "%F0%9F%9A%A2",
  "{id}",
];
const ENDS = [
  "status",
  "devices",
  "values",
  "values/decoded",
  "history",
  "ws",
  "replication/events",
  "clients/a",
  "clients/%",
];
const KEYS = ["pgn", "limit", "from", "to", "name", "bus", "decode", "instance", "access_token", "__proto__"];
const VALUES = ["1", "-1", "", "x", "2026-01-02T03:04:05Z", "0x1f", "true", "%00", "9".repeat(50), "can0", "NaN"];
const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS"];

Deno.test(
  "whatever is asked, the cloud answers with what was asked for, or with a problem that says why not",
  needs({
    permissions: ["read", "write"],
  }),
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      (await cloud.boat("boat-1")).say();
      const random = new Random(20_260_102);
      for (let i = 0; i < REQUESTS; i++) {
        const path = ["instances", random.pick(IDS), random.pick(ENDS)].slice(0, random.between(1, 3)).join("/");
        const query = random.some(KEYS, 0.2).map((key) => `${key}=${random.pick(VALUES)}`).join("&");
        const method = random.pick(METHODS);
        const asked = `/${path}?${query}`;
        const reply = await cloud.raw(asked, {
          method,
          ...(random.chance(0.3) && { body: random.pick(["{", "[]", "null"]) }),
        });
        const what = `${method} ${asked}: ${reply.status}`;
        assert.ok(reply.status < 500, what);
        assert.equal(reply.headers.get("Access-Control-Allow-Origin"), "*", what);
        if (reply.status < 400 || method === "HEAD") continue;
        assert.equal(reply.headers.get("Content-Type"), "application/problem+json", what);
        assert.equal(JSON.parse(await reply.text()).status, reply.status, what);
      }
      assert.equal((await cloud.raw("/instances/boat-1/status")).status, 200, "it lives");
    }),
);
