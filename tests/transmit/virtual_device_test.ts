import assert from "node:assert/strict";
import { parseName } from "../../src/frame/mod.ts";
import { composeName, uniqueNumberOf } from "../../src/transmit/mod.ts";
import { decode } from "../../src/pgn/mod.ts";
import { DeviceBench, type Heard, nameBytes, OWN_NAME } from "./virtual_device_bench.ts";

const CLAIM = 60928;
const PRODUCT = 126996;
const NAK = 59392;
const LOWER = OWN_NAME - 1n;
const HIGHER = OWN_NAME + 1n;
const MINUTE_MS = 60_000;

const claimed = (src: number) => ({ kind: "claimed", src, name: OWN_NAME });
const ofPgn = (heard: readonly Heard[], pgn: number) => heard.filter((each) => each.pgn === pgn);
const bytesOf = ({ data }: Heard) => Uint8Array.fromHex(data);

Deno.test("virtual device: disabled → claiming: starts at 252, after asking who is there", async () => {
  using bench = await DeviceBench.start({ ready: false });
  assert.deepEqual(bench.device.address(0), { kind: "claiming" });
  await bench.pass(350);
  assert.deepEqual(bench.heard.map(({ pgn, src, dst, data }) => [pgn, src, dst, data]), [[59904, 254, 255, "00ee00"]]);
  await bench.pass(50);
  const claim = bench.heard.at(-1)!;
  assert.deepEqual([claim.pgn, claim.src, claim.dst], [CLAIM, 252, 255]);
  assert.deepEqual(bytesOf(claim), nameBytes(OWN_NAME));
  assert.ok(bench.transmit.taken.every(({ urgent }) => urgent));
});

Deno.test("virtual device: claiming → claimed: waits at least 250 ms after the claim", async () => {
  using bench = await DeviceBench.start({ ready: false });
  await bench.pass(400);
  await bench.pass(249, 1);
  assert.deepEqual(bench.device.address(0), { kind: "claiming" });
  await bench.pass(1, 1);
  assert.deepEqual(bench.device.address(0), claimed(252));
});

Deno.test("virtual device: addresses in use on that bus are passed over, those of other buses are not", async () => {
  using bench = await DeviceBench.start({ ready: false, buses: 2 });
  await bench.claim(HIGHER, 252);
  await bench.say({ pgn: 127250, src: 251, data: new Uint8Array(8) });
  await bench.pass(1000);
  assert.deepEqual(bench.device.address(0), claimed(250));
  assert.deepEqual(bench.device.address(1), claimed(252));
});

Deno.test("virtual device: claimed, conflicting claim of a higher NAME: keeps its address and claims it again", async () => {
  using bench = await DeviceBench.start();
  const heard = await bench.claim(HIGHER, 252);
  assert.deepEqual(heard.map(({ pgn, src }) => [pgn, src]), [[CLAIM, 252]]);
  assert.deepEqual(bench.device.address(0), claimed(252));
  assert.equal(bench.device.counters(0)!.addressesLost, 0);
});

Deno.test("virtual device: claimed, conflicting claim of a lower NAME: claiming with a new address", async () => {
  using bench = await DeviceBench.start({ buses: 2 });
  const heard = await bench.claim(LOWER, 252);
  assert.deepEqual(heard.map(({ pgn, src }) => [pgn, src]), [[CLAIM, 251]]);
  assert.deepEqual(bench.device.address(0), { kind: "claiming" });
  assert.deepEqual(bench.device.address(1), claimed(252), "the other bus has no conflict");
  assert.deepEqual(bench.transmit.lost, [{ bus: 0, src: 252 }], "what waits may not come from it any more");
  await bench.pass(250);
  assert.deepEqual(bench.device.address(0), claimed(251));
  assert.equal(bench.device.counters(0)!.addressesLost, 1);
});

