import assert from "node:assert/strict";
import type { Picture } from "../../cli/top_picture.ts";
import { DeviceRates } from "../../cli/top_rates.ts";
import { draw, pressed, within } from "../../cli/top_view.ts";
import type { BoatHealth, BoatReplication, Device } from "../../src/client/mod.ts";
import { Random } from "../support/random.ts";

const TS = "2026-01-02T03:04:05.000Z";
const BROKER = { frames_total: 9, head_seq: 9, device_count: 1, ring_entries: 9, ring_capacity: 16 };
const HEALTH: BoatHealth = {
  status: "degraded",
  broker: { status: "ok", ...BROKER },
  last_frame_at: TS,
  components: {
    can0: { status: "ok" },
    can1: { status: "unhealthy", message: "the interface is down" },
    journal: { status: "ok" },
    replication: { status: "degraded", message: "the cloud cannot be reached" },
  },
};
const REPLICATION: BoatReplication = {
  ...{ connected: false, instance_id: "aurora", local_head_seq: 9, cloud_cursor: 3, live_lag: 0 },
  ...{ holes: [{ start: 4, end: 10 }], backfill_remaining_seqs: 6, last_ack: null, state: "reconnecting" as const },
  ...{ reason: "connection refused", cloud_durable_seq: 3, lost: [], live_frames_sent: 3, backfill_blocks_sent: 0 },
  ...{ backfill_bytes_sent: 0, reconnects: 1, lag_reconnects: 0 },
};

/** A picture of so many devices on so many buses. */
function pictureOf({ devices = 1, buses = 1, tab = 0, ...more }: Partial<Picture> & {
  devices?: number;
  buses?: number;
  tab?: number;
}): Picture {
  const all = Array.from({ length: devices }, (_, index): Device => ({
    ...{ src: index, first_seen: TS, last_seen: TS, packet_count: index * 1000, byte_count: index * 9999 },
    ...{ manufacturer: "A maker with quite a long name", model_id: "Ein Gerät mit 🧭 und langem Namen" },
    ...(buses > 1 && { bus: `can${index % buses}` }),
  }));
  const values = all.map(({ src, bus }) => ({
    ...{ name: "", src, ...(bus !== undefined && { bus }) },
    values: [{ pgn: 127250, ts: TS, data: "00".repeat(223), seq: src, description: "Something that is called so" }],
  }));
  return {
    view: { tab, offset: 0 },
    sample: { devices: all, values, health: HEALTH, replication: REPLICATION },
    rates: new DeviceRates(),
    ...{ place: "aurora (http://192.168.1.5:8089)", time: "03:04:05", problem: undefined },
    ...more,
  };
}

Deno.test("the overview tells bad health first, and how replication does", () => {
  const lines = draw(pictureOf({}), { columns: 100, rows: 30, hasColor: false });
  const start = lines.findIndex((line) => line.startsWith("can1"));
  assert.deepEqual(lines.slice(start, start + 5), [
    "can1: unhealthy: the interface is down",
    "replication: degraded: the cloud cannot be reached",
    "Healthy: can0, journal",
    "Replication: reconnecting (connection refused), live lag 0, 6 to be sent in 1 hole, acknowledged –",
    "",
  ]);
});

Deno.test("a boat whose health nobody tells, and one without devices, are shown", () => {
  const sample = { devices: [], values: [], health: undefined, replication: undefined };
  const lines = draw(pictureOf({ sample }), { columns: 80, rows: 24, hasColor: false });
  assert.equal(lines[0], "aurora (http://192.168.1.5:8089)              0 devices  – frames/s  –  03:04:05");
  assert.ok(lines.includes("The health of this boat is not told here"));
});

Deno.test("a picture fits every terminal, whatever is shown, and colours take no room", () => {
  const random = new Random(8);
  for (let run = 0; run < 300; run++) {
    const frame = { columns: random.between(1, 200), rows: random.between(1, 60) };
    const picture = pictureOf({
      ...{ devices: random.int(60), buses: random.between(1, 4), tab: random.int(3) },
      problem: random.chance(0.2) ? "GET http://aurora.local:8089/devices: the server cannot be reached" : undefined,
    });
    const plain = draw(picture, { ...frame, hasColor: false });
    assert.ok(plain.length <= frame.rows, `run ${run}`);
    for (const line of plain) assert.ok(Array.from(line).length <= frame.columns, `run ${run}: ${line}`);
    const painted = draw(picture, { ...frame, hasColor: true });
    assert.deepEqual(
      painted.map((line) => line.split("\u001b[").map((part, i) => i ? part.replace(/^\d+m/, "") : part).join("")),
      plain,
    );
  }
});

Deno.test("keys turn pages in a ring and move within a list", () => {
  const picture = pictureOf({ devices: 30, tab: 1 });
  const first = { tab: 0, offset: 0 };
  assert.deepEqual(pressed(first, "previous"), { tab: 2, offset: 0 });
  assert.deepEqual(pressed({ tab: 2, offset: 7 }, "next"), first);
  assert.deepEqual(pressed({ tab: 2, offset: 7 }, { tab: 1 }), { tab: 1, offset: 0 });
  assert.deepEqual(pressed({ tab: 1, offset: 4 }, "page-up"), { tab: 1, offset: 0 });
  assert.deepEqual(within({ tab: 1, offset: 99 }, picture, 24), { tab: 1, offset: 10 });
  assert.deepEqual(within({ tab: 1, offset: 99 }, picture, 60), { tab: 1, offset: 0 });
  assert.deepEqual(within({ tab: 0, offset: 3 }, picture, 24), first);
});
