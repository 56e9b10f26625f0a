import assert from "node:assert/strict";
import type { Picture } from "../../cli/commands/top/picture.ts";
import { navigationRows, PANEL_PGNS } from "../../cli/commands/top/boat_panel.ts";
import { BoatValues } from "../../cli/commands/top/boat_values.ts";
import { DeviceRates } from "../../cli/commands/top/rates.ts";
import { clampView, draw, viewAfter } from "../../cli/commands/top/view.ts";
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

/** What a boat with so many engines, batteries and tanks says. */
function boatOf(equipment: number): BoatValues {
  const boat = new BoatValues(PANEL_PGNS);
  for (let instance = 0; instance < equipment; instance++) {
    const number = instance.toString(16).padStart(2, "0");
    boat.add({ src: 9, pgn: 127488, ts: TS, data: `${number}401fffffffffff` });
    boat.add({ src: 9, pgn: 127489, ts: TS, data: `${number}2c01ae0d6e71f404f600 80ee3600`.replace(" ", "") });
    boat.add({ src: 9, pgn: 127508, ts: TS, data: `${number}f404f6ffffffffff` });
    boat.add({
      src: 9,
      pgn: 127505,
      ts: TS,
      data: `${(0x10 + instance % 10).toString(16)}1919d0070000ff`,
    });
  }
  return boat;
}

/** A picture of so many devices on so many buses. */
function pictureOf({ devices = 1, buses = 1, tab = 0, equipment = 0, ...more }: Partial<Picture> & {
  devices?: number;
  /** So many engines, batteries and tanks. */
  equipment?: number;
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
    ...{ boat: boatOf(equipment), units: "nautical" as const },
    ...{ serverText: "aurora (http://192.168.1.5:8089)", time: "03:04:05Z", problem: undefined },
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

Deno.test("the overview lists buses by their names; one bus has no name, and its figures are in the first line", () => {
  const titleOf = (buses: number) =>
    draw(pictureOf({ devices: 2, buses }), { columns: 100, rows: 40, hasColor: false }).filter((line) =>
      /DEVICES/.test(line)
    );
  assert.deepEqual(titleOf(2), ["BUS   DEVICES  FRAMES/S  BYTES/S"]);
  assert.deepEqual(titleOf(1), []);
});

Deno.test("a boat whose health nobody tells, and one without devices, are shown", () => {
  const sample = { devices: [], values: [], health: undefined, replication: undefined };
  const lines = draw(pictureOf({ sample }), { columns: 80, rows: 24, hasColor: false });
  assert.equal(lines[0], "aurora (http://192.168.1.5:8089)             0 devices  – frames/s  –  03:04:05Z");
  assert.ok(lines.includes("A cloud does not report the health of a boat"));
});

Deno.test("a picture fits every terminal, whatever is shown, and colours take no room", () => {
  const random = new Random(8);
  for (let run = 0; run < 300; run++) {
    const frame = { columns: random.between(1, 200), rows: random.between(1, 60) };
    const picture = pictureOf({
      ...{ equipment: random.int(8), devices: random.int(60), buses: random.between(1, 4), tab: random.int(3) },
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
  assert.deepEqual(viewAfter(first, "previous"), { tab: 2, offset: 0 });
  assert.deepEqual(viewAfter({ tab: 2, offset: 7 }, "next"), first);
  assert.deepEqual(viewAfter({ tab: 2, offset: 7 }, { tab: 1 }), { tab: 1, offset: 0 });
  assert.deepEqual(viewAfter({ tab: 1, offset: 4 }, "page-up"), { tab: 1, offset: 0 });
  assert.deepEqual(clampView({ tab: 1, offset: 99 }, picture, 24), { tab: 1, offset: 10 });
  assert.deepEqual(clampView({ tab: 1, offset: 99 }, picture, 60), { tab: 1, offset: 0 });
  assert.deepEqual(clampView({ tab: 0, offset: 3 }, picture, 24), first);
});

Deno.test("engines, batteries and tanks stand beside navigation by their numbers, and what has no room goes on below", () => {
  const lines = draw(pictureOf({ equipment: 2 }), { columns: 80, rows: 30, hasColor: false });
  const [start, end] = [
    lines.findIndex((line) => line.startsWith("Position")),
    lines.indexOf("can1: unhealthy: the interface is down"),
  ];
  assert.deepEqual(lines.slice(start, end - 1).map((line) => line.slice(38)), [
    "Engine 0      2000 rpm  17.2 °C  0.30 bar",
    "              24.6 L/h  1000.0 h",
    "Engine 1      2000 rpm  17.2 °C  0.30 bar",
    "              24.6 L/h  1000.0 h",
    "Battery 0     12.68 V  -1.0 A",
    "Battery 1     12.68 V  -1.0 A",
    "Water 0       25.7 %  200.0 L",
    "Water 1       25.7 %  200.0 L",
    "",
    "",
  ]);
});

Deno.test("a value keeps its place and its device, and one that is old says so", () => {
  const boat = new BoatValues(PANEL_PGNS);
  const depth = (src: number, centimetres: number, ts: string) =>
    boat.add({ src, pgn: 128267, ts, data: `ff${centimetres.toString(16).padStart(2, "0")}000000f401ff` });
  const shown = () => navigationRows(boat, "nautical").find(({ title }) => title === "Depth")?.texts;
  assert.deepEqual(shown(), ["–"]);
  depth(9, 0x64, "2026-01-02T03:04:05.000Z");
  depth(5, 0x78, "2026-01-02T03:04:06.000Z");
  depth(9, 0x65, "2026-01-02T03:04:07.000Z");
  assert.deepEqual(shown(), ["1.2 m"]);
  depth(9, 0x66, "2026-01-02T03:04:20.000Z");
  assert.deepEqual(shown(), ["1.0 m"], "the other one has fallen silent");
  boat.add({ src: 1, pgn: 127250, ts: "2026-01-02T03:07:20.000Z", data: "ff1027ff7fff7ffd" });
  assert.deepEqual(shown(), ["1.0 m", "(3.0 min old)"]);
});

Deno.test("the boat's own clock is shown with its offset beside UTC", () => {
  const boat = new BoatValues(PANEL_PGNS);
  boat.add({ src: 1, pgn: 129033, ts: TS, data: "204e00e1f5057800" });
  const time = navigationRows(boat, "nautical").find(({ title }) => title === "Time");
  assert.deepEqual(time?.texts, ["2024-10-04", "02:46:40 UTC", "local 04:46+02:00"]);
});
