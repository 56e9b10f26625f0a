import assert from "node:assert/strict";
import { OWN_SUBSCRIPTIONS, TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { inFolder } from "../support/folder.ts";
import { needs } from "../support/needs.ts";
import { type MetricFamily, parseMetrics } from "../support/prometheus.ts";
import { SessionClient } from "../support/session.ts";

const DISK = needs({ permissions: ["read", "write"] });

async function scrape(boat: TestBoat): Promise<Map<string, MetricFamily>> {
  return parseMetrics(await (await boat.raw("/metrics")).text());
}

Deno.test("metrics are Prometheus text, every one of ours with HELP, TYPE and a value, before and after traffic", async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"], discovery: true });
  const reply = await boat.raw("/metrics");
  assert.match(reply.headers.get("Content-Type") ?? "", /^text\/plain; version=0\.0\.4; charset=utf-8$/);
  const before = await scrape(boat);
  boat.say();
  await eventually("a frame", () => boat.boat.broker.head > 0);
  const after = await scrape(boat);
  const ours = [...after].filter(([name]) => name.startsWith("vbg_"));
  assert.ok(ours.length >= 24);
  for (const [name, { help, type, samples }] of ours) {
    assert.ok(help.length > 10, `${name} has help`);
    assert.equal(type, name.endsWith("_total") ? "counter" : "gauge", name);
    assert.ok(samples.size > 0, `${name} has a sample`);
    assert.deepEqual([...before.get(name)?.samples.keys() ?? []], [...samples.keys()], `${name} is there from start`);
    for (const value of samples.values()) assert.ok(Number.isFinite(value) && value >= 0, name);
  }
});

Deno.test("metrics tell what was injected, by bus", async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  assert.equal(await boat.metric('vbg_last_message_timestamp_seconds{bus="can0"}'), 0, "before the first message");
  await using _events = await boat.events();
  await using _same = await boat.events();
  await using _other = await boat.events("?pgn=1");
  for (let i = 0; i < 7; i++) boat.say({ src: 1 });
  boat.claim(2, { uniqueNumber: 5 });
  boat.product(2, "Model");
  boat.say({ src: 3, pgn: 60928, data: [1, 2, 3] });
  boat.say({ src: 4, bus: 1 });
  await eventually("all messages", () => boat.boat.broker.head === 11);
  const metrics = await scrape(boat);
  const value = (name: string, labels = "") => metrics.get(name)?.samples.get(labels);
  assert.equal(value("vbg_bus_frames_total", `{bus="can0"}`), 7 + 1 + 20 + 1);
  assert.equal(value("vbg_bus_frames_total", `{bus="can1"}`), 1);
  assert.equal(value("vbg_messages_total", `{bus="can0"}`), 10);
  assert.equal(value("vbg_messages_total", `{bus="can1"}`), 1);
  assert.equal(value("vbg_bus_state", `{bus="can0",state="error-active"}`), 1);
  assert.equal(value("vbg_bus_state", `{bus="can0",state="down"}`), 0);
  assert.equal(value("vbg_head_seq"), 11);
  assert.equal(value("vbg_ring_frames"), 11);
  assert.equal(value("vbg_ring_capacity_frames"), 65_536);
  assert.equal(value("vbg_ring_fill_ratio"), 11 / 65_536);
  const newest = value("vbg_last_message_timestamp_seconds", `{bus="can0"}`) ?? 0;
  assert.ok(newest > 1.7e9 && newest <= Date.now() / 1000, "the kernel's time of the newest message");
  assert.equal(value("vbg_devices"), 4);
  assert.equal(value("vbg_devices_added_total"), 4);
  assert.equal(value("vbg_devices_removed_total"), 0);
  assert.equal(value("vbg_invalid_identity_messages_total", `{kind="claim"}`), 1);
  assert.equal(value("vbg_values"), 5);
  assert.equal(value("vbg_streams", `{kind="sse"}`), 3);
  assert.equal(value("vbg_subscriptions"), OWN_SUBSCRIPTIONS + 2);
  await boat.buses[1]?.close();
  const closed = await scrape(boat);
  assert.equal(closed.get("vbg_bus_state")?.samples.get(`{bus="can1",state="closed"}`), 1);
});

