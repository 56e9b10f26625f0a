import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { Assembler, LoopbackBus, splitFastPacket } from "../../src/can/mod.ts";
import { buildCanId, formatHex, parseCanId } from "../../src/frame/mod.ts";
import { Discovery, IdentityRequests } from "../../src/transmit/mod.ts";
import { claim, message, product } from "../support/messages.ts";

const CLAIM = 60928;
const PRODUCT = 126996;
/** The most a bus may be asked in a second, and in one go. */
const PER_SECOND = 10;
const BURST = 5;

interface Asked {
  atMs: number;
  bus: number;
  dst: number;
  pgn: number;
}

/** Lets time pass in ticks of 100 ms and writes down what is asked. */
function run(discovery: Discovery, { fromMs, toMs }: { fromMs: number; toMs: number }): Asked[] {
  const asked: Asked[] = [];
  for (let atMs = fromMs; atMs <= toMs; atMs += 100) {
    for (const request of discovery.due(atMs)) asked.push({ atMs, ...request });
  }
  return asked;
}

/** A discovery that has asked everybody already. */
function begun(buses = 1): Discovery {
  const discovery = new Discovery(buses);
  discovery.due(-60_000);
  return discovery;
}

const stranger = (src: number, bus = 0) => ({ bus, src, name: undefined, product: undefined });
const named = (src: number, bus = 0) => ({ bus, src, name: 1n, product: undefined });

Deno.test("everybody on every bus is asked for a claim at start, once", () => {
  const asked = run(new Discovery(3), { fromMs: 0, toMs: 60_000 });
  assert.deepEqual(asked, [0, 1, 2].map((bus) => ({ atMs: 0, bus, dst: 255, pgn: CLAIM })));
});

Deno.test("everybody on a bus that has come up again is asked again, on that bus alone", () => {
  const discovery = begun(2);
  discovery.askAll(1);
  assert.deepEqual(discovery.due(0), [{ bus: 1, dst: 255, pgn: CLAIM }]);
  assert.deepEqual(discovery.due(1000), []);
});

Deno.test("an unknown source is asked for its claim after it had time to tell by itself", () => {
  const discovery = begun();
  discovery.known(stranger(9), 0);
  assert.deepEqual(discovery.due(249), []);
  assert.deepEqual(discovery.due(250), [{ bus: 0, dst: 9, pgn: CLAIM }]);
  assert.equal(discovery.pending, 1);
});

Deno.test("a source that claims by itself is not asked for its claim", () => {
  const discovery = begun();
  discovery.known(stranger(9), 0);
  discovery.known(named(9), 100);
  assert.deepEqual(run(discovery, { fromMs: 100, toMs: 1500 }), [{ atMs: 100, bus: 0, dst: 9, pgn: PRODUCT }]);
});

Deno.test("product information is asked for as soon as the claim is there, and nothing once it is known", () => {
  const discovery = begun();
  discovery.known(named(9), 0);
  assert.deepEqual(discovery.due(0), [{ bus: 0, dst: 9, pgn: PRODUCT }]);
  discovery.known({ ...named(9), product: {} }, 50);
  assert.equal(discovery.pending, 0);
  assert.deepEqual(run(discovery, { fromMs: 50, toMs: 600_000 }), []);
});

Deno.test("a source that never answers is asked with doubling waits, eight times, and then left in peace", () => {
  const discovery = begun();
  discovery.known(stranger(9), 0);
  const asked = run(discovery, { fromMs: 0, toMs: 3_600_000 }).map(({ atMs }) => atMs);
  assert.equal(asked.length, 8);
  const waits = asked.slice(1).map((atMs, i) => atMs - asked[i]!);
  assert.deepEqual(waits, [2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000]);
});

Deno.test("product information that never comes is asked for with doubling waits and a cap too", () => {
  const discovery = begun();
  discovery.known(named(9), 0);
  assert.equal(run(discovery, { fromMs: 0, toMs: 3_600_000 }).length, 8);
});

Deno.test("hearing more of the same source does not start its tries afresh", () => {
  const discovery = begun();
  let asked = 0;
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 1000) {
    discovery.known(stranger(9), nowMs);
    asked += discovery.due(nowMs + 500).length;
  }
  assert.equal(asked, 8);
});

