import assert from "node:assert/strict";
import { Broker } from "../../src/broker/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import { message } from "../support/messages.ts";
import { DeviceBench, type Heard, nameBytes, OWN_NAME } from "./virtual_device_bench.ts";

const CLAIM = 60928;
const LISTS = 126464;
const PRODUCT = 126996;
const CONFIGURATION = 126998;
const HEARTBEAT = 126993;
/** CAN frames of the product information. */
const PRODUCT_FRAMES = 20;

const bytesOf = ({ data }: Heard) => Uint8Array.fromHex(data);
const told = (heard: readonly Heard[]) => heard.map(({ pgn, src, dst }) => [pgn, src, dst]);

Deno.test("virtual device: ISO request for PGN 60928: responds to everybody, whoever was asked", async () => {
  using bench = await DeviceBench.start();
  for (const dst of [252, 255]) {
    const heard = await bench.ask(CLAIM, { dst });
    assert.deepEqual(told(heard), [[CLAIM, 252, 255]]);
    assert.deepEqual(bytesOf(heard[0]!), nameBytes(OWN_NAME));
  }
  assert.deepEqual(await bench.ask(CLAIM, { dst: 251 }), []);
});

Deno.test("virtual device: ISO request for PGN 126996: responds with what it was made with", async () => {
  using bench = await DeviceBench.start({ modelId: "Test Gateway", softwareVersion: "1.2.3", serial: "S-9" });
  for (const dst of [252, 255]) {
    const heard = await bench.ask(PRODUCT, { dst });
    assert.deepEqual(told(heard), [[PRODUCT, 252, 255]]);
    assert.equal(heard[0]!.data.length, 2 * 134);
    const { nmea_version, model_id, software_version, model_serial } = decode(PRODUCT, bytesOf(heard[0]!))!;
    assert.deepEqual({ nmea_version, model_id, software_version, model_serial }, {
      nmea_version: 2100,
      model_id: "Test Gateway",
      software_version: "1.2.3",
      model_serial: "S-9",
    });
  }
});

Deno.test("virtual device: answers for PGN 126998, 126993 and both lists of 126464", async () => {
  using bench = await DeviceBench.start({ configuration: ["under the chart table", "", "maker"] });
  const [configuration] = await bench.ask(CONFIGURATION, { dst: 252 });
  assert.equal(decode(CONFIGURATION, bytesOf(configuration!))!.installation_description1, "under the chart table");
  assert.deepEqual(told(await bench.ask(HEARTBEAT, { dst: 252 })), [[HEARTBEAT, 252, 255]]);
  const lists = await bench.ask(LISTS, { dst: 252 });
  assert.deepEqual(told(lists), [[LISTS, 252, 10], [LISTS, 252, 10]]);
  assert.deepEqual(lists.map(({ data }) => data.slice(0, 2)), ["00", "01"], "transmitted ones, then received ones");
  const pgnsOf = (heard: Heard) =>
    Array.from({ length: (bytesOf(heard).length - 1) / 3 }, (_, i) => {
      const [low = 0, mid = 0, high = 0] = bytesOf(heard).subarray(1 + 3 * i);
      return low | (mid << 8) | (high << 16);
    });
  const [transmits, receives] = lists.map(pgnsOf);
  for (const pgn of [59392, 59904, CLAIM, LISTS, HEARTBEAT, PRODUCT, CONFIGURATION]) {
    assert.ok(transmits!.includes(pgn), `${pgn}`);
  }
  for (const pgn of [59392, 59904, 60160, 60416, CLAIM, 65240]) assert.ok(receives!.includes(pgn), `${pgn}`);
});

Deno.test("virtual device: whoever asks without an address is answered to everybody", async () => {
  using bench = await DeviceBench.start();
  assert.deepEqual(told(await bench.ask(LISTS, { src: 254, dst: 252 })), [[LISTS, 252, 255], [LISTS, 252, 255]]);
});

Deno.test("virtual device: until its address is claimed it answers with nothing but its claim", async () => {
  using bench = await DeviceBench.start({ ready: false });
  assert.deepEqual(await bench.ask(CLAIM), [], "it has not claimed yet");
  await bench.pass(350);
  assert.deepEqual(bench.device.address(0), { kind: "claiming" });
  assert.deepEqual(await bench.ask(PRODUCT), []);
  assert.deepEqual(await bench.ask(127505, { dst: 252 }), []);
  assert.deepEqual(told(await bench.ask(CLAIM)), [[CLAIM, 252, 255]]);
});

Deno.test("virtual device: requests while it claims do not make it wait longer", async () => {
  using bench = await DeviceBench.start({ ready: false });
  await bench.pass(400);
  for (let i = 0; i < 5; i++) await bench.ask(CLAIM);
  assert.equal(bench.device.address(0).kind, "claimed");
});

