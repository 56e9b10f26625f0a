import assert from "node:assert/strict";
import type { AccessToken } from "../../src/http/mod.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { tokenOf } from "./auth_server.ts";
import { CloudServer } from "./cloud_server.ts";

const DISK = needs({ permissions: ["read", "write"] });
const limited = (name: string, instances: string[]): AccessToken => ({ ...tokenOf(name, name, ["read"]), instances });
const TOKENS = [
  tokenOf("fleet", "fleet", ["read"]),
  limited("owner", ["boat-2", "boat-1", "boat-2", "to-come"]),
  limited("nobody", []),
];
const PER_BOAT = [
  "/status",
  "/replication/events",
  "/devices",
  "/values",
  "/values/decoded",
  "/events",
  "/clients/a",
  "/proof",
  "/sources",
  "/events/sources",
  "/journal/blocks?from=2026-01-02T03:04:05Z&to=2026-01-02T03:05:05Z",
  "/journal/clock",
  "/series?field=128267.depth&from=2026-01-02T03:04:05Z&to=2026-01-02T03:05:05Z",
];

/** A cloud with four boats. */
async function withCloud(test: (cloud: CloudServer) => Promise<void>): Promise<void> {
  await inFolder(async (folder) => {
    await using cloud = await CloudServer.start(folder, { tokens: TOKENS });
    for (const number of [1, 2, 3, 4]) (await cloud.boat(`boat-${number}`)).say();
    await test(cloud);
  });
}

const ask = (cloud: CloudServer, path: string, token: string, method = "GET") =>
  cloud.raw(path, { method, headers: { Authorization: `Bearer ${token}` } });

Deno.test(
  "a token that is limited to instances lists those alone, in the order of their ids",
  DISK,
  () =>
    withCloud(async (cloud) => {
      const listed = async (token: string) => {
        const { instances } = JSON.parse(await (await ask(cloud, "/instances", token)).text());
        return instances.map(({ id }: { id: string }) => id);
      };
      assert.deepEqual(await listed("fleet"), ["boat-1", "boat-2", "boat-3", "boat-4"]);
      assert.deepEqual(await listed("owner"), ["boat-1", "boat-2"]);
      assert.deepEqual(await listed("nobody"), []);
      await cloud.boat("to-come");
      assert.deepEqual(await listed("owner"), ["boat-1", "boat-2", "to-come"]);
    }),
);

Deno.test("a boat of others is, for a limited token, one that does not exist", DISK, (t) =>
  withCloud(async (cloud) => {
    for (const path of PER_BOAT) {
      await t.step(path, async () => {
        const theirs = await ask(cloud, `/instances/boat-3${path}`, "owner");
        const none = await ask(cloud, `/instances/boat-9${path}`, "owner");
        assert.deepEqual([theirs.status, none.status], [404, 404]);
        assert.equal((await theirs.text()).replace("boat-3", "boat-9"), await none.text());
        assert.equal((await ask(cloud, `/instances/boat-1${path}`, "nobody")).status, 404);
        for (const token of ["owner", "fleet"]) {
          const { status } = await ask(cloud, `/instances/boat-1${path}`, token, "HEAD");
          assert.equal(status, path === "/clients/a" ? 404 : 200, token);
        }
        assert.equal((await cloud.raw(`/instances/boat-1${path}`)).status, 401);
      });
    }
  }));

Deno.test(
  "metrics tell a limited token of its boats alone, and nothing of the server",
  DISK,
  () =>
    withCloud(async (cloud) => {
      const text = await (await ask(cloud, "/metrics", "owner")).text();
      assert.deepEqual([...new Set(text.match(/instance="[^"]*"/g))], [`instance="boat-1"`, `instance="boat-2"`]);
      assert.match(text, /^vbg_cloud_instances_total 2$/m);
      assert.match(text, /^vbg_cloud_instances_connected 2$/m);
      assert.doesNotMatch(text, /process_|vbg_streams|vbg_auth/);
      assert.match(await (await ask(cloud, "/metrics", "nobody")).text(), /^vbg_cloud_instances_total 0$/m);
      const all = await (await ask(cloud, "/metrics", "fleet")).text();
      assert.match(all, /^vbg_cloud_instances_total 4$/m);
      assert.match(all, /process_resident_memory_bytes/);
    }),
);

Deno.test("who has no token sees counts in health and no boat's name", DISK, () =>
  withCloud(async (cloud) => {
    for (const path of ["/healthz", "/readyz", "/livez"]) {
      const reply = await cloud.raw(path);
      assert.equal(reply.status, 200);
      assert.doesNotMatch(await reply.text(), /boat-\d/);
    }
    for (const path of ["/instances", "/metrics", "/pgns", "/openapi.json"]) {
      assert.equal((await cloud.raw(path)).status, 401, path);
      const { status, text } = await ask(cloud, path, "nobody");
      assert.equal(status, 200, path);
      assert.doesNotMatch(await text(), /boat-\d/);
    }
  }));
