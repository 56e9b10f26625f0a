// The specification's table "Device registry entry", line by line, against a whole server on a loopback bus.
import assert from "node:assert/strict";
import { buildName, type Device, formatName } from "../../src/frame/mod.ts";
import type { DeviceValues } from "../../src/http/mod.ts";
import { type Heard, TestBoat } from "../support/boat.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { nameFields } from "../support/messages.ts";

const GPS = { uniqueNumber: 12345, manufacturerCode: 229, deviceInstance: 1, deviceClass: 60, deviceFunction: 145 };
const PILOT = { uniqueNumber: 54321, manufacturerCode: 1851, deviceClass: 40, deviceFunction: 150 };

const isRequest = (pgn: number, dst: number) => (frame: Heard) =>
  frame.pgn === 59904 && frame.src === 254 && frame.dst === dst && frame.data === littleEndian(pgn);

function littleEndian(pgn: number): string {
  return [pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

const devices = (boat: TestBoat) => boat.get<Device[]>("/devices");

async function device(boat: TestBoat, src: number, known: (device: Device) => boolean): Promise<Device> {
  return await eventually(`device ${src}`, async () => {
    const found = (await devices(boat)).find((each) => each.src === src);
    return found && known(found) && found;
  });
}

Deno.test("at start everybody on every bus is asked for an address claim", async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"], discovery: true, clock: new FakeClock() });
  await eventually("both requests", () => boat.heard.every((frames) => frames.some(isRequest(60928, 255))));
});

Deno.test("unknown → discovering: a frame from a new source makes us ask it for its address claim", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ discovery: true, clock });
  const heard = boat.listen();
  boat.say({ src: 35 });
  assert.equal((await device(boat, 35, () => true)).name, undefined);
  await eventually("the request", () => {
    clock.advance(100);
    return heard.some(isRequest(60928, 35));
  });
  assert.equal(heard.some(isRequest(126996, 35)), false);
});

Deno.test("a virtual device that has an address asks from it, and until then the null address asks", async () => {
  const virtualDevice = { name: buildName(nameFields({ uniqueNumber: 1 })) };
  await using boat = await TestBoat.start({ discovery: true, sendEnabled: true, virtualDevice });
  const sent = async () => (await boat.post("/send", { pgn: 127250, data: "00" })).status === 202;
  await eventually("an address", sent);
  boat.say({ src: 35 });
  const requests = (dst: number) => boat.heard[0]!.filter((frame) => frame.pgn === 59904 && frame.dst === dst);
  await eventually("the request", () => requests(35).length > 0);
  assert.deepEqual(requests(35).map(({ src }) => src), [252]);
  assert.deepEqual(new Set(requests(255).map(({ src }) => src)), new Set([254]));
});

Deno.test("a source first heard asking others is asked too", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ discovery: true, clock });
  const heard = boat.listen();
  boat.say({ src: 36, pgn: 59904, data: [0, 0xee, 0] });
  await eventually("the request", () => {
    clock.advance(100);
    return heard.some(isRequest(60928, 36));
  });
});

Deno.test("discovering → claimed: the claim names the device, and product information is asked for", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ discovery: true, clock });
  const heard = boat.listen();
  boat.say({ src: 35 });
  const name = boat.claim(35, GPS);
  const claimed = await device(boat, 35, (each) => each.name !== undefined);
  assert.equal(claimed.name, formatName(name));
  assert.equal(claimed.manufacturer, "Garmin");
  assert.equal(claimed.model_id, undefined);
  await eventually("the request", () => {
    clock.advance(100);
    return heard.some(isRequest(126996, 35));
  });
});

Deno.test("claimed → complete: product information completes the device, and updates continue", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ discovery: true, clock });
  boat.claim(35, GPS);
  boat.product(35, "GPS 19x");
  assert.equal((await device(boat, 35, (each) => each.model_id !== undefined)).model_id, "GPS 19x");
  boat.product(35, "GPS 24x");
  const heard = boat.listen();
  assert.equal((await device(boat, 35, (each) => each.model_id !== "GPS 19x")).model_id, "GPS 24x");
  for (let i = 0; i < 10; i++) {
    clock.advance(60_000);
    await pause();
  }
  boat.say({ src: 36 });
  await eventually("a request to another", () => {
    clock.advance(100);
    return heard.some(isRequest(60928, 36));
  });
  assert.equal(heard.some(({ dst, pgn }) => pgn === 59904 && dst === 35), false, "a complete device is left in peace");
});

Deno.test("a device that does not answer is asked again, with growing pauses, and not for ever", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ discovery: true, clock });
  const heard = boat.listen();
  boat.say({ src: 35 });
  await device(boat, 35, () => true);
  const asked = () => heard.filter(isRequest(60928, 35)).length;
  await eventually("eight tries", () => {
    clock.advance(1000);
    boat.say({ src: 35 });
    return asked() >= 8;
  });
  clock.advance(60 * 60_000);
  boat.say({ src: 99 });
  await eventually("another request", () => {
    clock.advance(100);
    return heard.some(isRequest(60928, 99));
  });
  assert.equal(asked(), 8);
});