Deno.test("a source that is gone is not asked any more, and asked anew when it comes back", () => {
  const discovery = begun();
  discovery.known(stranger(9), 0);
  discovery.gone({ bus: 0, src: 9 }, 0);
  assert.equal(discovery.pending, 0);
  assert.deepEqual(run(discovery, { fromMs: 0, toMs: 60_000 }), []);
  discovery.known(stranger(9), 60_000);
  assert.equal(run(discovery, { fromMs: 60_000, toMs: 61_000 }).length, 1);
});

Deno.test("two devices that fight over a NAME, and come and go with each claim, are left in peace in the end", () => {
  const discovery = begun();
  let asked = 0;
  for (let nowMs = 0; nowMs < 1_800_000; nowMs += 100) {
    // Each claim of one evicts the other, whose next frame brings it back without a NAME.
    const [holder, other] = Math.floor(nowMs / 1000) % 2 === 0 ? [8, 9] : [9, 8];
    if (nowMs % 1000 === 0) discovery.gone({ bus: 0, src: other }, nowMs);
    discovery.known(stranger(other), nowMs);
    discovery.known({ ...stranger(holder), name: 1n, product: {} }, nowMs);
    asked += discovery.due(nowMs).length;
  }
  // Eight tries for each address, and what was asked before the fight showed.
  assert.ok(asked <= 18, `${asked} requests`);
});

Deno.test("a request that could not be sent was no try, and a bus that comes up again is asked afresh", () => {
  const discovery = begun();
  discovery.known(stranger(9), 0);
  for (let nowMs = 1000; nowMs < 3_600_000; nowMs += 1000) {
    discovery.due(nowMs).forEach((each) => discovery.notSent(each));
  }
  const [again] = discovery.due(4_000_000);
  assert.equal(again?.dst, 9);
  run(discovery, { fromMs: 4_000_000, toMs: 8_000_000 });
  assert.deepEqual(discovery.due(8_000_000), []);
  discovery.askAll(0);
  assert.deepEqual(discovery.due(8_000_100).map(({ dst }) => dst), [255, 9]);
});

Deno.test("nothing is asked on a bus that is not up", () => {
  const discovery = new Discovery(2);
  for (const bus of [0, 1]) discovery.known(stranger(9, bus), 0);
  const asked = discovery.due(1000, (bus) => bus === 1);
  assert.deepEqual(asked.map(({ bus, dst }) => [bus, dst]), [[1, 255], [1, 9]]);
});

Deno.test("the same source on two buses is asked on both, and gone on one alone", () => {
  const discovery = begun(2);
  discovery.known(stranger(9, 0), 0);
  discovery.known(stranger(9, 1), 0);
  discovery.gone({ bus: 0, src: 9 }, 0);
  assert.deepEqual(discovery.due(1000), [{ bus: 1, dst: 9, pgn: CLAIM }]);
});

Deno.test("a storm of 253 unknown sources on each bus is never answered with more requests than the rate", () => {
  const discovery = new Discovery(2);
  for (let src = 0; src < 253; src++) for (const bus of [0, 1]) discovery.known(stranger(src, bus), 0);
  const asked = run(discovery, { fromMs: 0, toMs: 120_000 });
  for (const bus of [0, 1]) {
    const times = asked.filter((each) => each.bus === bus).map(({ atMs }) => atMs);
    for (let from = 0; from < times.length; from++) {
      const within = times.filter((atMs) => atMs >= times[from]! && atMs <= times[from]! + 1000).length;
      assert.ok(within <= BURST + PER_SECOND, `${within} in the second from ${times[from]}`);
    }
    const heard = new Set(asked.filter((each) => each.bus === bus && each.dst !== 255).map(({ dst }) => dst));
    assert.equal(heard.size, 253, `sources asked on bus ${bus}`);
  }
});

Deno.test("a storm on one bus takes nothing from another", () => {
  const discovery = begun(2);
  for (let src = 0; src < 253; src++) discovery.known(stranger(src, 0), 0);
  discovery.known(stranger(9, 1), 0);
  assert.equal(discovery.due(250).filter(({ bus }) => bus === 1).length, 1);
});

