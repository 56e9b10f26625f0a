import assert from "node:assert/strict";
import { Broker } from "../../src/broker/mod.ts";
import { encodeSnapshot, parseSnapshot } from "../../src/cloud/mod.ts";
import { buildCanId, pgnOfId } from "../../src/frame/mod.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";
import { anyMessage } from "./replica_fixture.ts";
import { FrameClock } from "../../src/past/mod.ts";

const BUSES = ["can0", "can1"];
const EPOCH = "a1".repeat(16);

/** A broker that has heard something. */
function heard(random: Random): Broker {
  const broker = new Broker({ buses: BUSES, ringFrames: 64 });
  for (let i = random.int(300); i > 0; i--) broker.publish(anyMessage(random, i));
  return broker;
}

function textOf(broker: Broker): string {
  return JSON.stringify(encodeSnapshot(broker, { epoch: EPOCH, timeMs: 7.5, nowMs: 1000 }));
}

/** Puts a snapshot into a new broker, as a replica does. */
function restored(text: string, buses: readonly string[] = BUSES): Broker {
  const { seq, devices, values } = parseSnapshot(text, buses);
  const broker = new Broker({ buses, ringFrames: 64, firstSeq: seq + 1 });
  for (const device of devices) broker.registry.restore(device);
  for (const { seq, message } of values) broker.values.set(seq, message);
  return broker;
}

/** Another value in some place of a JSON value. */
function damaged(value: unknown, random: Random): unknown {
  if (typeof value !== "object" || value === null || random.chance(0.1)) {
    return random.pick<unknown>([null, -1, 0.5, 255, 2 ** 60, "", "0x0", "zz", [], {}, value]);
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return null;
  const key = random.pick(keys);
  const copy: Record<string, unknown> = { ...value };
  copy[key] = damaged(copy[key], random);
  return Array.isArray(value) ? Object.values(copy) : copy;
}

Deno.test("a snapshot is read back as it was written down, and gives the same again", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const broker = heard(new Random(seed));
    const text = textOf(broker);
    const { epoch, seq, timeMs } = parseSnapshot(text, BUSES);
    assert.deepEqual([epoch, seq, timeMs], [EPOCH, broker.head, 7.5]);
    const again = JSON.stringify(encodeSnapshot(restored(text), { epoch: EPOCH, timeMs: 7.5, nowMs: 0 }));
    assert.equal(again, text, `seed ${seed}`);
  }
});

Deno.test("buses of a snapshot are told by their names, and those that are no more are left out", () => {
  const broker = heard(new Random(3));
  const swapped = restored(textOf(broker), ["can1", "can5"]);
  const of = ({ registry, values }: Broker, bus: number) =>
    [...registry].filter((device) => device.bus === bus)
      .map(({ src, name }) => [src, name, values.of(bus, src).map(({ pgn, seq }) => [pgn, seq])]);
  assert.ok(of(swapped, 0).length > 5);
  assert.deepEqual(of(swapped, 0), of(broker, 1));
  assert.deepEqual(of(swapped, 1), []);
});

Deno.test("a snapshot that was damaged anywhere is refused, or can be used", () => {
  let refused = 0;
  for (let seed = 1; seed <= 600; seed++) {
    const random = new Random(seed);
    const text = JSON.stringify(damaged(JSON.parse(textOf(heard(new Random(seed % 7)))), random));
    try {
      restored(text);
    } catch (error) {
      if (!(error instanceof TypeError)) throw new Error(`seed ${seed}`, { cause: error });
      refused++;
    }
  }
  assert.ok(refused > 200, `${refused}`);
});

Deno.test("a device twice, a NAME twice, and a value of later are refused", () => {
  const name = "0x1122334455667788";
  const device = { bus: 0, src: 1, first_us: 1, last_us: 1, silent_ms: 0, packets: 1, bytes: 1 };
  const value = { bus: 0, id: 1, seq: 5, time_us: 1, data: "" };
  const good = { version: 1, epoch: EPOCH, seq: 5, time_ms: null, buses: BUSES, devices: [device], values: [value] };
  parseSnapshot(JSON.stringify(good), BUSES);
  const wrong = [
    { devices: [device, device] },
    { devices: [{ ...device, name }, { ...device, src: 2, name }] },
    { values: [{ ...value, seq: 6 }] },
    { values: [{ ...value, id: 2 ** 29 }] },
    { values: [{ ...value, data: "abc" }] },
    { version: 2 },
    { epoch: 1 },
    { seq: -1 },
  ];
  for (const part of wrong) {
    assert.throws(() => parseSnapshot(JSON.stringify({ ...good, ...part }), BUSES), TypeError, JSON.stringify(part));
  }
});

Deno.test("a boat that fills all values with long payloads has the newest written down, and short ones all", () => {
  for (const [length, most] of [[1785, 8 * 2 ** 20 / (2 * 1785)], [8, Infinity]] as const) {
    const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
    for (let seq = 1; seq <= 5000; seq++) {
      const id = buildCanId({ prio: 6, pgn: 0x1f000 + seq % 250, src: Math.floor(seq / 250), dst: 255 });
      broker.publish({ ...message({ monoMs: seq, data: new Uint8Array(length) }), id, pgn: pgnOfId(id) });
    }
    const text = textOf(broker);
    const seqs = parseSnapshot(text, ["can0"]).values.map(({ seq }) => seq).sort((a, b) => a - b);
    assert.equal(seqs.at(-1), 5000);
    assert.equal(seqs.length, 5000 - (seqs[0] ?? 0) + 1, "the newest");
    assert.ok(
      most === Infinity ? seqs.length === 5000 : seqs.length <= most && seqs.length > 0.9 * most,
      `${seqs.length}`,
    );
    assert.ok(text.length < 12 * 2 ** 20);
  }
});

/** What was counted after each of these times, seconds. */
function counted(times: readonly number[], newest?: number): number[] {
  const time = new FrameClock({ maxStepMs: 60_000, newestMs: newest === undefined ? undefined : newest * 1000 });
  return times.map((seconds) => time.advance(seconds * 1000) / 1000);
}

Deno.test("talk time is the time between frames, and begins with the first", () => {
  assert.deepEqual(counted([1000, 1001, 1001, 1031]), [0, 1, 1, 31]);
});

Deno.test("talk time goes on from the newest frame before", () => {
  assert.deepEqual(counted([1000, 1001], 990), [10, 11]);
});

Deno.test("a silence and a clock set forwards count for a step at most", () => {
  assert.deepEqual(counted([0, 100_000, 100_001]), [0, 60, 61]);
});

Deno.test("a frame that comes late counts for nothing, and nothing is counted twice", () => {
  assert.deepEqual(counted([100, 98, 99, 100, 101]), [0, 0, 0, 0, 1]);
});

Deno.test("when a clock is set back counting goes on from there", () => {
  assert.deepEqual(counted([5000, 100, 101, 102]), [0, 0, 1, 2]);
});
