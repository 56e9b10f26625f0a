import assert from "node:assert/strict";
import { DEFAULT_DEVICE_IDLE_TIMEOUT_MS, Registry, type RestoredDevice } from "../../src/broker/mod.ts";
import { buildName, parseName } from "../../src/frame/mod.ts";
import { claim, message, nameFields, product, START_US } from "../support/messages.ts";

const GARMIN = buildName(nameFields({
  uniqueNumber: 1234,
  manufacturerCode: 229,
  deviceInstance: 3,
  deviceFunction: 130,
  deviceClass: 25,
  industryGroup: 4,
}));
const AIRMAR = buildName(nameFields({ uniqueNumber: 77, manufacturerCode: 135, deviceInstance: 1 }));

/** A registry that writes down its events as `event bus/src`. */
function watched(buses: string[] = ["can0"]): { registry: Registry; events: string[] } {
  const registry = new Registry(buses);
  const events: string[] = [];
  registry.listen(({ event, device }) => events.push(`${event} ${device.bus}/${device.src}`));
  return { registry, events };
}

function addresses(registry: Registry): string[] {
  return [...registry].map(({ bus, src }) => `${bus}/${src}`);
}

Deno.test("registry adds a source at its first frame and counts its messages and bytes", () => {
  const { registry, events } = watched();
  registry.note(message({ src: 9, data: [1, 2, 3], monoMs: 10 }));
  registry.note(message({ src: 9, data: [], monoMs: 20 }));
  registry.note(message({ src: 9, pgn: 129029, data: new Uint8Array(223), monoMs: 35 }));
  assert.deepEqual(registry.describe(registry.get(0, 9)!), {
    src: 9,
    first_seen: "2026-01-02T03:04:05.010Z",
    last_seen: "2026-01-02T03:04:05.035Z",
    packet_count: 3,
    byte_count: 226,
  });
  assert.deepEqual(events, ["added 0/9"]);
  assert.equal(registry.size, 1);
});

Deno.test("registry shows every field of the specification once claim and product information are known", () => {
  const registry = new Registry(["can0", "can1"]);
  registry.note(claim(GARMIN, { src: 9, bus: 1 }));
  registry.note(product("GMI 10", { src: 9, bus: 1 }));
  assert.deepEqual(registry.describe(registry.get(1, 9)!), {
    src: 9,
    bus: "can1",
    name: "0x403282031ca004d2",
    manufacturer: "Garmin",
    manufacturer_code: 229,
    device_class: 25,
    device_function: 130,
    device_instance: 3,
    unique_number: 1234,
    product_code: 1337,
    model_id: "GMI 10",
    software_version: "1.0.2",
    model_version: "rev B",
    model_serial: "SN-77",
    first_seen: "2026-01-02T03:04:05.000Z",
    last_seen: "2026-01-02T03:04:05.000Z",
    packet_count: 2,
    byte_count: 142,
  });
});

Deno.test("registry leaves out what it does not know yet, and the bus when there is only one", () => {
  const registry = new Registry(["can0"]);
  registry.note(claim(GARMIN, { src: 9 }));
  const keys = Object.keys(registry.describe(registry.get(0, 9)!));
  assert.ok(keys.includes("name") && !keys.includes("model_id") && !keys.includes("bus"));
});

Deno.test("a claim of a source already heard keeps its counts and is an update", () => {
  const { registry, events } = watched();
  registry.note(message({ src: 9 }));
  registry.note(claim(GARMIN, { src: 9, monoMs: 5 }));
  assert.deepEqual(events, ["added 0/9", "updated 0/9"]);
  assert.equal(registry.get(0, 9)!.packets, 2);
  assert.equal(registry.get(0, 9)!.name, GARMIN);
});

Deno.test("the same claim again changes nothing and is no event", () => {
  const { registry, events } = watched();
  for (let i = 0; i < 5; i++) registry.note(claim(GARMIN, { src: 9 }));
  assert.deepEqual(events, ["added 0/9"]);
  assert.equal(registry.get(0, 9)!.packets, 5);
});