Deno.test("what is dropped on the way in is counted by reason", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ maxValues: 2, clock });
  Object.assign(boat.buses[0]!.counters, { kernelDropped: 5, interfaceDropped: 3 });
  const fast = 0x19f80500 | 1;
  boat.buses[0]?.inject(fast, Uint8Array.of(0x20, 43, 1, 2, 3, 4, 5, 6));
  boat.buses[0]?.inject(fast, Uint8Array.of(0x20, 43, 1, 2, 3, 4, 5, 6));
  boat.buses[0]?.inject(fast, Uint8Array.of(0x40));
  for (const pgn of [127250, 127245, 127251]) boat.say({ pgn });
  await eventually("the frames", () => boat.boat.broker.head === 3);
  const metrics = await scrape(boat);
  const dropped = metrics.get("vbg_assembler_dropped_total")?.samples;
  assert.equal(dropped?.get(`{bus="can0",reason="replaced"}`), 1);
  assert.equal(dropped?.get(`{bus="can0",reason="malformed"}`), 1);
  assert.equal(metrics.get("vbg_assembler_pending")?.samples.get(`{bus="can0"}`), 1);
  assert.equal(metrics.get("vbg_values")?.samples.get(""), 2);
  assert.equal(metrics.get("vbg_values_refused_total")?.samples.get(""), 1);
  assert.equal(metrics.get("vbg_bus_kernel_dropped_frames_total")?.samples.get(`{bus="can0"}`), 5);
  assert.equal(metrics.get("vbg_bus_interface_dropped_frames_total")?.samples.get(`{bus="can0"}`), 3);
  await eventually("the timeout of the fragment", async () => {
    clock.advance(100);
    return await boat.metric(`vbg_assembler_dropped_total{bus="can0",reason="timeout"}`) === 1;
  });
});

Deno.test("identity requests are counted, and who still owes an answer", async () => {
  await using boat = await TestBoat.start({ discovery: true });
  boat.say({ src: 9 });
  await eventually(
    "the request",
    async () => (await boat.metric(`vbg_identity_requests_total{result="sent"}`) ?? 0) >= 2,
  );
  assert.equal(await boat.metric("vbg_unidentified_devices"), 1);
});

Deno.test("two scrapes at once both get whole figures", async () => {
  await using boat = await TestBoat.start();
  for (let i = 0; i < 10; i++) boat.say();
  await eventually("the frames", () => boat.boat.broker.head === 10);
  for (const metrics of await Promise.all(Array.from({ length: 8 }, () => scrape(boat)))) {
    assert.equal(metrics.get("vbg_messages_total")?.samples.get(`{bus="can0"}`), 10);
  }
});

Deno.test("metrics tell how far behind the slowest reader is", async () => {
  await using boat = await TestBoat.start();
  const client = new SessionClient(boat.url);
  await client.put();
  const held = await fetch(`${client.url}/events`);
  const frames = 8192;
  boat.flood(frames, 200);
  const lag = 'vbg_largest_lag_frames{kind="session"}';
  await eventually("the lag", async () => {
    const behind = await boat.metric(lag) ?? 0;
    return behind > 0 && behind <= frames;
  });
  await held.body?.cancel();
  await eventually("no reader", async () => await boat.metric(lag) === 0);
  assert.equal(await boat.metric('vbg_largest_lag_frames{kind="subscription"}'), 0);
});

Deno.test(
  "metrics tell what the journal has written, and how long the newest block took",
  DISK,
  () =>
    inFolder(async (folder) => {
      const journal = { directory: `${folder}/journal`, stateDirectory: `${folder}/state`, blockBytes: 4096 };
      await using boat = await TestBoat.start({ journal });
      assert.equal(await boat.metric("vbg_journal_written_bytes_total"), 0);
      assert.equal(await boat.metric("vbg_journal_last_block_write_seconds"), 0);
      for (let i = 0; i < 1000; i++) boat.say({ data: Array.from({ length: 8 }, (_, k) => (i * 37 + k * 101) & 0xff) });
      await eventually("the blocks", async () => (await boat.metric("vbg_journal_blocks_total") ?? 0) > 0);
      assert.ok((await boat.metric("vbg_journal_last_block_write_seconds") ?? 0) > 0);
      const written = await boat.metric("vbg_journal_written_bytes_total") ?? 0;
      await boat.boat.stop();
      const sizes = Array.from(Deno.readDirSync(journal.directory), ({ name }) => name)
        .filter((name) => name.endsWith(".lpj"))
        .map((name) => Deno.statSync(`${journal.directory}/${name}`).size);
      const total = sizes.reduce((sum, size) => sum + size, 0);
      assert.ok(written > 0 && written < total, `${written} of ${total} bytes`);
    }),
);
