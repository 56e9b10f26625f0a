import assert from "node:assert/strict";
import {
  type DeviceRequest,
  type FrameRequestRule,
  type IsoRequestRule,
  RequestEngine,
  type RequestRule,
  type RequestTarget,
} from "../../src/transmit/mod.ts";
import { formatHex } from "../../src/frame/mod.ts";
import { message } from "../support/messages.ts";

const SECOND = 1000;
const HOUR = 3_600_000;
const CONFIGURATION = 126998;
const PGN_LISTS = 126464;
const ROUTE = 129284;
const REGISTERS = 61184;
const OWN = 254;
/** When a device came that has had the time to settle. */
const EARLIER = -SECOND;

function isoRule(words: Partial<IsoRequestRule> = {}): IsoRequestRule {
  return {
    via: "iso",
    name: "rule",
    match: {},
    to: "device",
    want: [CONFIGURATION],
    minIntervalMs: 10 * SECOND,
    maxAgeMs: undefined,
    onOnline: true,
    invalidateOn: [],
    ...words,
  };
}

/** Asks for registers as Victron's devices have them: two bytes after the maker's two. */
function frameRule(words: Partial<FrameRequestRule> = {}): FrameRequestRule {
  return {
    ...isoRule(),
    via: "frame",
    want: [0x0ed8d, 0x0ed8f],
    pgn: REGISTERS,
    prio: 7,
    template: Uint8Array.fromHex("6699000000000000"),
    write: { offset: 2, length: 2 },
    read: { offset: 2, length: 2 },
    ...words,
  };
}

function device(src: number, words: Partial<RequestTarget> = {}): RequestTarget {
  return { bus: 0, src, name: undefined, fields: undefined, product: undefined, ...words };
}

function engineOf(rules: readonly RequestRule[], { globalMinIntervalMs = 0, buses = ["can0", "can1"] } = {}) {
  return new RequestEngine({ rules, buses, globalMinIntervalMs });
}

const ready = () => OWN;

/** The requests that are due, all sent at once. */
function ask(engine: RequestEngine, nowMs: number, sourceOn: (bus: number) => number | undefined = ready) {
  const requests = engine.due(nowMs, sourceOn);
  for (const request of requests) engine.sent(request, nowMs);
  return requests;
}

/** Lets time pass in ticks of a second; says when something was asked. */
function askedAt(engine: RequestEngine, { fromMs = 0, toMs }: { fromMs?: number; toMs: number }): number[] {
  const times: number[] = [];
  for (let nowMs = fromMs; nowMs <= toMs; nowMs += SECOND) times.push(...ask(engine, nowMs).map(() => nowMs));
  return times;
}

const brief = ({ bus, dst, pgn, data }: DeviceRequest) => `${bus} ${dst} ${pgn} ${formatHex(data)}`;
const nak = (src: number, pgn: number, control = 1) =>
  message({ src, pgn: 59392, data: [control, 0xff, 0xff, 0xff, OWN, pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16] });

Deno.test("a datum that is missing is asked for by an ISO request to the device, and not again once it has come", () => {
  const engine = engineOf([isoRule({ want: [CONFIGURATION, PGN_LISTS] })]);
  engine.known(device(9), EARLIER);
  assert.equal(engine.pending, 2);
  assert.deepEqual(ask(engine, 0), [
    {
      rule: "rule",
      want: CONFIGURATION,
      bus: 0,
      prio: 6,
      pgn: 59904,
      src: OWN,
      dst: 9,
      data: Uint8Array.of(22, 240, 1),
    },
    { rule: "rule", want: PGN_LISTS, bus: 0, prio: 6, pgn: 59904, src: OWN, dst: 9, data: Uint8Array.of(0, 238, 1) },
  ]);
  engine.received(message({ src: 9, pgn: CONFIGURATION }), 100);
  engine.received(message({ src: 8, pgn: PGN_LISTS }), 100);
  engine.received(message({ src: 9, pgn: PGN_LISTS, bus: 1 }), 100);
  assert.equal(engine.pending, 1, "an answer of somebody else is none");
  engine.received(message({ src: 9, pgn: PGN_LISTS }), 200);
  assert.deepEqual([engine.pending, engine.counters.answered], [0, 2]);
  assert.deepEqual(askedAt(engine, { fromMs: SECOND, toMs: 24 * HOUR }), []);
});

