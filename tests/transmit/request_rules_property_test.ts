import assert from "node:assert/strict";
import { type DeviceRequest, RequestEngine, type RequestRule, type RequestTarget } from "../../src/transmit/mod.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];
const STEPS = 4000;
const BUSES = ["can0", "can1"];
const SOURCES = 12;
const WANTS = [126998, 126464, 127489, 129284];
const INVALIDATING = [127250, 129029];
const REGISTERS = 61184;
const OWN = 254;
const HOUR = 3_600_000;

function randomRule(random: Random, index: number): RequestRule {
  const maxAgeMs = random.chance(0.5) ? random.between(100, 60_000) : undefined;
  const words = {
    name: `rule ${index}`,
    match: random.chance(0.5) ? {} : { sources: Array.from({ length: 4 }, () => random.int(SOURCES)) },
    to: random.pick<RequestRule["to"]>(["device", "device", 255]),
    minIntervalMs: random.between(1, 20_000),
    maxAgeMs,
    onOnline: maxAgeMs === undefined || random.chance(0.5),
    invalidateOn: random.some(INVALIDATING),
  };
  const place = { offset: 0, length: 2 };
  return random.chance(0.7) ? { ...words, via: "iso", want: [random.pick(WANTS), 126996] } : {
    ...words,
    via: "frame",
    want: [1, 2, 513],
    pgn: REGISTERS,
    prio: 6,
    template: new Uint8Array(4),
    write: place,
    read: place,
  };
}

/** What a request wants, in the one form that tells it from all others. */
const keyOf = ({ rule, want, bus, dst }: DeviceRequest) => `${rule} ${want} ${bus} ${dst}`;

/** Some devices on a bus that come and go, answer or do not, and the rules that ask them. */
class World {
  readonly random: Random;
  readonly rules: readonly RequestRule[];
  readonly globalMinIntervalMs: number;
  readonly engine: RequestEngine;
  readonly present = new Map<string, RequestTarget>();
  readonly times = new Map<string, number[]>();
  readonly allTimes: number[] = [];
  nowMs = 0;

  constructor(seed: number) {
    this.random = new Random(seed);
    this.rules = Array.from({ length: this.random.between(1, 5) }, (_, i) => randomRule(this.random, i));
    this.globalMinIntervalMs = this.random.pick([0, 50, 300]);
    const { rules, globalMinIntervalMs } = this;
    this.engine = new RequestEngine({ rules, buses: BUSES, globalMinIntervalMs });
  }

  /** One thing happens, and whatever is due is asked. */
  step(): void {
    const { random, engine } = this;
    this.nowMs += random.pick([1, 10, 100, 1000, 5000]);
    const [bus, src] = [random.int(BUSES.length), random.int(SOURCES)];
    const device = { bus, src, name: BigInt(random.between(1, 3)), fields: undefined, product: undefined };
    switch (random.int(4)) {
      case 0:
        this.present.set(`${bus} ${src}`, device);
        engine.known(device, this.nowMs);
        break;
      case 1:
        this.present.delete(`${bus} ${src}`);
        engine.gone(device, this.nowMs);
        break;
      case 2:
        engine.received(message({ bus, src, pgn: random.pick([...INVALIDATING, ...WANTS]) }), this.nowMs);
    }
    this.ask(random.chance(0.5));
  }

  /** Everybody who is there goes and comes again. */
  restart(): void {
    for (const device of this.present.values()) {
      this.engine.gone(device, this.nowMs);
      this.engine.known(device, this.nowMs);
    }
  }

  ask(isAnswered: boolean): void {
    for (const request of this.engine.due(this.nowMs, () => OWN)) {
      if (this.random.chance(0.1)) {
        this.engine.notSent(request, this.nowMs);
        continue;
      }
      this.allTimes.push(this.nowMs);
      const times = this.times.get(keyOf(request)) ?? [];
      times.push(this.nowMs);
      this.times.set(keyOf(request), times);
      this.engine.sent(request, this.nowMs);
      if (isAnswered) this.answer(request);
    }
  }

  answer({ bus, dst, want, pgn }: DeviceRequest): void {
    for (const device of this.present.values()) {
      if (device.bus !== bus || (dst !== 255 && dst !== device.src)) continue;
      const data = [want & 0xff, want >> 8, 0, 0];
      this.engine.received(
        message({ bus, src: device.src, pgn: pgn === REGISTERS ? pgn : want, data: data.map((byte) => byte & 0xff) }),
        this.nowMs,
      );
    }
  }
}

for (const seed of SEEDS) {
  Deno.test(`no request comes sooner than its rule and the global minimum allow (seed ${seed})`, () => {
    const world = new World(seed);
    for (let i = 0; i < STEPS; i++) world.step();
    assert.ok(world.allTimes.length > 100, `${world.allTimes.length} requests`);
    for (const [key, times] of world.times) {
      const rule = world.rules.find(({ name }) => key.startsWith(`${name} `))!;
      times.slice(1).forEach((atMs, i) => assert.ok(atMs - times[i]! >= rule.minIntervalMs, `${key} at ${atMs}`));
    }
    const { allTimes, globalMinIntervalMs } = world;
    allTimes.slice(1).forEach((atMs, i) => assert.ok(atMs - allTimes[i]! >= globalMinIntervalMs, `at ${atMs}`));
  });

  Deno.test(`every datum that is missing is asked for, and comes when all devices answer (seed ${seed})`, () => {
    const world = new World(seed + 100);
    for (let i = 0; i < STEPS; i++) world.step();
    world.restart();
    assert.ok(world.engine.pending > 0, "something is missing at first");
    // Longer than the longest wait, in steps that are shorter than what is waited for.
    for (const endMs = world.nowMs + 2 * HOUR; world.nowMs < endMs && world.engine.pending > 0; world.nowMs += 300) {
      world.ask(true);
    }
    assert.equal(world.engine.pending, 0);
  });

  Deno.test(`memory stays bounded by rules and addresses when devices come and go (seed ${seed})`, () => {
    const world = new World(seed + 200);
    for (let i = 0; i < STEPS; i++) world.step();
    const data = world.rules.reduce((sum, { want }) => sum + want.length, 0);
    const bound = data * BUSES.length * SOURCES;
    const before = world.engine.tracked;
    assert.ok(before <= bound, `${before} of ${bound}`);
    for (let i = 0; i < STEPS; i++) world.step();
    assert.ok(world.engine.tracked <= bound, `${world.engine.tracked} of ${bound}`);
  });
}

Deno.test("a datum is asked for at once on each of 250 devices, one request in each global minimum interval", () => {
  const rule: RequestRule = {
    via: "iso",
    name: "all",
    match: {},
    to: "device",
    want: [126998],
    minIntervalMs: 600_000,
    maxAgeMs: undefined,
    onOnline: true,
    invalidateOn: [],
  };
  const engine = new RequestEngine({ rules: [rule], buses: BUSES, globalMinIntervalMs: 100 });
  for (let src = 0; src < 250; src++) {
    engine.known({ bus: 0, src, name: undefined, fields: undefined, product: undefined }, -1000);
  }
  const asked: number[] = [];
  for (let nowMs = 0; nowMs < 25_000; nowMs += 100) {
    for (const request of engine.due(nowMs, () => OWN)) {
      asked.push(request.dst);
      engine.sent(request, nowMs);
    }
  }
  assert.deepEqual(asked, Array.from({ length: 250 }, (_, src) => src));
});
