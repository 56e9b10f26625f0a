// What a boat says, acknowledges and remembers while its disk takes nothing and reports no error.
import assert from "node:assert/strict";
import type { ComponentHealth, Health } from "../../src/http/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { HungTails } from "../support/hung_tails.ts";
import { readJournal } from "../support/journal_run.ts";
import { needs } from "../support/needs.ts";
import { range, seqs, SessionClient } from "../support/session.ts";

const HANGS = needs({ permissions: ["read", "write", "run", "net"], programs: ["mkfifo"] });
const SYNC_INTERVAL_MS = 50;
const AGE = "vbg_journal_unsynced_age_seconds";

/** A receiver of alerts, and what it got. */
function receiver(): { url: string; alerts: { type: string }[] } & AsyncDisposable {
  const alerts: { type: string }[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (request) => {
    alerts.push(await request.json());
    return new Response();
  });
  const url = `http://127.0.0.1:${server.addr.port}`;
  return { url, alerts, [Symbol.asyncDispose]: async () => await server.shutdown() };
}

async function journalOf(boat: TestBoat): Promise<{ code: number } & Partial<ComponentHealth>> {
  const reply = await boat.raw("/healthz");
  const { components }: Health = JSON.parse(await reply.text());
  return { code: reply.status, ...components["journal"] };
}

Deno.test(
  "while the disk hangs, health and metrics tell the age of the oldest unsynced frame, an alert is sent, and no " +
    "acknowledgement is answered 204",
  HANGS,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      const stateDirectory = `${folder}/state`;
      const directory = `${folder}/journal`;
      await using told = receiver();
      const options = { directory, stateDirectory, syncIntervalMs: SYNC_INTERVAL_MS };
      await using boat = await TestBoat.start({
        clock,
        stateDirectory,
        journal: options,
        alerts: { urls: [told.url] },
      });
      const disk = HungTails.make(directory);
      try {
        const client = new SessionClient(boat.url);
        await client.put();
        await using stream = await client.events();
        for (let fed = 1; fed <= 100; fed++) boat.say({ data: [fed, 0, 0, 0, 0, 0, 0, 0] });
        assert.deepEqual(seqs(await stream.atLeast(100)), range(1, 100));
        const acknowledged = client.request("PUT", "/ack", { seq: 100 });

        clock.advance(5 * SYNC_INTERVAL_MS - 1);
        assert.deepEqual(await journalOf(boat), { code: 200, status: "ok" });
        clock.advance(1);
        const slow = await journalOf(boat);
        assert.deepEqual([slow.code, slow.status], [200, "degraded"]);
        assert.equal(await boat.metric(AGE), 5 * SYNC_INTERVAL_MS / 1000);
        await eventually("the warning", () => told.alerts.some(({ type }) => type === "journal_degraded"));
        // Frames that come meanwhile are not the oldest.
        boat.say();
        clock.advance(30_000 - 5 * SYNC_INTERVAL_MS);
        const hung = await journalOf(boat);
        assert.deepEqual([hung.code, hung.status], [503, "unhealthy"]);
        assert.equal(hung.message, "the disk hangs or is too slow: frames of the last 30 s are not synced");
        assert.equal(await boat.metric(AGE), 30);
        await eventually("the alert", () => told.alerts.some(({ type }) => type === "journal_unhealthy"));

        const refused = await acknowledged;
        assert.equal(refused.status, 503);
        assert.equal(refused.headers.get("Content-Type"), "application/problem+json");
        assert.ok(Number(refused.headers.get("Retry-After")) > 0);
        assert.match((await refused.json()).detail, /not synced/);
        assert.equal(await client.cursor(), 1);
      } finally {
        disk.release();
      }
      await eventually("a disk that works", async () => {
        clock.advance(1000);
        return (await journalOf(boat)).status === "ok";
      });
      assert.equal(await boat.metric(AGE), 0);
      assert.equal(await new SessionClient(boat.url).ack(100), 204);
      assert.equal(await new SessionClient(boat.url).cursor(), 101);
      await boat[Symbol.asyncDispose]();
      assert.deepEqual(readJournal(directory).frames.map(({ seq }) => seq), range(1, 101));
    }),
);