Deno.test("a datum is asked for again when it is older than its maximum age, and what comes by itself keeps it young", () => {
  const engine = engineOf([isoRule({ maxAgeMs: 60 * SECOND, onOnline: false })]);
  engine.known(device(9), EARLIER);
  assert.equal(ask(engine, 0).length, 1);
  engine.received(message({ src: 9, pgn: CONFIGURATION }), SECOND);
  engine.received(message({ src: 9, pgn: CONFIGURATION }), 30 * SECOND);
  assert.equal(engine.counters.answered, 1, "what nobody had asked for is no answer");
  assert.deepEqual(askedAt(engine, { toMs: 89 * SECOND }), []);
  assert.deepEqual(ask(engine, 90 * SECOND).length, 1);
});

Deno.test("the minimum interval has the last word over the maximum age and over invalidation", () => {
  const engine = engineOf([isoRule({ maxAgeMs: SECOND, invalidateOn: [ROUTE] })]);
  engine.known(device(9), EARLIER);
  const times: number[] = [];
  for (let nowMs = 0; nowMs < 35 * SECOND; nowMs += 100) {
    if (ask(engine, nowMs).length > 0) times.push(nowMs);
    engine.received(message({ src: 9, pgn: CONFIGURATION }), nowMs);
    engine.received(message({ src: 9, pgn: ROUTE }), nowMs);
  }
  assert.deepEqual(times, [0, 10_000, 20_000, 30_000]);
});

Deno.test("without a reason to want it from the first, a datum is asked for when it was invalidated by its device", () => {
  const engine = engineOf([isoRule({ onOnline: false, invalidateOn: [ROUTE] })]);
  engine.known(device(9), EARLIER);
  assert.deepEqual([engine.pending, ask(engine, 0).length], [0, 0]);
  engine.received(message({ src: 8, pgn: ROUTE }), 0);
  assert.equal(ask(engine, 0).length, 0);
  engine.received(message({ src: 9, pgn: ROUTE }), 0);
  assert.deepEqual([engine.pending, ask(engine, 0).length], [1, 1]);
  engine.received(message({ src: 9, pgn: CONFIGURATION }), 100);
  assert.deepEqual(askedAt(engine, { fromMs: SECOND, toMs: HOUR }), []);
});

Deno.test("who never answers is asked with doubling waits up to an hour, or the minimum interval where that is longer", () => {
  const engine = engineOf([isoRule()]);
  engine.known(device(9), EARLIER);
  const times = askedAt(engine, { toMs: 8 * HOUR });
  const waits = times.slice(1).map((atMs, i) => (atMs - times[i]!) / SECOND);
  assert.deepEqual(waits, [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600, 3600, 3600, 3600, 3600]);
  const slow = engineOf([isoRule({ minIntervalMs: 2 * HOUR })]);
  slow.known(device(9), EARLIER);
  assert.deepEqual(askedAt(slow, { toMs: 8 * HOUR }).map((atMs) => atMs / HOUR), [0, 2, 4, 6, 8]);
});

Deno.test("invalidation does not shorten the waits for a device that does not answer; an answer does", () => {
  const engine = engineOf([isoRule({ invalidateOn: [ROUTE] })]);
  engine.known(device(9), EARLIER);
  askedAt(engine, { toMs: 70 * SECOND });
  engine.received(message({ src: 9, pgn: ROUTE }), 71 * SECOND);
  assert.deepEqual(askedAt(engine, { fromMs: 71 * SECOND, toMs: 149 * SECOND }), []);
  engine.received(message({ src: 9, pgn: CONFIGURATION }), 149 * SECOND);
  engine.received(message({ src: 9, pgn: ROUTE }), 149 * SECOND);
  assert.equal(ask(engine, 149 * SECOND).length, 1);
});