Deno.test("registry evicts the old source when a NAME moves and keeps what the device told of itself", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 9 }));
  registry.note(product("GMI 10", { src: 9 }));
  registry.note(claim(GARMIN, { src: 30 }));
  assert.deepEqual(addresses(registry), ["0/30"]);
  assert.equal(registry.get(0, 9), undefined);
  assert.equal(registry.get(0, 30)!.product?.modelId, "GMI 10");
  assert.equal(registry.get(0, 30)!.packets, 1);
  assert.deepEqual(events, ["added 0/9", "updated 0/9", "removed 0/9", "added 0/30"]);
});

Deno.test("a NAME that moves to a source already heard evicts the old one and updates the new", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 9 }));
  registry.note(message({ src: 30 }));
  registry.note(claim(GARMIN, { src: 30 }));
  assert.deepEqual(events, ["added 0/9", "added 0/30", "removed 0/9", "updated 0/30"]);
  assert.deepEqual(addresses(registry), ["0/30"]);
});

Deno.test("another NAME at an address removes the old device before it adds the new one", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 9 }));
  registry.note(product("GMI 10", { src: 9 }));
  registry.note(claim(AIRMAR, { src: 9 }));
  assert.deepEqual(events.slice(2), ["removed 0/9", "added 0/9"]);
  const { name, packets, product: info } = registry.get(0, 9)!;
  assert.deepEqual({ name, packets, info }, { name: AIRMAR, packets: 1, info: undefined });
});

Deno.test("two devices that swap their addresses end up with one entry each, under their own NAMEs", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 1 }));
  registry.note(claim(AIRMAR, { src: 2 }));
  registry.note(claim(GARMIN, { src: 2 }));
  assert.deepEqual(addresses(registry), ["0/2"]);
  registry.note(claim(AIRMAR, { src: 1 }));
  assert.deepEqual([registry.get(0, 1)!.name, registry.get(0, 2)!.name], [AIRMAR, GARMIN]);
  assert.deepEqual(events, ["added 0/1", "added 0/2", "removed 0/1", "removed 0/2", "added 0/2", "added 0/1"]);
  assert.equal(registry.size, 2);
});

Deno.test("product information that was heard before the claim is kept when the claim comes", () => {
  const { registry } = watched();
  registry.note(product("GMI 10", { src: 9 }));
  registry.note(claim(GARMIN, { src: 9 }));
  assert.equal(registry.get(0, 9)!.product?.modelId, "GMI 10");
});

Deno.test("product information is an update only when it says something new", () => {
  const { registry, events } = watched();
  for (const model of ["A", "A", "B"]) registry.note(product(model, { src: 9 }));
  assert.deepEqual(events, ["added 0/9", "updated 0/9", "updated 0/9"]);
  assert.equal(registry.get(0, 9)!.product?.modelId, "B");
});

Deno.test("product information that is cut short is counted and changes nothing", () => {
  const { registry, events } = watched();
  registry.note(product("whole", { src: 9 }));
  registry.note(product("short", { src: 9, length: 133 }));
  registry.note(product("", { src: 9, length: 0 }));
  assert.equal(registry.get(0, 9)!.product?.modelId, "whole");
  assert.equal(registry.counters.invalidProducts, 2);
  assert.deepEqual(events, ["added 0/9", "updated 0/9"]);
});

Deno.test("a claim of NAME 0 or of a wrong length is counted and claims nothing", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 9 }));
  registry.note(claim(0n, { src: 9 }));
  registry.note(claim(0n, { src: 10 }));
  for (const length of [0, 7, 9]) registry.note(message({ src: 9, pgn: 60928, data: new Uint8Array(length).fill(1) }));
  assert.equal(registry.counters.invalidClaims, 5);
  assert.equal(registry.get(0, 9)!.name, GARMIN);
  assert.equal(registry.get(0, 10)!.name, undefined);
  assert.deepEqual(events, ["added 0/9", "added 0/10"]);
});

Deno.test("a device that cannot claim an address loses its entry and leaves no phantom at 254", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 9 }));
  registry.note(claim(GARMIN, { src: 254 }));
  assert.deepEqual(events, ["added 0/9", "removed 0/9"]);
  assert.deepEqual(addresses(registry), []);
  assert.equal(registry.get(0, 254), undefined);
  registry.note(claim(AIRMAR, { src: 254 }));
  assert.equal(registry.size, 0);
});

