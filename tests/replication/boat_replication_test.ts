import assert from "node:assert/strict";
import { parseCanId } from "../../src/frame/mod.ts";
import type { Health } from "../../src/http/mod.ts";
import type { ReplicationStatus } from "../../src/replication/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { HeldPort } from "../support/held_port.ts";
import { faults, type OpenApi } from "../support/openapi.ts";
import { LINK, LinkFixture } from "./boat_link_fixture.ts";

/** What a boat server needs of a link. */
async function replicationTo(fixture: LinkFixture, { port }: { port?: number } = {}) {
  const { target, tls } = await fixture.target(port === undefined ? {} : { port });
  assert.ok(tls);
  return { target, instanceId: "boat-001", tls };
}

Deno.test("a boat server replicates what its buses bring, and tells how that does", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    const { cloud } = fixture;
    await using boat = await TestBoat.start({
      names: ["can0", "can1"],
      replication: await replicationTo(fixture),
      journal: { directory: await fixture.journalFolder(), stateDirectory: await fixture.journalFolder("state") },
    });
    const name = boat.claim(7, { manufacturerCode: 229, uniqueNumber: 5 }, { bus: 1 });
    boat.product(7, "GPS 19x", { bus: 1 });
    await eventually(
      "the connection",
      async () => (await boat.get<ReplicationStatus>("/replication/status")).connected,
    );
    for (let i = 0; i < 50; i++) boat.say({ data: [i, 1, 2, 3, 4, 5, 6, 7], bus: i % 2 });
    const { head } = await eventually("all frames", () => {
      const { broker } = boat.boat;
      return cloud.frames.size === 52 && broker.head === 52 && broker;
    });
    const status = await eventually("the acknowledgement", async () => {
      const now = await boat.get<ReplicationStatus>("/replication/status");
      return now.cloud_durable_seq === head && now;
    });
    assert.equal(status.instance_id, "boat-001");
    assert.deepEqual([status.local_head_seq, status.live_lag, status.backfill_remaining_seqs], [head, 0, 0]);
    assert.deepEqual(status.holes, []);
    const health = await boat.get<Health>("/healthz");
    assert.equal(health.status, "ok");
    assert.deepEqual(health.components.replication, { status: "ok" });
    // It may have been acknowledged once more.
    const last_ack = health.replication?.last_ack ?? "";
    assert.ok(last_ack >= (status.last_ack ?? "?"), last_ack);
    assert.deepEqual(health.replication, {
      ...{ status: "ok", connected: true, live_lag: 0, backfill_remaining_seqs: 0, last_ack },
    });
    const metrics = await (await fetch(`${boat.url}/metrics`)).text();
    assert.match(metrics, /^vbg_replication_connected 1$/m);
    assert.match(metrics, /^vbg_replication_live_lag_frames 0$/m);
    assert.match(metrics, /^vbg_replication_lost_frames 0$/m);
    assert.match(metrics, /^vbg_replication_reconnects_total 0$/m);

    for (const stream of cloud.streams) await stream.send({ ackSeq: head, receivedThrough: head });
    const before = cloud.devices.length;
    fixture.server.cut();
    const devices = await eventually("the devices again", () => {
      const found = cloud.devices.slice(before);
      return found.length === 2 && found;
    });
    const [claim, product] = devices.map(({ canId, data }) => ({
      ...parseCanId(canId & 0x1fffffff),
      bus: canId >>> 29,
      data: data.toHex(),
    }));
    assert.deepEqual([claim?.pgn, claim?.src, claim?.bus, product?.pgn], [60928, 7, 1, 126996]);
    assert.equal(new DataView(Uint8Array.fromHex(claim!.data).buffer).getBigUint64(0, true), name);
    assert.match(new TextDecoder().decode(Uint8Array.fromHex(product!.data)), /GPS 19x/);
  });
});

Deno.test("a boat that connects for the first time is not degraded while that takes a moment", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    // It lets connections in, and never answers.
    using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const clock = new FakeClock();
    await using boat = await fixture.boat({ port: silent.addr.port, clock });
    boat.link.start();
    assert.deepEqual(boat.link.health(), { status: "ok" });
    assert.equal(boat.link.status().connected, false);
    clock.advance(6000);
    assert.deepEqual(boat.link.health(), { status: "degraded", message: "connecting" });
  });
});

Deno.test("a boat whose cloud is away is degraded, says why and when it tries again", LINK, async () => {
  await LinkFixture.run(async (fixture) => {
    using nobody = HeldPort.take();
    await using boat = await TestBoat.start({ replication: await replicationTo(fixture, nobody) });
    const health = await eventually("the reason", async () => {
      const now = await boat.get<Health>("/healthz");
      return now.components.replication?.message?.startsWith("disconnected") && now;
    });
    assert.equal(health.status, "degraded");
    assert.match(
      health.components.replication?.message ?? "",
      /^disconnected: UNAVAILABLE: .*; next attempt \d{4}-.*Z$/,
    );
    assert.equal(health.replication?.connected, false);
    const status = await boat.get<ReplicationStatus>("/replication/status");
    assert.match(status.reason ?? "", /^UNAVAILABLE/);
    assert.deepEqual([status.last_ack, status.cloud_durable_seq], [null, null]);
    const api = await boat.get<OpenApi>("/openapi.json");
    const schema = api.components.schemas.ReplicationStatus;
    assert.ok(schema);
    assert.deepEqual(faults(status, schema, api), []);
  });
});

Deno.test("without replication there is no status of it, and the answer says so", LINK, async () => {
  await using boat = await TestBoat.start();
  const reply = await boat.raw("/replication/status");
  assert.equal(reply.status, 404);
  assert.match(await reply.text(), /Replication is off/);
  assert.equal((await boat.get<Health>("/healthz")).replication, undefined);
});