for (const control of [1, 2]) {
  Deno.test(`a device that refuses with control byte ${control} is asked six hours later, and counted`, () => {
    const engine = engineOf([isoRule()]);
    engine.known(device(9), EARLIER);
    engine.received(nak(9, CONFIGURATION), 0);
    assert.equal(engine.counters.refused, 0, "nobody had asked");
    assert.equal(ask(engine, 0).length, 1);
    engine.received(nak(8, CONFIGURATION, control), 50);
    engine.received(nak(9, PGN_LISTS, control), 50);
    engine.received(message({ src: 9, pgn: 59392, data: [control] }), 50);
    assert.equal(engine.counters.refused, 0, "the refusals of others, of other PGNs, and what is cut short");
    engine.received(nak(9, CONFIGURATION, control), 0);
    assert.deepEqual(engine.counters, { answered: 0, refused: 1 });
    assert.deepEqual(
      askedAt(engine, { toMs: 12 * HOUR }),
      [6 * HOUR, 6 * HOUR + 10_000, 6 * HOUR + 30_000].concat(
        [70, 150, 310, 630, 1270, 2550, 5110, 8710, 12_310, 15_910, 19_510].map((s) => 6 * HOUR + s * SECOND),
      ),
    );
  });
}

for (const [control, what] of [[0, "an acknowledgement"], [3, "a device that is busy"]] as const) {
  Deno.test(`${what} is no refusal`, () => {
    const engine = engineOf([isoRule()]);
    engine.known(device(9), EARLIER);
    ask(engine, 0);
    engine.received(nak(9, CONFIGURATION, control), 50);
    assert.equal(engine.counters.refused, 0);
    assert.equal(ask(engine, 10 * SECOND).length, 1);
  });
}

Deno.test("a refusal of an own message's PGN is about the sub-key that was asked for last", () => {
  const engine = engineOf([frameRule({ want: [1, 2] })], { globalMinIntervalMs: 50 });
  engine.known(device(9), EARLIER);
  assert.deepEqual([0, 50].flatMap((nowMs) => ask(engine, nowMs)).map(({ want }) => want), [1, 2]);
  engine.received(nak(9, REGISTERS | 9), 60);
  assert.equal(engine.counters.refused, 1);
  assert.deepEqual([10_050, 10_100].flatMap((nowMs) => ask(engine, nowMs)).map(({ want }) => want), [1]);
});

Deno.test("an own message carries the sub-key little-endian, and only the answer with that sub-key counts", () => {
  const engine = engineOf([frameRule()]);
  engine.known(device(9), EARLIER);
  const requests = ask(engine, 0);
  assert.deepEqual(requests.map(brief), ["0 9 61184 66998ded00000000", "0 9 61184 66998fed00000000"]);
  assert.equal(requests[0]!.prio, 7);
  engine.received(message({ src: 9, pgn: REGISTERS, data: [0x66, 0x99, 0x8f] }), 10);
  engine.received(message({ src: 9, pgn: REGISTERS, data: [0x66, 0x99, 0x90, 0xed, 1, 2, 3, 4] }), 10);
  assert.equal(engine.pending, 2);
  engine.received(message({ src: 9, pgn: REGISTERS, data: [0x66, 0x99, 0x8f, 0xed, 1, 2, 3, 4] }), 10);
  assert.equal(engine.pending, 1);
  assert.deepEqual(ask(engine, 10 * SECOND).map(({ want }) => want), [0xed8d]);
});

Deno.test("a sub-key of four bytes goes and comes whole; without a place to read every message is an answer", () => {
  const place = { offset: 1, length: 4 };
  const rule = frameRule({ want: [0xfedcba98], template: new Uint8Array(5), write: place, read: place });
  const engine = engineOf([
    rule,
    frameRule({ want: [5], template: Uint8Array.of(1), write: undefined, read: undefined }),
  ]);
  engine.known(device(9), EARLIER);
  const [request, plain] = ask(engine, 0);
  assert.deepEqual([formatHex(request!.data), formatHex(plain!.data)], ["0098badcfe", "01"]);
  engine.received(message({ src: 9, pgn: REGISTERS, data: [1, 2, 3] }), 1);
  assert.equal(engine.pending, 1);
  engine.received(message({ src: 9, pgn: REGISTERS, data: request!.data }), 1);
  assert.equal(engine.pending, 0);
});