Deno.test("any → evicted: the same NAME at a new source removes the old entry and its values", async () => {
  await using boat = await TestBoat.start();
  await using events = await boat.events("?devices=true");
  boat.claim(35, GPS);
  boat.product(35, "GPS 19x");
  boat.say({ src: 35 });
  await device(boat, 35, (each) => each.packet_count === 3);
  boat.claim(40, GPS);
  boat.say({ src: 40 });
  const moved = await device(boat, 40, (each) => each.packet_count === 2);
  assert.deepEqual((await devices(boat)).map(({ src }) => src), [40]);
  assert.equal(moved.name, formatName(buildName(nameFields(GPS))));
  assert.equal(moved.model_id, "GPS 19x", "what it told of itself stays true");
  const values = await boat.get<DeviceValues[]>("/values");
  assert.deepEqual(values.map(({ src, values }) => [src, values.map(({ pgn }) => pgn)]), [[40, [60928, 127250]]]);
  await eventually("the events", () => events.named("device").length >= 4);
  const changes = events.named<{ event: string; device: Device }>("device");
  assert.deepEqual(changes.slice(-2).map(({ event, device }) => [event, device.src]), [["removed", 35], ["added", 40]]);
});

Deno.test("a conflict: another NAME at an address replaces its owner, whose data does not leak to the newcomer", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ discovery: true, clock });
  const heard = boat.listen();
  boat.claim(35, GPS);
  boat.product(35, "GPS 19x");
  boat.say({ src: 35 });
  await device(boat, 35, (each) => each.packet_count === 3);
  boat.claim(35, PILOT);
  const owner = await device(boat, 35, (each) => each.unique_number === PILOT.uniqueNumber);
  assert.equal(owner.manufacturer, "Raymarine");
  assert.equal(owner.model_id, undefined);
  assert.equal(owner.packet_count, 1);
  const [values] = await boat.get<DeviceValues[]>("/values");
  assert.deepEqual(values?.values.map(({ pgn }) => pgn), [60928]);
  await eventually("the newcomer to be asked", () => {
    clock.advance(100);
    return heard.some(isRequest(126996, 35));
  });
  boat.claim(36, GPS);
  await device(boat, 36, (each) => each.name !== undefined);
  assert.equal((await devices(boat)).length, 2);
});

Deno.test("a device that cannot claim (address 254) gives up its old one", async () => {
  await using boat = await TestBoat.start();
  boat.claim(35, GPS);
  boat.say({ src: 1 });
  await device(boat, 35, () => true);
  boat.claim(254, GPS);
  await eventually("its removal", async () => (await devices(boat)).every(({ src }) => src === 1));
});

Deno.test("any → removed: no frames within the idle timeout, entries without a claim included, and 0 keeps all", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock, deviceIdleTimeoutMs: 60_000 });
  boat.claim(35, GPS);
  boat.say({ src: 36 });
  boat.say({ src: 37 });
  await device(boat, 37, () => true);
  clock.advance(59_000);
  boat.say({ src: 37 });
  await device(boat, 37, (each) => each.packet_count === 2);
  clock.advance(2_000);
  await eventually("the removal", async () => (await devices(boat)).length === 1);
  assert.deepEqual((await devices(boat)).map(({ src }) => src), [37]);
  assert.deepEqual((await boat.get<DeviceValues[]>("/values")).map(({ src }) => src), [37]);
  boat.boat.reload({ deviceIdleTimeoutMs: 0 });
  clock.advance(24 * 3_600_000);
  boat.say({ src: 38 });
  await device(boat, 38, () => true);
  await pause(1100);
  assert.equal((await devices(boat)).length, 2);
});

Deno.test("a removed device that speaks again is asked again", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock, discovery: true, deviceIdleTimeoutMs: 60_000 });
  boat.claim(35, GPS);
  await device(boat, 35, () => true);
  clock.advance(61_000);
  await eventually("the removal", async () => (await devices(boat)).length === 0);
  const heard = boat.listen();
  boat.say({ src: 35 });
  await eventually("the request", () => {
    clock.advance(100);
    return heard.some(isRequest(60928, 35));
  });
});

Deno.test("two buses may use the same source address: two devices, each with its own values, asked on its own bus", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ names: ["can0", "can1"], clock, discovery: true });
  const heard = [boat.listen(0), boat.listen(1)];
  boat.claim(35, GPS, { bus: 0 });
  boat.claim(35, GPS, { bus: 1 });
  boat.say({ src: 35, bus: 1, data: [9] });
  boat.claim(36, PILOT, { bus: 1 });
  await eventually("three devices", async () => (await devices(boat)).length === 3);
  assert.deepEqual((await devices(boat)).map(({ bus, src, manufacturer }) => [bus, src, manufacturer]), [
    ["can0", 35, "Garmin"],
    ["can1", 35, "Garmin"],
    ["can1", 36, "Raymarine"],
  ]);
  const values = await boat.get<DeviceValues[]>("/values?pgn=127250");
  assert.deepEqual(values.map(({ bus, src, values }) => [bus, src, values[0]?.data]), [["can1", 35, "09"]]);
  await eventually("requests on both buses", () => {
    clock.advance(100);
    return heard[0]?.some(isRequest(126996, 35)) && heard[1]?.some(isRequest(126996, 35)) &&
      heard[1]?.some(isRequest(126996, 36));
  });
  assert.equal(heard[0]?.some(({ dst }) => dst === 36), false);
});
