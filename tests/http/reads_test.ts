import assert from "node:assert/strict";
import type { Device } from "../../src/frame/mod.ts";
import type { DeviceValues } from "../../src/http/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";

const NAME = { uniqueNumber: 12345, manufacturerCode: 229, deviceInstance: 9, deviceClass: 60, deviceFunction: 145 };

Deno.test("a frame is one line of JSON with its keys in the contract's order", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  await using events = await boat.events();
  boat.say({ pgn: 127250, src: 7, dst: 255, prio: 2, data: [0xff, 0, 0xab, 0xcd, 1, 2, 3, 0xfd] });
  clock.advance(1234.5);
  boat.say({ pgn: 59904, src: 7, dst: 35, prio: 6, data: [0, 0xee, 0] });
  await events.atLeast(2);
  assert.equal(
    events.texts[0],
    `{"seq":1,"ts":"2026-01-02T03:04:06.234Z","prio":2,"pgn":127250,"src":7,"dst":255,"data":"ff00abcd010203fd"}`,
  );
  assert.equal(
    events.texts[1],
    `{"seq":2,"ts":"2026-01-02T03:04:06.234Z","prio":6,"pgn":59904,"src":7,"dst":35,"data":"00ee00"}`,
  );
});

Deno.test("ts has exactly three decimals, also on the second", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  await using events = await boat.events();
  for (const ms of [0, 1, 99, 900]) {
    clock.advance(ms);
    boat.say();
    await events.atLeast(events.frames.length + 1);
  }
  assert.deepEqual(events.frames.map(({ ts }) => ts), [
    "2026-01-02T03:04:05.000Z",
    "2026-01-02T03:04:05.001Z",
    "2026-01-02T03:04:05.100Z",
    "2026-01-02T03:04:06.000Z",
  ]);
});

Deno.test("bus is told in frames, devices and values with two buses, and left out with one", async () => {
  await using one = await TestBoat.start();
  await using two = await TestBoat.start({ names: ["can0", "can1"] });
  await using oneEvents = await one.events();
  await using twoEvents = await two.events();
  one.say();
  two.say({ bus: 1 });
  assert.equal("bus" in ((await oneEvents.atLeast(1))[0] ?? {}), false);
  await twoEvents.atLeast(1);
  assert.match(twoEvents.texts[0] ?? "", /"dst":255,"bus":"can1","data"/);
  for (const path of ["/devices", "/values"]) {
    assert.deepEqual((await one.get<Device[]>(path)).map(({ bus }) => bus), [undefined]);
    assert.deepEqual((await two.get<Device[]>(path)).map(({ bus }) => bus), ["can1"]);
  }
});

Deno.test("a device leaves out what is not known yet, and is complete after claim and product information", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  assert.deepEqual(await boat.get("/devices"), []);
  boat.say({ src: 35 });
  await eventually("a device", async () => (await boat.get<Device[]>("/devices")).length === 1);
  const bare = {
    src: 35,
    first_seen: "2026-01-02T03:04:05.000Z",
    last_seen: "2026-01-02T03:04:05.000Z",
    packet_count: 1,
    byte_count: 8,
  };
  assert.deepEqual(await boat.get("/devices"), [bare]);
  clock.advance(1500);
  boat.claim(35, NAME);
  boat.product(35, "GPS 19x");
  const [device] = await eventually("a complete device", async () => {
    const devices = await boat.get<Device[]>("/devices");
    return devices[0]?.model_id !== undefined && devices;
  });
  assert.deepEqual(device, {
    src: 35,
    name: "0x007891091ca03039",
    manufacturer: "Garmin",
    manufacturer_code: 229,
    device_class: 60,
    device_function: 145,
    device_instance: 9,
    unique_number: 12345,
    product_code: 1337,
    model_id: "GPS 19x",
    software_version: "1.0.2",
    model_version: "rev B",
    model_serial: "SN-77",
    first_seen: bare.first_seen,
    last_seen: "2026-01-02T03:04:06.500Z",
    packet_count: 3,
    byte_count: 8 + 8 + 134,
  });
});

