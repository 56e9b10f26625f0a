import assert from "node:assert/strict";
import type { Device } from "../../src/client/mod.ts";
import { formatName } from "../../src/frame/mod.ts";
import { conflictText, ConflictWatch, isProblem, nameOfClaim, namesOnTwoBuses } from "../../web/views/conflicts.ts";
import {
  deviceKey,
  deviceTitle,
  findDevice,
  inOrder,
  IntervalMeter,
  TrafficMeter,
  versionsText,
} from "../../web/views/device_rows.ts";
import { ageText, durationText, plainText, rateText } from "../../web/views/plain_text.ts";

const TIME = "2026-01-02T03:04:05.000Z";
const A = "0xc07891001cb260c1";
const B = "0xc0788c00e7e15895";

function device(given: Partial<Device>): Device {
  return { src: 35, first_seen: TIME, last_seen: TIME, packet_count: 0, byte_count: 0, ...given };
}

function kinds(watch: ConflictWatch): string[] {
  return watch.conflicts.map(({ type }) => type);
}

Deno.test("a device is found by its NAME, or by bus and address while that is unknown", () => {
  const devices = [device({ name: A }), device({ src: 36, bus: "can1" }), device({ src: 37 })];
  for (const each of devices) assert.equal(findDevice(devices, deviceKey(each)), each);
  assert.deepEqual(devices.map(deviceKey), [A, "can1/36", "37"]);
  assert.equal(findDevice(devices, "can0/36"), undefined);
  assert.equal(findDevice(devices, A.slice(2).toUpperCase()), devices[0], "as -send-rules write it");
  const order = inOrder([
    device({ src: 9, bus: "can1" }),
    device({ src: 10, bus: "can0" }),
    device({ src: 2, bus: "can1" }),
  ]);
  assert.deepEqual(order.map(({ src }) => src), [10, 2, 9]);
});

Deno.test("titles and versions show what a device has told, without characters that cannot be seen", () => {
  assert.equal(deviceTitle(device({ manufacturer: "Garmin", model_id: "GPS 24xd" })), "Garmin GPS 24xd");
  assert.equal(deviceTitle(device({ model_id: "  " })), "Device at address 35");
  assert.equal(
    versionsText(device({ software_version: "4.10", model_serial: "7\u0007" })),
    "software 4.10, serial 7\ufffd",
  );
  assert.equal(plainText("a\u0000b\u202ec\n<img onerror=x>"), "a\ufffdb\ufffdc\ufffd<img onerror=x>");
});

Deno.test("traffic is the difference of two tables, and unknown after a restart", () => {
  const meter = new TrafficMeter();
  const at = (packets: number, bytes: number, nowMs: number) => {
    const now = device({ packet_count: packets, byte_count: bytes });
    meter.count([now], nowMs);
    return meter.trafficOf(now);
  };
  assert.equal(at(100, 800, 1000), undefined);
  assert.deepEqual(at(120, 960, 3000), { messages: 10, bytes: 80 });
  assert.equal(at(5, 40, 5000), undefined);
  meter.count([], 7000);
  assert.equal(at(10, 80, 9000), undefined);
});

Deno.test("an interval is the mean of the last ten, and begins again after a gap", () => {
  const meter = new IntervalMeter();
  assert.equal(meter.intervalOf(127250), undefined);
  for (let i = 0; i < 5; i++) meter.received(127250, i * 100);
  assert.equal(meter.intervalOf(127250), 100);
  for (let i = 0; i <= 10; i++) meter.received(127250, 1000 + i * 250);
  assert.equal(meter.intervalOf(127250), 250);
  meter.interrupted();
  meter.received(127250, 90_000);
  assert.equal(meter.intervalOf(127250), undefined);
});

Deno.test("two devices that contend for an address are a conflict, one that follows another is not", () => {
  const watch = new ConflictWatch();
  watch.table([device({ name: A }), device({ name: B, src: 36 })], 100_000);
  watch.table([device({ name: A }), device({ name: B, src: 36 })], 110_000);
  assert.deepEqual(kinds(watch), []);
  watch.claimed({ bus: undefined, src: 35, name: A, timeMs: 200_000 });
  watch.claimed({ bus: undefined, src: 35, name: B, timeMs: 200_200 });
  assert.deepEqual(kinds(watch).toSorted(), ["address", "moved"]);
  const text = watch.conflicts.map((each) => conflictText(each, (name) => name)).join("\n");
  assert.ok(text.includes(`Two devices claim address 35: ${A} and ${B}`), text);
  const calm = new ConflictWatch();
  calm.claimed({ bus: "can0", src: 35, name: A, timeMs: 0 });
  calm.claimed({ bus: "can0", src: 35, name: B, timeMs: 60_000 });
  assert.deepEqual(kinds(calm), ["passed on"]);
  calm.claimed({ bus: "can0", src: 35, name: A, timeMs: 120_000 });
  assert.deepEqual(kinds(calm), ["address", "passed on"], "both insist on it");
});

Deno.test("one NAME on two addresses is a conflict, a change of address is reported as such", () => {
  const watch = new ConflictWatch();
  for (const [src, timeMs] of [[35, 0], [36, 10_000]] as const) watch.claimed({ bus: undefined, src, name: A, timeMs });
  assert.deepEqual(kinds(watch), ["moved"]);
  assert.ok(!watch.conflicts.some(isProblem));
  for (let i = 0; i < 200; i++) {
    watch.claimed({ bus: undefined, src: 35 + i % 2, name: A, timeMs: 20_000 + i * 10_000 });
  }
  assert.deepEqual(kinds(watch), ["name", "moved"], "each conflict is listed once");
  watch.claimed({ bus: undefined, src: 254, name: B, timeMs: 30_000 });
  assert.equal(watch.conflicts[0]?.type, "no address");
  assert.deepEqual([...namesOnTwoBuses([device({ name: A, bus: "can0" }), device({ name: A, bus: "can1" })]).keys()], [
    A,
  ]);
});

Deno.test("a table that is older than a claim is no change of address", () => {
  const watch = new ConflictWatch();
  watch.table([device({ name: A })], 100_000);
  watch.claimed({ bus: undefined, src: 40, name: A, timeMs: 200_000 });
  watch.table([device({ name: A })], 200_500);
  assert.deepEqual(kinds(watch), ["moved"]);
  watch.table([device({ name: A, src: 41 })], 300_000);
  assert.deepEqual(kinds(watch), ["moved", "moved"]);
});

Deno.test("the NAME of an address claim is read as the server writes it", () => {
  assert.equal(nameOfClaim("c160b21c009178c0"), A);
  assert.equal(nameOfClaim("c160b21c009178c0"), formatName(0xc07891001cb260c1n));
  assert.equal(nameOfClaim("c160"), undefined);
});

Deno.test("durations, ages and rates have few digits", () => {
  assert.deepEqual([40, 1250, 12_000, 600_000, 8_000_000].map(durationText), [
    "40 ms",
    "1.25 s",
    "12 s",
    "10 min",
    "2 h",
  ]);
  const day = 86_400_000;
  assert.deepEqual([2 * day, 800 * day, 20_000 * day].map(durationText), ["2 d", "2 years", "55 years"]);
  assert.deepEqual([-500, 400, 12_000].map(ageText), ["0.0 s", "0.4 s", "12 s"]);
  assert.deepEqual([0, 0.2, 12.54, 300.4].map(rateText), ["0/s", "0.20/s", "12.5/s", "300/s"]);
});
