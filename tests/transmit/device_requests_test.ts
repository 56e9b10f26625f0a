import assert from "node:assert/strict";
import { silentLogger, systemClock } from "../../src/base/mod.ts";
import { Broker } from "../../src/broker/mod.ts";
import { Assembler, LoopbackBus } from "../../src/can/mod.ts";
import { buildCanId, parseCanId } from "../../src/frame/mod.ts";
import {
  DeviceRequests,
  IdentityRequests,
  type IsoRequestRule,
  type OutgoingMessage,
  type Transmit,
  TransmitError,
} from "../../src/transmit/mod.ts";
import { isoRequestPayload } from "../../src/pgn/mod.ts";
import { attachSimulatedBoat } from "../../src/simulator/mod.ts";
import { eventually, pause } from "../support/eventually.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { claim, message, product } from "../support/messages.ts";

const CONFIGURATION = 126998;
const PGN_LISTS = 126464;
/** A PGN that the boat's barometer does not have. */
const ROUTE = 130065;
const OWN = 254;

function isoRule(words: Partial<IsoRequestRule> = {}): IsoRequestRule {
  return {
    via: "iso",
    name: "rule",
    match: {},
    to: "device",
    want: [CONFIGURATION],
    minIntervalMs: 60_000,
    maxAgeMs: undefined,
    onOnline: true,
    invalidateOn: [],
    ...words,
  };
}

/** A way to a bus for messages of one frame. */
function wayTo(bus: LoopbackBus): Transmit {
  return {
    send: async (messages) => {
      for (const each of messages) await bus.send(buildCanId(each), each.data);
    },
  };
}

/** Remembers what it was given to send, and takes it or not. */
class Recorder implements Transmit {
  readonly sent: OutgoingMessage[] = [];
  fault: TransmitError | undefined;

  send(messages: readonly OutgoingMessage[]): Promise<void> {
    if (this.fault?.reason === "full") throw this.fault;
    if (this.fault) return Promise.reject(this.fault);
    this.sent.push(...messages);
    return Promise.resolve();
  }
}

/** Requests by rules on a bus that is played by the test. They ask when they are started, and in ticks after that. */
class Bench {
  readonly broker = new Broker({ buses: ["can0"], ringFrames: 64 });
  readonly clock = new FakeClock();
  readonly transmit = new Recorder();
  source: number | undefined = OWN;

  requests(rules: readonly IsoRequestRule[]): DeviceRequests {
    const { broker, clock, transmit } = this;
    const sourceOn = () => this.source;
    return new DeviceRequests({ rules, globalMinIntervalMs: 0, broker, transmit, sourceOn, clock, log: silentLogger });
  }

  /** Lets time pass until the next tick is over. */
  async tick(ms: number): Promise<void> {
    this.clock.advance(ms);
    await pause(250);
  }
}

Deno.test("a boat's devices are asked for what the rules want, and all of it comes or is refused", async () => {
  const bus = new LoopbackBus("can0");
  const broker = new Broker({ buses: ["can0"] });
  const assembler = new Assembler((each) => broker.publish(each));
  await bus.open({ frame: (frame) => assembler.push(frame), state: () => {} });
  const answered = new Set<string>();
  bus.attach(({ id }) => answered.add(`${parseCanId(id).src} ${parseCanId(id).pgn}`));
  const twin = attachSimulatedBoat(bus);
  const identity = new IdentityRequests({ broker, buses: [bus], clock: systemClock, log: silentLogger });
  const requests = new DeviceRequests({
    rules: [
      isoRule({ want: [CONFIGURATION, PGN_LISTS], minIntervalMs: 500 }),
      isoRule({ name: "no route", want: [ROUTE], match: { models: ["wso*"] }, minIntervalMs: 500 }),
    ],
    globalMinIntervalMs: 1,
    broker,
    transmit: wayTo(bus),
    sourceOn: () => bus.state.type === "up" ? OWN : undefined,
    clock: systemClock,
    log: silentLogger,
  });
  for (const part of [twin, identity, requests]) part.start();
  try {
    const addresses = await eventually("addresses of all devices", () => {
      const claimed = twin.devices.filter((each) => each.claim.type === "claimed");
      return claimed.length === twin.devices.length && claimed.map(({ address }) => address);
    });
    const wanted = addresses.flatMap((src) => [CONFIGURATION, PGN_LISTS].map((pgn) => `${src} ${pgn}`));
    await eventually("all answers", () => wanted.every((each) => answered.has(each)));
    await eventually("a refusal", () => requests.counters.refused === 1);
    await eventually("nothing but what was refused to be missing", () => requests.pending === 1);
    assert.equal(requests.counters.failed, 0);
    assert.ok(requests.counters.answered >= wanted.length, `${requests.counters.answered} answers`);
  } finally {
    for (const part of [requests, identity, twin]) part.stop();
    await bus.close();
  }
});