Deno.test("a claim from 255, which no device can send, is counted as invalid and moves nobody", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 9 }));
  registry.note(claim(GARMIN, { src: 255 }));
  assert.deepEqual(events, ["added 0/9"]);
  assert.deepEqual(addresses(registry), ["0/9"]);
  assert.equal(registry.counters.invalidClaims, 1);
});

Deno.test("messages from 254 and 255 make no entry, those from 253 do", () => {
  const { registry } = watched();
  for (const src of [253, 254, 255]) registry.note(message({ src }));
  registry.note(product("nobody", { src: 254 }));
  assert.deepEqual(addresses(registry), ["0/253"]);
});

Deno.test("the same source and the same NAME on two buses are two devices", () => {
  const { registry, events } = watched(["can0", "can1"]);
  registry.note(claim(GARMIN, { src: 9, bus: 0 }));
  registry.note(claim(GARMIN, { src: 9, bus: 1 }));
  registry.note(claim(AIRMAR, { src: 0, bus: 1 }));
  registry.note(claim(GARMIN, { src: 10, bus: 1 }));
  assert.deepEqual(addresses(registry), ["0/9", "1/0", "1/10"]);
  assert.ok(!events.includes("removed 0/9"));
});

Deno.test("a NAME at address 0 moves like any other, to and fro", () => {
  const { registry } = watched(["can0", "can1"]);
  for (const src of [0, 253, 0]) registry.note(claim(GARMIN, { src, bus: 1 }));
  assert.deepEqual(addresses(registry), ["1/0"]);
});

Deno.test("a device that says nothing for longer than the idle time is removed, stats-only entries too", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 9, monoMs: 0 }));
  registry.note(message({ src: 10, monoMs: 0 }));
  registry.note(message({ src: 11, monoMs: 1 }));
  registry.expire(DEFAULT_DEVICE_IDLE_TIMEOUT_MS, DEFAULT_DEVICE_IDLE_TIMEOUT_MS);
  assert.equal(registry.size, 3);
  registry.expire(DEFAULT_DEVICE_IDLE_TIMEOUT_MS + 1, DEFAULT_DEVICE_IDLE_TIMEOUT_MS);
  assert.deepEqual(addresses(registry), ["0/11"]);
  assert.deepEqual(events.slice(3), ["removed 0/9", "removed 0/10"]);
});

Deno.test("the idle time counts from the last message of any kind, by the monotonic clock", () => {
  const { registry } = watched();
  registry.note(claim(GARMIN, { src: 9, monoMs: 0, timeUs: 0 }));
  registry.note(message({ src: 9, monoMs: 5000, timeUs: 0 }));
  registry.expire(6000, 1000);
  assert.equal(registry.size, 1);
  registry.expire(6001, 1000);
  assert.equal(registry.size, 0);
});

Deno.test("an idle time of 0 removes nobody", () => {
  const { registry } = watched();
  registry.note(message({ src: 9 }));
  registry.expire(1e12, 0);
  assert.equal(registry.size, 1);
});

Deno.test("a device that comes back after it was removed is added anew, with counts from 1", () => {
  const { registry, events } = watched();
  registry.note(claim(GARMIN, { src: 9 }));
  registry.expire(10, 1);
  registry.note(message({ src: 9, monoMs: 11 }));
  assert.deepEqual(events, ["added 0/9", "removed 0/9", "added 0/9"]);
  assert.deepEqual([registry.get(0, 9)!.name, registry.get(0, 9)!.packets], [undefined, 1]);
});

Deno.test("counts of added and removed always differ by the number of entries", () => {
  const { registry } = watched(["can0", "can1"]);
  for (let i = 0; i < 500; i++) {
    registry.note(claim(BigInt(1 + i % 7), { src: (i * 31) % 256, bus: i % 2, monoMs: i }));
    registry.note(message({ src: (i * 17) % 256, bus: i % 2, monoMs: i }));
    registry.expire(i, 100);
    const { added, removed } = registry.counters;
    assert.equal(added - removed, registry.size);
    assert.equal([...registry].length, registry.size);
  }
});