const GARMIN = 229;
const PLOTTER: RequestTarget = {
  bus: 1,
  src: 9,
  name: 0xc0a1n,
  fields: { manufacturerCode: GARMIN, deviceClass: 60, deviceFunction: 145 },
  product: { modelId: "GPSMAP 8612" },
};

Deno.test("a rule waits until a device has told what it goes by, and leaves it when that has changed", () => {
  const engine = engineOf([isoRule({ match: { manufacturers: [GARMIN], models: ["GPSMAP*"] } })]);
  const { bus, src, name, fields } = PLOTTER;
  for (const known of [device(src, { bus }), { bus, src, name, fields, product: undefined }]) {
    engine.known(known, EARLIER);
    assert.equal(engine.pending, 0);
  }
  engine.known(PLOTTER, EARLIER);
  assert.equal(engine.pending, 1);
  engine.known({ ...PLOTTER, product: { modelId: "GNX 130" } }, EARLIER);
  assert.deepEqual([engine.pending, ask(engine, 0).length], [0, 0]);
});

Deno.test("a rule that asks everybody asks once for all its devices, and again while one of them owes an answer", () => {
  const engine = engineOf([isoRule({ to: 255, match: { sources: [1, 2, 3] } })]);
  for (const src of [1, 2, 3, 4]) engine.known(device(src), EARLIER);
  engine.known(device(1, { bus: 1 }), EARLIER);
  assert.deepEqual(ask(engine, 0).map(({ bus, dst }) => [bus, dst]), [[0, 255], [1, 255]]);
  assert.equal(engine.pending, 4);
  for (const src of [1, 3]) engine.received(message({ src, pgn: CONFIGURATION }), 100);
  engine.received(message({ src: 1, bus: 1, pgn: CONFIGURATION }), 100);
  assert.deepEqual(ask(engine, 10 * SECOND).map(({ bus, dst }) => [bus, dst]), [[0, 255]]);
  engine.known(device(2), EARLIER);
  engine.gone({ bus: 0, src: 2 }, 11 * SECOND);
  assert.deepEqual(askedAt(engine, { fromMs: 12 * SECOND, toMs: HOUR }), []);
});

Deno.test("a newcomer does not make everybody be asked sooner than the minimum interval", () => {
  const engine = engineOf([isoRule({ to: 255 })]);
  engine.known(device(1), EARLIER);
  ask(engine, 0);
  engine.received(message({ src: 1, pgn: CONFIGURATION }), 100);
  engine.known(device(2), SECOND);
  assert.deepEqual(askedAt(engine, { fromMs: 2 * SECOND, toMs: 15 * SECOND }), [10 * SECOND]);
});

Deno.test("nothing is asked on a bus that is not ready, and our own address is never asked", () => {
  const engine = engineOf([isoRule(), isoRule({ name: "all", to: 255 })]);
  for (const bus of [0, 1]) engine.known(device(9, { bus }), EARLIER);
  assert.deepEqual(ask(engine, 0, (bus) => bus === 1 ? 9 : undefined), []);
  const requests = ask(engine, SECOND, (bus) => bus === 0 ? 7 : undefined);
  assert.deepEqual(requests.map(({ bus, src, dst }) => [bus, src, dst]), [[0, 7, 9], [0, 7, 255]]);
});

Deno.test("a device that has come, or claimed its address, just now is asked when it may answer", () => {
  const engine = engineOf([isoRule()]);
  engine.known(device(9), 0);
  assert.equal(engine.due(299, ready).length, 0);
  engine.known(device(9, { name: 5n }), 299);
  engine.known(device(9, { name: 5n, product: { modelId: "x" } }), 500);
  assert.deepEqual([engine.due(598, ready).length, engine.due(599, ready).length], [0, 1]);
});

Deno.test("a request that is on its way is not asked again, and the minimum interval begins when it is out", () => {
  const engine = engineOf([isoRule()]);
  engine.known(device(9), EARLIER);
  const [request] = engine.due(0, ready);
  assert.deepEqual(engine.due(HOUR, ready), []);
  engine.sent(request!, HOUR);
  assert.deepEqual(engine.due(HOUR + 9999, ready), []);
  assert.equal(engine.due(HOUR + 10_000, ready).length, 1);
});