Deno.test("devices that were there before the rules are asked, and those that come later", async () => {
  const bench = new Bench();
  bench.broker.publish(claim(5n, { src: 9 }));
  const requests = bench.requests([isoRule()]);
  bench.broker.publish(claim(6n, { src: 8 }));
  assert.equal(requests.pending, 2);
  bench.clock.advance(1000);
  requests.start();
  await pause();
  requests.stop();
  assert.deepEqual(bench.transmit.sent.map(({ dst }) => dst), [9, 8]);
  assert.deepEqual({ ...bench.transmit.sent[0]! }.data, isoRequestPayload(CONFIGURATION));
  assert.deepEqual(requests.counters, { sent: 2, failed: 0, answered: 0, refused: 0 });
});

Deno.test("an answer counts when it is published, whatever else is; after the end nothing is heard any more", async () => {
  const bench = new Bench();
  const { broker } = bench;
  const requests = bench.requests([isoRule({ want: [CONFIGURATION, ROUTE] })]);
  broker.publish(product("model", { src: 9 }));
  bench.clock.advance(1000);
  requests.start();
  await pause();
  assert.deepEqual([requests.pending, broker.subscribers], [2, 1]);
  for (let i = 0; i < 200; i++) broker.publish(message({ src: 9, pgn: 127250 }));
  broker.publish(message({ src: 9, pgn: ROUTE, data: new Uint8Array(100) }));
  assert.deepEqual([requests.pending, requests.counters.answered, broker.dropped], [1, 1, 0]);
  requests.stop();
  broker.publish(message({ src: 9, pgn: CONFIGURATION }));
  broker.publish(message({ src: 10, pgn: CONFIGURATION }));
  assert.deepEqual([requests.pending, broker.subscribers], [1, 0]);
});

Deno.test("requests wait for an address to ask from, and then are sent from it", async () => {
  const bench = new Bench();
  bench.source = undefined;
  bench.broker.publish(claim(5n, { src: 9 }));
  const requests = bench.requests([isoRule()]);
  requests.start();
  await bench.tick(1000);
  assert.equal(bench.transmit.sent.length, 0);
  bench.source = 77;
  await eventually("a request", () => bench.transmit.sent.length === 1);
  requests.stop();
  assert.equal(bench.transmit.sent[0]?.src, 77);
});

for (const reason of ["full", "bus"] as const) {
  Deno.test(`a request that fails with "${reason}" is counted, was no try, and is sent a second later`, async () => {
    const bench = new Bench();
    bench.broker.publish(claim(5n, { src: 9 }));
    bench.transmit.fault = new TransmitError(reason, "Cannot send");
    const requests = bench.requests([isoRule({ minIntervalMs: 60_000 })]);
    bench.clock.advance(1000);
    requests.start();
    await eventually("a failure", () => requests.counters.failed === 1);
    bench.transmit.fault = undefined;
    await bench.tick(999);
    assert.deepEqual(requests.counters, { sent: 0, failed: 1, answered: 0, refused: 0 });
    bench.clock.advance(1);
    await eventually("a request", () => requests.counters.sent === 1);
    await bench.tick(59_999);
    assert.equal(requests.counters.sent, 1);
    bench.clock.advance(1);
    await eventually("another one", () => requests.counters.sent === 2);
    requests.stop();
  });
}

Deno.test("without rules nothing is heard and nothing is asked", () => {
  const bench = new Bench();
  const requests = bench.requests([]);
  bench.broker.publish(claim(5n, { src: 9 }));
  requests.start();
  assert.deepEqual([bench.broker.subscribers, requests.pending, bench.transmit.sent.length], [0, 0, 0]);
  requests.stop();
});