/** A device on a bus that claims and tells its product when it is asked. Returns what it heard: `dst payload`. */
function device(bus: LoopbackBus, { src, name, model }: { src: number; name: bigint; model: string }): string[] {
  const heard: string[] = [];
  bus.attach(({ id, data, offset: start, length }) => {
    const { pgn, dst, src: asker, prio } = parseCanId(id);
    if (pgn !== 59904 || (dst !== src && dst !== 255)) return;
    assert.deepEqual([asker, prio], [254, 6]);
    heard.push(`${dst} ${formatHex(data, { start, length })}`);
    const answer = heard.at(-1)!.endsWith("00ee00") ? claim(name, { src, prio: 6 }) : product(model, { src, prio: 6 });
    const payload = answer.data.subarray(answer.offset, answer.offset + answer.length);
    const frames = payload.length > 8 ? splitFastPacket(payload, 0) : [payload];
    for (const frame of frames) bus.inject(answer.id, frame);
  });
  return heard;
}

Deno.test("identity requests find claim and product information of the devices of every bus", async () => {
  const buses = [new LoopbackBus("can0"), new LoopbackBus("can1")];
  const broker = new Broker({ buses: ["can0", "can1"], ringFrames: 1024 });
  const answered = Promise.withResolvers<void>();
  broker.registry.listen(() => {
    if ([...broker.registry].filter((each) => each.product).length === 2) answered.resolve();
  });
  for (const [index, bus] of buses.entries()) {
    const assembler = new Assembler((message) => broker.publish(message), { bus: index });
    await bus.open({ frame: (frame) => assembler.push(frame), state: () => {} });
  }
  const heard = buses.map((bus, i) => device(bus, { src: 40, name: BigInt(7 + i), model: `model ${i}` }));
  const requests = new IdentityRequests({ broker, buses, clock: systemClock, log: silentLogger });
  requests.start();
  try {
    await answered.promise;
    assert.deepEqual([...broker.registry].map((each) => [each.bus, each.src, each.name, each.product?.modelId]), [
      [0, 40, 7n, "model 0"],
      [1, 40, 8n, "model 1"],
    ]);
    assert.deepEqual(heard, [["255 00ee00", "40 14f001"], ["255 00ee00", "40 14f001"]]);
    assert.equal(requests.pending, 0);
    assert.deepEqual({ ...requests.counters }, { sent: 4, failed: 0 });
    buses[0]!.inject(buildCanId({ prio: 2, pgn: 127250, src: 99, dst: 255 }), new Uint8Array(8));
    await Promise.resolve();
    assert.equal(requests.pending, 1);
    broker.registry.expire(systemClock.monoMs() + 1e6, 1);
    assert.equal(requests.pending, 0, "who has gone is not waited for");
  } finally {
    requests.stop();
    for (const bus of buses) await bus.close();
  }
});

Deno.test("a source is asked for its claim whatever it is heard with first, be it a request or product information", () => {
  const clock = { wallUs: () => 0, monoMs: () => 0 };
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  const requests = new IdentityRequests({ broker, buses: [], clock, log: silentLogger });
  broker.publish(message({ src: 1, pgn: 59904, data: [0, 0xee, 0] }));
  broker.publish(product("model", { src: 2 }));
  broker.publish(message({ src: 3, pgn: 127250 }));
  broker.publish(message({ src: 254, pgn: 59904, data: [0, 0xee, 0] }));
  assert.equal(requests.pending, 3);
  requests.stop();
});

Deno.test("identity requests wait for a bus that is not open", async () => {
  const bus = new LoopbackBus("can0");
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  const requests = new IdentityRequests({ broker, buses: [bus], clock: systemClock, log: silentLogger });
  requests.start();
  await Promise.resolve();
  assert.deepEqual({ ...requests.counters }, { sent: 0, failed: 0 });
  await bus.open({ frame: () => {}, state: () => {} });
  await eventually("everybody is asked", () => requests.counters.sent === 1);
  requests.stop();
  await bus.close();
});

Deno.test("our own requests, which come back from the bus, make no device", async () => {
  const bus = new LoopbackBus("can0");
  const broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  const assembler = new Assembler((message) => broker.publish(message));
  await bus.open({ frame: (frame) => assembler.push(frame), state: () => {} });
  await bus.send(buildCanId({ prio: 6, pgn: 59904, src: 254, dst: 255 }), Uint8Array.of(0, 0xee, 0));
  await Promise.resolve();
  assert.deepEqual([broker.published, broker.registry.size], [1, 0]);
  await bus.close();
});