Deno.test("an event shows a device with the message that caused it counted", () => {
  const registry = new Registry(["can0"]);
  const events: string[] = [];
  registry.listen(({ event, device }) =>
    events.push(`${event} ${device.packets} ${device.bytes} ${device.lastMonoMs}`)
  );
  registry.note(message({ src: 9, data: [1, 2, 3] }));
  registry.note(claim(GARMIN, { src: 9, monoMs: 5 }));
  registry.note(product("model", { src: 9, monoMs: 7 }));
  registry.note(claim(AIRMAR, { src: 10, monoMs: 9 }));
  assert.deepEqual(events, ["added 1 3 0", "updated 2 11 5", "updated 3 145 7", "added 1 8 9"]);
});

Deno.test("who stops listening hears no more", () => {
  const registry = new Registry(["can0"]);
  let heard = 0;
  const stop = registry.listen(() => heard++);
  registry.note(message({ src: 1 }));
  stop();
  registry.note(message({ src: 2 }));
  assert.equal(heard, 1);
});

/** What was known of a device before a restart. */
function known(init: Partial<RestoredDevice> = {}): RestoredDevice {
  const times = { firstUs: START_US, lastUs: START_US + 5, lastMonoMs: -9 };
  return { bus: 0, src: 7, name: GARMIN, product: undefined, ...times, packets: 12, bytes: 80, ...init };
}

Deno.test("what was known of an address before a restart is put back, and goes on from there", () => {
  const { registry, events } = watched();
  registry.restore(known());
  assert.deepEqual(registry.get(0, 7), { ...known(), fields: parseName(GARMIN) });
  registry.note(message({ src: 7, monoMs: 1, data: [1, 2] }));
  const { packets, bytes, firstUs, lastUs, lastMonoMs } = registry.get(0, 7)!;
  assert.deepEqual([packets, bytes, firstUs, lastUs, lastMonoMs], [13, 82, START_US, START_US + 1000, 1]);
  registry.expire(1, 9);
  registry.note(claim(GARMIN, { src: 8, monoMs: 2 }));
  assert.deepEqual(events, ["added 0/7", "removed 0/7", "added 0/8"]);
});

Deno.test("nothing is put back where an address or a NAME is taken, or no address is", () => {
  const registry = new Registry(["can0", "can1"]);
  registry.restore(known());
  const wrong = [{}, { src: 8 }, { src: 254 }, { src: -1 }, { src: 1.5, name: AIRMAR }, { bus: 2 }];
  for (const init of wrong) assert.throws(() => registry.restore(known(init)), RangeError, JSON.stringify(init.src));
  registry.restore(known({ bus: 1 }));
  registry.restore(known({ src: 8, name: undefined }));
  registry.restore(known({ src: 9, name: undefined }));
  assert.deepEqual(addresses(registry), ["0/7", "0/8", "0/9", "1/7"]);
});

Deno.test("a registry that is cleared tells of each device that it forgets", () => {
  const { registry, events } = watched(["can0", "can1"]);
  for (const bus of [0, 1]) registry.note(message({ src: 4, bus }));
  registry.clear();
  assert.deepEqual([registry.size, addresses(registry), events.slice(2)], [0, [], ["removed 0/4", "removed 1/4"]]);
});

Deno.test("what is told again of a device is learned, and counts as nothing heard", () => {
  const { registry, events } = watched();
  registry.note(message({ src: 1, monoMs: 1 }));
  const { lastUs, lastMonoMs } = registry.get(0, 1)!;
  registry.introduce(claim(GARMIN, { src: 1, monoMs: 50 }));
  registry.introduce(product("GMI 10", { src: 1, monoMs: 50 }));
  registry.introduce(product("DST 800", { src: 2, monoMs: 50 }));
  registry.introduce(claim(AIRMAR, { src: 254, monoMs: 50 }));
  registry.introduce(message({ src: 3, monoMs: 50 }));
  const first = registry.get(0, 1)!;
  assert.deepEqual([first.name, first.product?.modelId, first.packets], [GARMIN, "GMI 10", 1]);
  assert.deepEqual([first.lastUs, first.lastMonoMs], [lastUs, lastMonoMs]);
  assert.deepEqual(addresses(registry), ["0/1", "0/2"]);
  assert.equal(registry.get(0, 2)?.packets, 0);
  assert.deepEqual(events, ["added 0/1", "updated 0/1", "updated 0/1", "added 0/2", "updated 0/2"]);
});
