import assert from "node:assert/strict";
import {
  type Change,
  ChangeTracker,
  SILENT_INTERVALS,
  SILENT_MS,
  type TrackedFrame,
} from "../../cli/commands/dump/changes.ts";
import { decode, describePgn, encode, type Fields } from "../../src/pgn/mod.ts";
import { vectorPayloads } from "../support/payloads.ts";
import { Random } from "../support/random.ts";

const SECOND_MS = 1000;
const INTERVAL_127250_MS = 100;
const SNAPSHOT = { change: "snapshot" };

/** A tracker that is shown one device's messages by their fields, a millisecond apart. */
class Bench {
  readonly tracker = new ChangeTracker();
  #nowMs = 0;

  see(pgn: number, fields: Fields, frame: Partial<TrackedFrame> = {}): Change | undefined {
    const data = frame.data ?? encode(pgn, fields);
    return this.tracker.see({ src: 1, pgn, ...frame, data }, this.#nowMs++);
  }

  /** Names of the fields that are told; nothing when the message is not. */
  fields(pgn: number, fields: Fields): string[] | undefined {
    const change = this.see(pgn, fields);
    if (change === undefined) return undefined;
    assert.equal(change.change, "delta");
    return change.change === "delta" ? change.fields : undefined;
  }
}

Deno.test("changes: the first message is a snapshot, and the same again is not told", () => {
  const bench = new Bench();
  assert.deepEqual(bench.see(128267, { depth: 5 }), SNAPSHOT);
  assert.equal(bench.see(128267, { depth: 5 }), undefined);
});

Deno.test("changes: bus, source and PGN are told apart", () => {
  const bench = new Bench();
  for (const frame of [{}, { src: 2 }, { bus: "can0" }, { bus: "can1" }, { src: 2, bus: "can1" }]) {
    assert.deepEqual(bench.see(128267, { depth: 5 }, frame), SNAPSHOT);
    assert.equal(bench.see(128267, { depth: 5 }, frame), undefined);
  }
  assert.deepEqual(bench.see(130306, { wind_speed: 5 }), SNAPSHOT);
});

Deno.test("changes: a number counts beyond its tolerance, in either direction", () => {
  const bench = new Bench();
  bench.see(128267, { depth: 5 });
  assert.equal(bench.fields(128267, { depth: 5.1 }), undefined);
  assert.equal(bench.fields(128267, { depth: 4.9 }), undefined);
  assert.deepEqual(bench.fields(128267, { depth: 5.11 }), ["depth"]);
  assert.deepEqual(bench.fields(128267, { depth: 5 }), ["depth"]);
});

Deno.test("changes: what is not told does not move the baseline, so that a drift is told", () => {
  const bench = new Bench();
  bench.see(128267, { depth: 5 });
  const told = Array.from({ length: 50 }, (_, step) => bench.see(128267, { depth: 5 + (step + 1) / 50 }) !== undefined);
  assert.equal(told.filter(Boolean).length, 8); // a metre in steps of 0.12
  assert.equal(told.indexOf(true), 5);
});

Deno.test("changes: angles are compared around the circle", () => {
  const bench = new Bench();
  const turn = 2 * Math.PI;
  bench.see(127250, { heading: turn - 0.004 });
  assert.equal(bench.fields(127250, { heading: 0.004 }), undefined);
  assert.deepEqual(bench.fields(127250, { heading: 0.02 }), ["heading"]);
  assert.deepEqual(bench.fields(127250, { heading: Math.PI }), ["heading"]);
  bench.see(129025, { latitude: 0, longitude: 179.999999 });
  assert.equal(bench.fields(129025, { latitude: 0, longitude: -179.999999 }), undefined);
  assert.deepEqual(bench.fields(129025, { latitude: 0.001, longitude: 180 }), ["latitude"]);
});

Deno.test("changes: from null to a value and back counts", () => {
  const bench = new Bench();
  bench.see(128267, { depth: null });
  assert.deepEqual(bench.fields(128267, { depth: 5 }), ["depth"]);
  assert.equal(bench.fields(128267, { depth: 5.05 }), undefined);
  assert.deepEqual(bench.fields(128267, { depth: null }), ["depth"]);
});

Deno.test("changes: labels and numbers without a tolerance count when they differ", () => {
  const bench = new Bench();
  bench.see(127245, { instance: 0, direction_order: "no_order", position: 0 });
  assert.deepEqual(bench.fields(127245, { instance: 0, direction_order: 1, position: 0.001 }), ["direction_order"]);
  bench.see(128267, { depth: 5, offset: 0.5 });
  assert.deepEqual(bench.fields(128267, { depth: 5.05, offset: 0.6 }), ["offset"]);
});

Deno.test("changes: counters, reserved bits, and clocks beside measured values do not count", () => {
  const bench = new Bench();
  bench.see(128267, { sid: 1, depth: 5 });
  assert.equal(bench.fields(128267, { sid: 2, depth: 5 }), undefined);
  bench.see(128275, { days_since_1970: 20_000, seconds_today: 10, log: 500, trip_log: 5 });
  assert.equal(bench.fields(128275, { days_since_1970: 20_001, seconds_today: 11, log: 501, trip_log: 5 }), undefined);
  assert.deepEqual(bench.fields(128275, { days_since_1970: 20_001, seconds_today: 11, log: 511, trip_log: 5 }), [
    "log",
  ]);
  const wind = encode(130306, { wind_speed: 5, wind_angle: 1, wind_reference: "apparent" });
  bench.see(130306, {}, { data: wind });
  const flipped = wind.slice();
  flipped[7]! ^= 0x55;
  flipped[5]! ^= 0x80;
  assert.equal(bench.see(130306, {}, { data: flipped }), undefined);
});

Deno.test("changes: without measured values a clock counts like every field", () => {
  const bench = new Bench();
  bench.see(126992, { time_source: 0, days_since_1970: 20_000, seconds_today: 10 });
  assert.deepEqual(bench.fields(126992, { time_source: 0, days_since_1970: 20_000, seconds_today: 11 }), [
    "seconds_today",
  ]);
});

Deno.test("changes: instances, references and registers that one device mixes do not flap", () => {
  const mixes: [pgn: number, messages: Fields[]][] = [
    [127488, [{ engine_instance: 0, engine_speed: 800 }, { engine_instance: 1, engine_speed: 2000 }]],
    [127505, [{ instance: 0, fluid_type: 0, level: 20 }, { instance: 0, fluid_type: 1, level: 80 }]],
    [127508, [{ instance: 0, voltage: 12 }, { instance: 1, voltage: 24 }, { instance: 2, voltage: 5 }]],
    [130306, [{ wind_speed: 5, wind_reference: "apparent" }, { wind_speed: 9, wind_reference: "true_north" }]],
    [130312, [{ instance: 0, temperature_source: 0, actual_temperature: 280 }, {
      instance: 0,
      temperature_source: 1,
      actual_temperature: 300,
    }]],
    [129039, [{ user_id: 1, latitude: 50, longitude: 1 }, { user_id: 2, latitude: 51, longitude: 1 }]],
  ];
  for (const [pgn, messages] of mixes) {
    const bench = new Bench();
    for (const message of messages) assert.deepEqual(bench.see(pgn, message), SNAPSHOT, `${pgn}`);
    for (const message of [...messages, ...messages]) assert.equal(bench.see(pgn, message), undefined, `${pgn}`);
    assert.equal(bench.tracker.size, messages.length);
  }
});

Deno.test("changes: registers and layouts of a proprietary PGN do not flap", () => {
  const bench = new Bench();
  const register = (id: number, value: number) =>
    Uint8Array.of(0x66, 0x99, id & 0xff, id >> 8, value & 0xff, value >> 8, 0, 0);
  const messages = [register(0xfff, 5000), register(0xed8d, 1200), Uint8Array.fromHex("e59801020304ffff")];
  for (const data of messages) assert.deepEqual(bench.see(61184, {}, { data }), SNAPSHOT);
  for (const data of messages) assert.equal(bench.see(61184, {}, { data }), undefined);
  assert.equal(bench.see(61184, {}, { data: register(0xfff, 5001) })?.change, "delta");
});

Deno.test("changes: in a list of objects the tolerances of their fields hold", () => {
  const satellites = (snr: number, elevation: number, prn = 4) => ({
    satellites: [{ prn, elevation, azimuth: 1, snr }, { prn: 9, elevation: 0.5, azimuth: 2, snr: 30 }],
    sats_in_view: 2,
  });
  const bench = new Bench();
  bench.see(129540, satellites(30, 0.5));
  assert.equal(bench.fields(129540, satellites(30.5, 0.51)), undefined);
  assert.deepEqual(bench.fields(129540, satellites(32, 0.5)), ["satellites"]);
  assert.deepEqual(bench.fields(129540, satellites(32, 0.5, 5)), ["satellites"]);
});

Deno.test("changes: another length is a snapshot", () => {
  const bench = new Bench();
  bench.see(128267, { depth: 5 });
  assert.deepEqual(bench.see(128267, {}, { data: encode(128267, { depth: 5 }).subarray(0, 7) }), SNAPSHOT);
  bench.see(64000, {}, { data: Uint8Array.of(1, 2) });
  assert.deepEqual(bench.see(64000, {}, { data: Uint8Array.of(1, 2, 3) }), SNAPSHOT);
});

Deno.test("changes: of a PGN that nobody has described every byte counts", () => {
  const bench = new Bench();
  const data = new Uint8Array(20);
  assert.deepEqual(bench.see(64001, {}, { data }), SNAPSHOT);
  data[3] = 1;
  data[19] = 1;
  const delta = { change: "delta", fields: [], diff_bytes: 2, full_bytes: 20 };
  assert.deepEqual(bench.see(64001, {}, { data }), delta, "the payload was copied");
  assert.equal(bench.see(64001, {}, { data }), undefined);
});

Deno.test("changes: of a maker's own PGN bits that nobody knows count as well, unless a counter went on", () => {
  const bench = new Bench();
  const airmar = (sid: number, last: number) =>
    bench.see(65408, {}, { data: Uint8Array.of(0x87, 0x98, sid, 0xf1, 0, 0, 0, last) });
  airmar(1, 0);
  assert.deepEqual(airmar(1, 9), { change: "delta", fields: [], diff_bytes: 1, full_bytes: 8 });
  assert.equal(airmar(2, 8), undefined);
});

Deno.test("changes: a silence is told once, after three intervals of the PGN or five seconds", () => {
  const tracker = new ChangeTracker();
  const heading = encode(127250, { heading: 1 });
  const see = (pgn: number, timeMs: number) => tracker.see({ src: 1, bus: "can0", pgn, data: heading }, timeMs);
  see(127250, 1000);
  see(64001, 1000);
  const headingSilentMs = SILENT_INTERVALS * INTERVAL_127250_MS;
  assert.deepEqual(tracker.silences(1000 + headingSilentMs - 1), []);
  assert.deepEqual(tracker.silences(1000 + headingSilentMs), [
    { change: "idle", src: 1, bus: "can0", pgn: 127250, lastMs: 1000, sinceMs: 1000 + headingSilentMs },
  ]);
  assert.deepEqual(tracker.silences(1000 + SILENT_MS - 1), []);
  assert.deepEqual(tracker.silences(1000 + SILENT_MS).map(({ pgn }) => pgn), [64001]);
  assert.deepEqual(tracker.silences(1e9), []);
});

Deno.test("changes: after a silence the next message is a snapshot, and the next silence is told again", () => {
  const tracker = new ChangeTracker();
  const see = (timeMs: number) => tracker.see({ src: 1, pgn: 127250, data: encode(127250, { heading: 1 }) }, timeMs);
  see(0);
  assert.equal(see(100), undefined);
  assert.equal(tracker.silences(SECOND_MS).length, 1);
  assert.deepEqual(see(SECOND_MS), SNAPSHOT);
  assert.equal(see(SECOND_MS + 100), undefined);
  assert.equal(tracker.silences(9 * SECOND_MS).length, 1);
});

Deno.test("changes: a device that is slower than the standard is silent after three intervals of its own", () => {
  const tracker = new ChangeTracker();
  const silences: number[] = [];
  const live = (atMs: number, gapMs: number, count: number) => {
    for (let index = 0; index < count; index++) {
      const timeMs = atMs + index * gapMs;
      silences.push(...tracker.silences(timeMs).map(({ sinceMs }) => sinceMs));
      tracker.see({ src: 1, pgn: 127250, data: encode(127250, { heading: 1 }) }, timeMs);
    }
  };
  live(0, SECOND_MS, 10);
  assert.deepEqual(silences, [SILENT_INTERVALS * INTERVAL_127250_MS], "the first gap, when its pace is not known yet");
  live(10 * SECOND_MS, INTERVAL_127250_MS, 200);
  silences.push(...tracker.silences(31 * SECOND_MS).map(({ sinceMs }) => sinceMs));
  assert.deepEqual(silences.slice(1), [29_900 + SILENT_INTERVALS * INTERVAL_127250_MS], "after it was fast again");
});

Deno.test("changes: a measured number without a tolerance in the definitions has that of its unit", () => {
  const bench = new Bench();
  const pilot = (heading: number) => {
    const data = Uint8Array.of(0x3b, 0x9f, 0xff, 0xff, 0xff, heading & 0xff, heading >> 8, 0xff);
    return bench.see(65359, {}, { data });
  };
  pilot(10_000);
  assert.equal(pilot(10_090), undefined);
  assert.equal(pilot(10_110)?.change, "delta");
});

Deno.test("changes: silences come in the order in which they began", () => {
  const tracker = new ChangeTracker();
  for (const [src, timeMs] of [[3, 500], [1, 100], [2, 300]] as const) {
    tracker.see({ src, pgn: 64001, data: new Uint8Array(8) }, timeMs);
  }
  tracker.see({ src: 3, pgn: 64001, data: new Uint8Array(8) }, 900);
  assert.deepEqual(tracker.silences(1e6).map(({ src }) => src), [1, 2, 3]);
});

Deno.test("changes: time that goes back is no silence, and silences are counted from there", () => {
  const tracker = new ChangeTracker();
  tracker.see({ src: 1, pgn: 64001, data: new Uint8Array(8) }, 1e6);
  assert.deepEqual(tracker.silences(1e6), []);
  assert.deepEqual(tracker.silences(1000), []);
  assert.deepEqual(tracker.silences(1000 + SILENT_MS).map(({ sinceMs }) => sinceMs), [1000 + SILENT_MS]);
});

Deno.test("changes: what is remembered is bounded, and what was not heard for the longest time is forgotten first", () => {
  const tracker = new ChangeTracker({ maxMessages: 3 });
  const see = (src: number) => tracker.see({ src, pgn: 64001, data: new Uint8Array(8) }, 0)?.change;
  for (const src of [1, 2, 3]) assert.equal(see(src), "snapshot");
  assert.equal(see(1), undefined);
  assert.equal(see(4), "snapshot");
  assert.equal(tracker.size, 3);
  assert.equal(see(1), undefined);
  assert.equal(see(2), "snapshot");
  for (let src = 5; src < 250; src++) see(src);
  assert.equal(tracker.size, 3);
  assert.equal(tracker.silences(1e6).length, 3);
});

Deno.test("changes: of a random walk every value is within its tolerance of what was told last", () => {
  const random = new Random(1);
  const tracker = new ChangeTracker();
  const tolerance = 0.05;
  const turn = 2 * Math.PI;
  let [angle, told, count] = [1, NaN, 0];
  for (let step = 0; step < 20_000; step++) {
    angle = (angle + (random.next() - 0.5) * 0.06 + turn) % turn;
    const data = encode(130306, { wind_speed: 5, wind_angle: angle, wind_reference: "apparent" });
    const value = decode(130306, data)?.wind_angle;
    assert.ok(typeof value === "number");
    const apart = Math.abs(value - told) % turn;
    const isFar = !(Math.min(apart, turn - apart) <= tolerance + 1e-9);
    const change = tracker.see({ src: 1, pgn: 130306, data }, step);
    assert.equal(change !== undefined, isFar, `step ${step}: ${value} after ${told}`);
    if (change) [told, count] = [value, count + 1];
  }
  assert.ok(count > 100 && count < 10_000, `${count} were told`);
});

Deno.test("changes: the same payload is never told again, and a changed bit of a described PGN only in a field", () => {
  const random = new Random(2);
  let untold = 0;
  for (const { pgn, payload } of vectorPayloads()) {
    const tracker = new ChangeTracker();
    const see = (data: Uint8Array) => tracker.see({ src: 1, pgn, data }, 0);
    assert.deepEqual(see(payload), { change: "snapshot" });
    assert.equal(see(payload.slice()), undefined);
    const { layouts = [] } = describePgn(pgn) ?? {};
    const isPublic = layouts.length > 0 && layouts.every(({ matches }) => matches === undefined);
    if (!isPublic || !decode(pgn, payload)) continue;
    for (let round = 0; payload.length > 0 && round < 20; round++) {
      const changed = payload.slice();
      changed[random.int(changed.length)]! ^= 1 << random.int(8);
      const same = JSON.stringify(decode(pgn, changed)) === JSON.stringify(decode(pgn, payload));
      const told = see(changed);
      if (same) assert.equal(told, undefined, `${pgn}`);
      if (told?.change === "delta") assert.ok(told.fields.length > 0, `${pgn}`);
      see(payload);
      untold += same ? 1 : 0;
    }
  }
  assert.ok(untold > 100, `${untold} were reserved bits`);
});

Deno.test("changes: random payloads of all PGNs are taken, and memory stays bounded", () => {
  const random = new Random(3);
  const tracker = new ChangeTracker({ maxMessages: 500 });
  const pgns = [...new Set(vectorPayloads().map(({ pgn }) => pgn)), 64001, 0, 131071];
  let timeMs = 0;
  for (let round = 0; round < 20_000; round++) {
    timeMs += random.int(50) - (random.chance(0.001) ? 10_000 : 0);
    const data = random.bytes(random.pick([0, 1, 7, 8, 8, 8, 20, 223]));
    const idle = tracker.silences(timeMs);
    assert.ok(idle.every(({ sinceMs }) => sinceMs <= timeMs));
    const change = tracker.see({ src: random.int(4), pgn: random.pick(pgns), data }, timeMs);
    assert.ok(change === undefined || ["snapshot", "delta"].includes(change.change));
    assert.ok(tracker.size <= 500);
  }
});