Deno.test("virtual device: says from 254 that it cannot claim, and takes the first address that becomes free", async () => {
  using bench = await DeviceBench.start({ ready: false });
  for (let src = 0; src <= 252; src++) void bench.claim(BigInt(1 + src), src);
  await bench.pass(1000);
  assert.deepEqual(bench.device.address(0), { kind: "cannot-claim" });
  assert.deepEqual(bench.heard.filter(({ src }) => src === 254).map(({ pgn }) => pgn), [59904, CLAIM]);
  assert.equal((await bench.ask(CLAIM)).at(-1)!.src, 254);
  await bench.claim(1n + 77n, 253);
  await bench.pass(300);
  assert.deepEqual(bench.device.address(0), claimed(77));
});

Deno.test("virtual device: an address that is silent for 5 minutes is free for who has none", async () => {
  using bench = await DeviceBench.start({ ready: false });
  for (let src = 0; src <= 252; src++) void bench.claim(BigInt(1 + src), src);
  await bench.pass(1000);
  for (let minute = 0; minute < 6; minute++) {
    await bench.pass(MINUTE_MS, 1000);
    for (let src = 0; src <= 252; src++) if (src !== 130) void bench.claim(BigInt(1 + src), src, { ms: 0 });
  }
  await bench.pass(11_000, 1000);
  assert.deepEqual(bench.device.address(0), claimed(130));
});

Deno.test("virtual device: what could not be said while the bus was down is said later", async () => {
  using bench = await DeviceBench.start({ ready: false });
  bench.transmit.down.add(0);
  await bench.pass(5000);
  assert.deepEqual(bench.device.address(0), { kind: "claiming" }, "nobody has heard the claim");
  bench.transmit.down.clear();
  await bench.pass(3000);
  assert.deepEqual(bench.device.address(0), claimed(252));
});

Deno.test("virtual device: a bus that fails between claim and use delays the use", async () => {
  using bench = await DeviceBench.start({ ready: false });
  await bench.pass(350);
  bench.transmit.down.add(0);
  await bench.pass(900);
  assert.deepEqual(bench.device.address(0), { kind: "claiming" });
  bench.transmit.down.clear();
  await bench.pass(150);
  assert.equal(ofPgn(bench.heard, CLAIM).length, 1);
  assert.deepEqual(bench.device.address(0), { kind: "claiming" });
  await bench.pass(300);
  assert.deepEqual(bench.device.address(0), claimed(252));
});

Deno.test("virtual device: a bus that comes up again hears the claim again, and waits again", async () => {
  using bench = await DeviceBench.start({ buses: 2 });
  bench.heard.length = 0;
  bench.device.up(1);
  await bench.pass(50);
  assert.deepEqual(bench.heard.map(({ bus, pgn, src }) => [bus, pgn, src]), [[1, CLAIM, 252]]);
  assert.deepEqual(bench.device.address(1), { kind: "claiming" });
  assert.deepEqual(bench.device.address(0), claimed(252));
  await bench.pass(300);
  assert.deepEqual(bench.device.address(1), claimed(252));
});

Deno.test("virtual device: its own echoes are no conflict; another device with its NAME is told and changes nothing", async () => {
  using bench = await DeviceBench.start();
  await bench.pass(5 * MINUTE_MS, 1000);
  assert.equal(bench.device.counters(0)!.sameName, 0);
  await bench.claim(OWN_NAME, 252);
  await bench.claim(OWN_NAME, 90);
  assert.equal(bench.device.counters(0)!.sameName, 2);
  assert.deepEqual(bench.device.address(0), claimed(252));
});

Deno.test("virtual device: a rival that never gives way is answered a few times a second", async () => {
  using bench = await DeviceBench.start();
  bench.heard.length = 0;
  for (let i = 0; i < 2000; i++) await bench.claim(HIGHER, 252, { ms: 5 });
  const own = ofPgn(bench.heard, CLAIM).filter(({ data }) => data === nameBytes(OWN_NAME).toHex());
  const seconds = (bench.heard.at(-1)!.atMs - bench.heard[0]!.atMs) / 1000;
  assert.ok(own.length >= 20 && own.length <= 25 + 6 * seconds, `${own.length} claims in ${seconds} s`);
  assert.deepEqual(bench.device.address(0), claimed(252));
});