Deno.test("virtual device: a flood of requests does not flood the bus, and the rest is counted", async () => {
  using bench = await DeviceBench.start({ answerFramesPerSecond: 100 });
  bench.heard.length = 0;
  const asked = 3000;
  for (let i = 0; i < asked; i++) void bench.say({ pgn: 59904, src: 10, data: Uint8Array.of(0x14, 0xf0, 1) }, 0);
  await bench.pass(1000);
  for (let i = 0; i < asked; i++) void bench.say({ pgn: 59904, src: 10, data: Uint8Array.of(0, 0xee, 0) }, 0);
  await bench.pass(1000);
  const answers = bench.heard.filter(({ src }) => src === 252);
  const frames = answers.reduce((sum, { pgn }) => sum + (pgn === PRODUCT ? PRODUCT_FRAMES : 1), 0);
  assert.ok(frames > 100 && frames <= 300, `${frames} frames`);
  const { answered, unanswered } = bench.device.counters(0)!;
  assert.equal(answered, answers.length);
  assert.equal(answered + unanswered, 2 * asked);
  assert.equal(bench.device.counters(0)!.sameName, 0, "echoes of a burst are its own");
});

Deno.test("virtual device: a flood of requests for its claim does not keep it from defending its address", async () => {
  using bench = await DeviceBench.start();
  for (let i = 0; i < 3000; i++) void bench.say({ pgn: 59904, src: 10, data: Uint8Array.of(0, 0xee, 0) }, 0);
  await bench.pass(50);
  assert.deepEqual(told(await bench.claim(OWN_NAME + 1n, 252)), [[CLAIM, 252, 255]]);
});

Deno.test("virtual device: the registry learns of it by its echoes", async () => {
  using bench = await DeviceBench.start({ modelId: "Test Gateway" });
  await bench.ask(PRODUCT);
  const broker = new Broker({ buses: ["can0"] });
  for (const { pgn, src, dst, data } of bench.heard) {
    broker.publish(message({ pgn, src, dst, data: Uint8Array.fromHex(data) }));
  }
  const device = broker.registry.get(0, 252);
  assert.equal(device?.name, OWN_NAME);
  assert.equal(device?.product?.modelId, "Test Gateway");
});

Deno.test("virtual device: frames that are too short are passed over", async () => {
  using bench = await DeviceBench.start();
  for (const pgn of [59904, CLAIM, 60416, 60160, 65240]) {
    for (const length of [0, 1, 2, 7]) {
      if (pgn === 59904 && length > 2) continue;
      const dst = pgn === CLAIM ? 255 : 252;
      assert.deepEqual(await bench.say({ pgn, src: 10, dst, data: new Uint8Array(length) }), []);
    }
  }
  assert.equal(bench.device.address(0).kind, "claimed");
});

/** An announcement of a long message. */
function rts(length: number, { pgn = 126720, atATime = 255 } = {}): Uint8Array<ArrayBuffer> {
  const packets = Math.ceil(length / 7);
  return Uint8Array.of(16, length & 255, length >> 8, packets, atATime, pgn & 255, (pgn >> 8) & 255, pgn >> 16);
}

Deno.test("virtual device: a long message to its address is asked for, taken and confirmed", async () => {
  using bench = await DeviceBench.start();
  const payload = Uint8Array.from({ length: 1785 }, (_, i) => i & 255);
  const answers = () =>
    bench.transmit.taken.filter(({ message }) => message.pgn === 60416).map(({ message }) => message);
  await bench.say({ pgn: 60416, src: 10, dst: 252, data: rts(payload.length) });
  assert.deepEqual(answers().map(({ src, dst, data }) => [src, dst, data.toHex()]), [[252, 10, "111001ffff00ef01"]]);
  for (let packet = 1; packet <= 255; packet++) {
    const part = payload.subarray((packet - 1) * 7, packet * 7);
    await bench.say({ pgn: 60160, src: 10, dst: 252, data: Uint8Array.of(packet, ...part) });
  }
  assert.equal(answers().length, 17, "asked for 16 times, confirmed once");
  assert.equal(answers().at(-1)!.data.toHex(), "13f906ffff00ef01");
  const whole = bench.heard.filter(({ pgn, src }) => pgn === 126720 && src === 10);
  assert.deepEqual(whole.map(({ data }) => data), [payload.toHex()]);
});

Deno.test("virtual device: long messages to others are none of its business", async () => {
  using bench = await DeviceBench.start();
  const before = bench.transmit.taken.length;
  await bench.say({ pgn: 60416, src: 10, dst: 251, data: rts(20) });
  assert.equal(bench.transmit.taken.length, before);
});

Deno.test("virtual device: a long message from nobody's address is not taken: the answer would be for everybody", async () => {
  using bench = await DeviceBench.start();
  for (const src of [254, 255]) {
    assert.deepEqual(await bench.say({ pgn: 60416, src, dst: 252, data: rts(20) }), []);
    assert.deepEqual(await bench.say({ pgn: 60160, src, dst: 252, data: new Uint8Array(8).with(0, 1) }), []);
  }
});

Deno.test("virtual device: a flood of announcements of long messages is answered at the rate of requests", async () => {
  using bench = await DeviceBench.start({ answerFramesPerSecond: 50 });
  const before = bench.transmit.taken.length;
  for (let i = 0; i < 2000; i++) void bench.say({ pgn: 60416, src: 10, dst: 252, data: rts(20) }, 0);
  await bench.pass(1000);
  const sent = bench.transmit.taken.length - before;
  assert.ok(sent >= 50 && sent <= 100, `${sent} frames`);
});