Deno.test("an address claim from the null address makes no device", async () => {
  await using boat = await TestBoat.start();
  boat.claim(254, NAME);
  boat.say({ src: 255 });
  boat.say({ src: 3 });
  await eventually("a device", async () => (await boat.get<Device[]>("/devices")).length === 1);
  assert.deepEqual((await boat.get<Device[]>("/devices")).map(({ src }) => src), [3]);
});

Deno.test("values: one entry a device, the newest frame of each PGN, name empty while unknown", async () => {
  const clock = new FakeClock();
  await using boat = await TestBoat.start({ clock });
  assert.deepEqual(await boat.get("/values"), []);
  boat.say({ src: 2, pgn: 127250, data: [1] });
  boat.say({ src: 2, pgn: 127245, data: [2] });
  boat.say({ src: 2, pgn: 127250, data: [3] });
  boat.claim(1, NAME);
  boat.product(1, "GPS 19x");
  const values = await eventually("both devices", async () => {
    const all = await boat.get<DeviceValues[]>("/values");
    return all.length === 2 && all[0]?.model_id !== undefined && all;
  });
  const ts = "2026-01-02T03:04:05.000Z";
  assert.deepEqual(values[1], {
    name: "",
    src: 2,
    values: [{ pgn: 127245, ts, data: "02", seq: 2 }, { pgn: 127250, ts, data: "03", seq: 3 }],
  });
  const { values: known = [], ...head } = values[0] ?? {};
  assert.deepEqual(head, { name: "0x007891091ca03039", src: 1, manufacturer: "Garmin", model_id: "GPS 19x" });
  assert.deepEqual(known.map(({ pgn, seq }) => [pgn, seq]), [[60928, 4], [126996, 5]]);
});

const VALUE_FILTERS: [query: string, kept: string[]][] = [
  ["", ["can0/1/60928", "can0/1/127250", "can0/2/127250", "can1/1/60928", "can1/1/127245"]],
  ["?pgn=127250", ["can0/1/127250", "can0/2/127250"]],
  ["?pgn=127250&pgn=127245", ["can0/1/127250", "can0/2/127250", "can1/1/127245"]],
  ["?exclude_pgn=60928&exclude_pgn=127250", ["can1/1/127245"]],
  ["?pgn=127250&exclude_pgn=127250", []],
  ["?manufacturer=garmin", ["can0/1/60928", "can0/1/127250"]],
  ["?manufacturer=229&manufacturer=Airmar", ["can0/1/60928", "can0/1/127250", "can1/1/60928", "can1/1/127245"]],
  ["?instance=9", ["can0/1/60928", "can0/1/127250"]],
  ["?instance=0", ["can1/1/60928", "can1/1/127245"]],
  ["?name=7891091CA03039", ["can0/1/60928", "can0/1/127250"]],
  ["?exclude_name=0x007891091ca03039", ["can0/2/127250", "can1/1/60928", "can1/1/127245"]],
  ["?bus=can1", ["can1/1/60928", "can1/1/127245"]],
  ["?bus=can1&pgn=60928&manufacturer=airmar", ["can1/1/60928"]],
  ["?bus=can9", []],
  ["?manufacturer=Nobody", []],
];

Deno.test("values take every filter", async () => {
  await using boat = await TestBoat.start({ names: ["can0", "can1"] });
  boat.claim(1, NAME);
  boat.claim(1, { ...NAME, manufacturerCode: 135, deviceInstance: 0 }, { bus: 1 });
  boat.say({ src: 1 });
  boat.say({ src: 2 });
  boat.say({ src: 1, pgn: 127245, bus: 1 });
  await eventually("three devices", async () => (await boat.get<Device[]>("/devices")).length === 3);
  for (const [query, kept] of VALUE_FILTERS) {
    const values = await boat.get<DeviceValues[]>(`/values${query}`);
    assert.deepEqual(
      values.flatMap(({ bus, src, values }) => values.map(({ pgn }) => `${bus}/${src}/${pgn}`)),
      kept,
      query,
    );
  }
});
