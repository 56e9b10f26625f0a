import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { IS_FULL, needs } from "../support/needs.ts";
import { type MetricFamily, parseMetrics } from "../support/prometheus.ts";
import { SessionClient } from "../support/session.ts";
import { SseClient } from "../support/sse_client.ts";
import { CloudServer, writeState } from "./cloud_server.ts";

/** Boats of a large cloud. */
const BOATS = IS_FULL ? 10_000 : 1000;
const DISK = needs({ permissions: ["read", "write"] });

async function scrape(cloud: CloudServer): Promise<Map<string, MetricFamily>> {
  return parseMetrics(await (await cloud.raw("/metrics")).text());
}

Deno.test(
  "the specification's metrics of a cloud are there by their names, as gauges",
  DISK,
  () =>
    inFolder(async (folder) => {
      const durable = [{ start: 1, end: 11 }, { start: 21, end: 31 }];
      await writeState(folder, "away", { headSeq: 50, received: { durable, void: [], lost: [] } });
      await using cloud = await CloudServer.start(folder);
      await cloud.boat("here");
      const metrics = await scrape(cloud);
      const values = (name: string) => Object.fromEntries(metrics.get(name)?.samples ?? []);
      assert.deepEqual(values("vbg_cloud_instances_total"), { "": 2 });
      assert.deepEqual(values("vbg_cloud_instances_connected"), { "": 1 });
      const each = (away: number, here: number) => ({ '{instance="away"}': away, '{instance="here"}': here });
      assert.deepEqual(values("vbg_cloud_instance_connected"), each(0, 1));
      assert.deepEqual(values("vbg_cloud_instance_lag_seqs"), each(40, 0));
      assert.deepEqual(values("vbg_cloud_instance_cursor"), each(10, 0));
      assert.deepEqual(values("vbg_cloud_instance_holes"), each(2, 0));
      for (const [name, { type }] of metrics) {
        if (/^vbg_cloud_instances_|_(connected|lag_seqs|cursor|holes)$/.test(name)) assert.equal(type, "gauge", name);
      }
    }),
);

Deno.test(
  "metrics are Prometheus text, the same ones with boats and without, and each has help and type",
  DISK,
  () =>
    inFolder(async (folder) => {
      await using cloud = await CloudServer.start(folder);
      const reply = await cloud.raw("/metrics");
      assert.equal(reply.headers.get("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
      const before = parseMetrics(await reply.text());
      const boat = await cloud.boat("boat-1");
      boat.say();
      const after = await scrape(cloud);
      assert.deepEqual([...after.keys()], [...before.keys()]);
      for (const [name, { help, type, samples }] of after) {
        assert.ok(help.length > 10, name);
        const isCounter = name.endsWith("_total") && name !== "vbg_cloud_instances_total";
        assert.equal(type, isCounter ? "counter" : "gauge", name);
        assert.ok(samples.size > 0, name);
        for (const value of samples.values()) assert.ok(Number.isFinite(value) && value >= 0, name);
      }
      for (const name of ["vbg_build_info", "process_resident_memory_bytes", "vbg_event_loop_stalls_total"]) {
        assert.ok(after.has(name), name);
      }
    }),
);

Deno.test(
  "metrics tell what came of a boat, what was left out, and when it was last here",
  DISK,
  () =>
    inFolder(async (folder) => {
      const clock = new FakeClock();
      await using cloud = await CloudServer.start(folder, { clock });
      const boat = await cloud.boat("boat-1");
      for (let i = 0; i < 5; i++) boat.say();
      boat.seq -= 2;
      for (let i = 0; i < 2; i++) boat.say();
      const { counters } = boat.instance.record;
      Object.assign(counters, { rateLimited: 3, lagClosed: 4, verifyFailures: 5, backfillBytes: 6 });
      const metrics = await scrape(cloud);
      const value = (name: string, labels = "") =>
        metrics.get(`vbg_cloud_instance_${name}`)?.samples.get(`{instance="boat-1"${labels}}`);
      assert.equal(value("live_frames_total"), 7);
      assert.equal(value("duplicate_frames_total"), 2);
      assert.equal(value("live_streams_total"), 1);
      assert.equal(value("live_closed_total", `,reason="rate"`), 3);
      assert.equal(value("live_closed_total", `,reason="lag"`), 4);
      assert.equal(value("verify_failures_total"), 5);
      assert.equal(value("backfill_bytes_total"), 6);
      assert.equal(value("recording_failing"), 0);
      assert.equal(value("last_seen_seconds"), Date.UTC(2026, 0, 2, 3, 4, 5) / 1000);
      const { cursor, ackSeq } = boat.instance.summary();
      assert.equal(value("ack_lag_seqs"), cursor - ackSeq);
    }),
);

Deno.test("open streams of all boats are counted by kind", DISK, () =>
  inFolder(async (folder) => {
    await using cloud = await CloudServer.start(folder);
    for (const id of ["boat-1", "boat-2"]) await cloud.boat(id);
    await using _one = await SseClient.open(`${cloud.url}/instances/boat-1/events`);
    await using _two = await SseClient.open(`${cloud.url}/instances/boat-2/events`);
    const session = new SessionClient(`${cloud.url}/instances/boat-2`);
    await session.put();
    await using _three = await session.events();
    await eventually("all streams", async () => {
      const { samples } = (await scrape(cloud)).get("vbg_streams") ?? {};
      const read = ["sse", "websocket", "session"].map((kind) => samples?.get(`{kind="${kind}"}`));
      return read.join() === "2,0,1";
    });
  }));

Deno.test(
  `${BOATS} boats are listed and told in metrics, each of them once`,
  DISK,
  () =>
    inFolder(async (folder) => {
      const ids = Array.from({ length: BOATS }, (_, index) => `boat-${index}`);
      for (let at = 0; at < ids.length; at += 100) {
        await Promise.all(ids.slice(at, at + 100).map((id) => writeState(folder, id, { headSeq: 10 })));
      }
      await using cloud = await CloudServer.start(folder);
      const { instances } = await cloud.get<{ instances: { id: string }[] }>("/instances");
      assert.deepEqual(instances.map(({ id }) => id), ids.toSorted());
      const metrics = parseMetrics(await (await fetch(`${cloud.url}/metrics`)).text());
      for (const [name, { samples }] of metrics) {
        if (!name.startsWith("vbg_cloud_instance_")) continue;
        assert.equal(samples.size, name.includes("live_closed") ? 2 * BOATS : BOATS, name);
      }
      assert.equal(metrics.get("vbg_cloud_instances_total")?.samples.get(""), BOATS);
    }),
);