Deno.test("a request that could not be sent was no try, and is sent a second later", () => {
  const engine = engineOf([isoRule()]);
  engine.known(device(9), EARLIER);
  for (let nowMs = 0; nowMs < 100 * SECOND; nowMs += SECOND) {
    const requests = engine.due(nowMs, ready);
    assert.equal(requests.length, 1);
    assert.equal(engine.due(nowMs + 999, ready).length, 0);
    engine.notSent(requests[0]!, nowMs);
  }
  assert.deepEqual(askedAt(engine, { fromMs: 100 * SECOND, toMs: 130 * SECOND }), [100_000, 110_000, 130_000]);
});

Deno.test("requests of all rules keep the global minimum interval, and take turns", () => {
  const engine = engineOf([isoRule({ minIntervalMs: 1 })], { globalMinIntervalMs: SECOND });
  for (const src of [1, 2, 3]) engine.known(device(src), EARLIER);
  const asked: [number, number][] = [];
  for (let nowMs = 0; nowMs < 6 * SECOND; nowMs += 100) {
    asked.push(...ask(engine, nowMs).map(({ dst }): [number, number] => [nowMs, dst]));
  }
  assert.deepEqual(asked, [[0, 1], [1000, 2], [2000, 3], [3000, 1], [4000, 2], [5000, 3]]);
});

Deno.test("a device that comes and goes is not asked sooner, nor more often when it never answers", () => {
  const engine = engineOf([isoRule()]);
  const times: number[] = [];
  for (let nowMs = 0; nowMs < HOUR; nowMs += SECOND) {
    engine.known(device(9, { name: 5n }), nowMs);
    times.push(...ask(engine, nowMs + 300).map(() => nowMs / SECOND));
    engine.gone({ bus: 0, src: 9 }, nowMs + 500);
  }
  assert.deepEqual(times, [0, 10, 30, 70, 150, 310, 630, 1270, 2550]);
});

Deno.test("what a device had told is asked again when it was away; another device at its address begins anew", () => {
  const engine = engineOf([isoRule()]);
  engine.known(device(9, { name: 5n }), EARLIER);
  ask(engine, 0);
  engine.received(message({ src: 9, pgn: CONFIGURATION }), 100);
  engine.gone({ bus: 0, src: 9 }, 20 * SECOND);
  engine.known(device(9, { name: 5n }), 21 * SECOND);
  assert.equal(engine.pending, 1);
  askedAt(engine, { fromMs: 21 * SECOND, toMs: 200 * SECOND });
  engine.gone({ bus: 0, src: 9 }, 200 * SECOND);
  engine.known(device(9), 201 * SECOND);
  assert.equal(ask(engine, 202 * SECOND).length, 0);
  engine.known(device(9, { name: 6n }), 203 * SECOND);
  assert.equal(ask(engine, 204 * SECOND).length, 1);
});

Deno.test("who was away for five minutes is taken for restarted: a refusal of before does not count", () => {
  const engine = engineOf([isoRule()]);
  engine.known(device(9, { name: 5n }), EARLIER);
  ask(engine, 0);
  engine.received(nak(9, CONFIGURATION), 100);
  engine.gone({ bus: 0, src: 9 }, SECOND);
  engine.known(device(9, { name: 5n }), 300 * SECOND);
  assert.equal(ask(engine, 301 * SECOND).length, 0);
  engine.gone({ bus: 0, src: 9 }, 301 * SECOND);
  engine.known(device(9, { name: 5n }), 601 * SECOND);
  assert.equal(ask(engine, 602 * SECOND).length, 1);
});

Deno.test("messages to watch are the answers, what invalidates them, and refusals; without rules there are none", () => {
  const rules = [isoRule({ want: [CONFIGURATION, PGN_LISTS], invalidateOn: [ROUTE] }), frameRule({ name: "own" })];
  assert.deepEqual([...engineOf(rules).watched].sort(), [PGN_LISTS, CONFIGURATION, ROUTE, 59392, REGISTERS].sort());
  assert.equal(engineOf([]).watched.size, 0);
});