Deno.test("virtual device: claimed, heartbeat: claim every 60 s, product information every 5 min, 126993 every 60 s", async () => {
  using bench = await DeviceBench.start();
  bench.heard.length = 0;
  await bench.pass(10 * MINUTE_MS, 250);
  assert.equal(ofPgn(bench.heard, CLAIM).length, 10);
  assert.equal(ofPgn(bench.heard, PRODUCT).length, 2);
  const heartbeats = ofPgn(bench.heard, 126993);
  assert.deepEqual(heartbeats.map((each) => decode(126993, bytesOf(each))?.sequence_counter), [...heartbeats.keys()]);
  assert.equal(heartbeats.length, 10);
  assert.equal(decode(126993, bytesOf(heartbeats[0]!))?.data_transmit_offset, 60);
});

Deno.test("virtual device: heartbeats of 0 are off", async () => {
  using bench = await DeviceBench.start({ claimHeartbeatMs: 0, productInfoHeartbeatMs: 0 });
  bench.heard.length = 0;
  await bench.pass(10 * MINUTE_MS, 1000);
  assert.ok(bench.heard.every(({ pgn }) => pgn === 126993));
});

Deno.test("virtual device: a commanded address is taken when the NAME is its own", async () => {
  using bench = await DeviceBench.start();
  const command = (name: bigint, address: number) => Uint8Array.of(...nameBytes(name), address);
  const bam = async (data: Uint8Array) => {
    await bench.say({ pgn: 60416, src: 10, data: Uint8Array.of(32, 9, 0, 2, 255, 0xd8, 0xfe, 0) });
    await bench.say({ pgn: 60160, src: 10, data: Uint8Array.of(1, ...data.subarray(0, 7)) });
    await bench.say({ pgn: 60160, src: 10, data: Uint8Array.of(2, ...data.subarray(7), 255, 255, 255, 255, 255) });
    await bench.pass(300);
  };
  await bam(command(HIGHER, 40));
  assert.deepEqual(bench.device.address(0), claimed(252));
  await bam(command(OWN_NAME, 254));
  assert.deepEqual(bench.device.address(0), claimed(252));
  await bam(command(OWN_NAME, 40));
  assert.deepEqual(bench.device.address(0), claimed(40));
});

Deno.test("virtual device: a NAME composed of fields reads back, and parts that do not fit are refused", () => {
  const uniqueNumber = uniqueNumberOf("boat-7");
  assert.equal(uniqueNumber, uniqueNumberOf("boat-7"));
  assert.notEqual(uniqueNumber, uniqueNumberOf("boat-8"));
  assert.deepEqual(parseName(composeName({ uniqueNumber, deviceInstance: 3 })), {
    uniqueNumber,
    manufacturerCode: 2046,
    deviceInstance: 3,
    deviceFunction: 130,
    deviceClass: 25,
    systemInstance: 0,
    industryGroup: 4,
    arbitraryAddressCapable: true,
  });
  assert.throws(() => composeName({ uniqueNumber: 2 ** 21 }), /uniqueNumber 2097152 is not a whole number from 0 to/);
  assert.throws(() => composeName({ uniqueNumber: 1, deviceInstance: 1.5 }), RangeError);
});

Deno.test("virtual device: a model id that does not fit is refused when it is made", async () => {
  await assert.rejects(DeviceBench.start({ modelId: "x".repeat(33) }), /model_id: .* at most 32 fit/);
});

Deno.test("virtual device: refuses what it does not have when it was asked alone", async () => {
  using bench = await DeviceBench.start();
  const heard = await bench.ask(127505, { dst: 252 });
  assert.deepEqual(heard.map(({ pgn, src, dst, data }) => [pgn, src, dst, data]), [[NAK, 252, 10, "01ffffffff11f201"]]);
  assert.deepEqual(await bench.ask(127505), []);
  assert.deepEqual(await bench.ask(127505, { dst: 99 }), []);
});
