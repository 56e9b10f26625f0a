import assert from "node:assert/strict";
import { LoopbackBus } from "../../src/can/mod.ts";
import { formatHex, parseCanId } from "../../src/frame/mod.ts";
import { isFastPacket } from "../../src/pgn/mod.ts";
import { standardBoat } from "../../src/simulator/devices/devices.ts";
import { attachSimulatedBoat } from "../../src/simulator/mod.ts";
import { rounds } from "../support/needs.ts";
import { canFrame, messages, nameBytes, record, type Sent, signed, STILL, type Told, unsigned } from "./recording.ts";

const MINUTE_MS = 60_000;
/** An hour at sea; every day a part of one. */
const HOUR_MS = rounds(60, 10) * MINUTE_MS;
const CLAIM = 60928;
const NAK = 59392;

async function hashOf(sent: readonly Sent[]): Promise<string> {
  const text = sent.map(({ atMs, id, data }) => `${atMs} ${id} ${formatHex(data)}`).join("\n");
  return formatHex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

let atSea: Sent[] | undefined;

/** What the boat says in its first eleven minutes, told once for all tests. */
function elevenMinutes(): readonly Sent[] {
  if (atSea === undefined) {
    const { boat, sent } = record();
    boat.advance(11 * MINUTE_MS);
    atSea = sent;
  }
  return atSea;
}

/** Asks on the bus as address 100 would. */
function request(pgn: number, dst: number) {
  const id = 0x18ea0000 | (dst << 8) | 100;
  return canFrame(id, [pgn & 0xff, (pgn >> 8) & 0xff, pgn >> 16]);
}

Deno.test("simulated boat: a seed and a start give the same frames at the same times, byte for byte", async () => {
  const run = async (seed: number, stepMs: number) => {
    const { boat, sent } = record({ seed });
    for (let ms = stepMs; ms < MINUTE_MS + stepMs; ms += stepMs) boat.advance(Math.min(ms, MINUTE_MS));
    return await hashOf(sent);
  };
  const first = await run(1, MINUTE_MS);
  assert.equal(await run(1, MINUTE_MS), first);
  assert.equal(await run(1, 7), first, "the size of the steps must not matter");
  assert.notEqual(await run(2, MINUTE_MS), first);
});

Deno.test("simulated boat: all devices hold different addresses after the fights at start", () => {
  const { boat, sent } = record();
  boat.advance(3000);
  assert.ok(boat.devices.length >= 10);
  assert.ok(boat.devices.every(({ claim }) => claim.type === "claimed"));
  assert.equal(new Set(boat.devices.map(({ address }) => address)).size, boat.devices.length);
  assert.equal(new Set(boat.devices.map(({ name }) => name)).size, boat.devices.length);
  for (const contested of [16, 43]) {
    const rivals = boat.devices.filter(({ spec }) => spec.preferredAddress === contested);
    assert.equal(rivals.length, 2);
    const [low, high] = rivals.sort((a, b) => (a.name < b.name ? -1 : 1));
    assert.equal(low!.address, contested);
    assert.equal(high!.address, contested + 1);
    const claims = sent.filter(({ id }) => parseCanId(id).pgn === CLAIM && parseCanId(id).src === contested);
    assert.ok(claims.length >= 2, "both claimed the same address");
  }
});

Deno.test("simulated boat: nothing but claims leaves a node within 250 ms of taking an address", () => {
  const { boat, sent } = record();
  boat.advance(5000);
  const taken = new Map<number, { name: bigint; atMs: number }>();
  let checked = 0;
  for (const { atMs, id, data } of sent) {
    const { pgn, src } = parseCanId(id);
    const holder = taken.get(src);
    if (pgn === CLAIM) {
      const name = new DataView(data.buffer).getBigUint64(0, true);
      // A claim that the holder outbids, or repeats to defend itself, moves nobody.
      if (!holder || name < holder.name) taken.set(src, { name, atMs });
      continue;
    }
    checked++;
    assert.ok(holder, `${pgn} from ${src} before any claim`);
    assert.ok(atMs >= holder.atMs + 250, `${pgn} from ${src} only ${atMs - holder.atMs} ms after its claim`);
  }
  assert.ok(checked > 500);
});

Deno.test("simulated boat: a stranger with a lower NAME gets the address, one with a higher NAME does not", () => {
  const { boat, sent } = record();
  boat.advance(2000);
  const gps = boat.devices[0]!;
  sent.length = 0;
  boat.receive(canFrame(0x18eeff00 | gps.address!, nameBytes(gps.name + 1n)));
  assert.equal(gps.address, 2);
  assert.equal(sent.length, 1, "it claims again");
  boat.receive(canFrame(0x18eeff00 | 2, nameBytes(1n)));
  assert.equal(gps.address, 3);
  assert.equal(gps.claim.type, "claiming");
  boat.advance(2249);
  assert.ok(sent.every(({ id }) => parseCanId(id).pgn === CLAIM || ![2, 3].includes(parseCanId(id).src)));
  boat.advance(4000);
  assert.equal(gps.claim.type, "claimed");
  assert.ok(sent.some(({ id }) => parseCanId(id).pgn === 129025 && parseCanId(id).src === 3));
});

Deno.test("simulated boat: a device that finds no address says so and is silent", () => {
  const { boat, sent } = record();
  boat.advance(2000);
  for (let address = 0; address <= 253; address++) {
    boat.receive(canFrame(0x18eeff00 | address, nameBytes(BigInt(address + 1))));
  }
  sent.length = 0;
  boat.advance(4000);
  assert.ok(boat.devices.every(({ claim }) => claim.type === "without-address"));
  assert.deepEqual(sent, []);
  boat.receive(request(CLAIM, 255));
  assert.equal(sent.length, boat.devices.length);
  assert.ok(sent.every(({ id }) => parseCanId(id).src === 254));
});

Deno.test("simulated boat: requests for the network messages are answered", () => {
  const { boat, sent } = record();
  boat.advance(2000);
  const ask = (pgn: number, dst: number, waitMs = 100): Told[] => {
    sent.length = 0;
    const from = boat.nowMs;
    boat.receive(request(pgn, dst));
    boat.advance(from + waitMs);
    return messages(sent.filter(({ id }) => parseCanId(id).pgn === pgn));
  };
  const [claim] = ask(CLAIM, 2);
  assert.deepEqual([...claim!.payload], nameBytes(boat.devices[0]!.name));
  assert.equal(ask(CLAIM, 255).length, boat.devices.length);

  const [product] = ask(126996, 2);
  assert.equal(product!.payload.length, 134);
  assert.equal(unsigned(product!.payload, [0, 2]), 2100);
  assert.equal(new TextDecoder().decode(product!.payload.slice(4, 12)), "GPS 24xd");
  assert.equal(ask(126996, 255, 3000).length, boat.devices.length);

  const [configuration] = ask(126998, 2);
  assert.equal(configuration!.payload[0], "GPS on the cabin roof".length + 2);

  const lists = ask(126464, 2);
  assert.deepEqual(lists.map(({ payload, dst }) => [payload[0], dst]), [[0, 100], [1, 100]]);
  const transmits = Array.from(
    { length: (lists[0]!.payload.length - 1) / 3 },
    (_, i) => unsigned(lists[0]!.payload, [1 + 3 * i, 3]),
  );
  for (const pgn of [60928, 126996, 129025, 129029]) assert.ok(transmits.includes(pgn));
});

Deno.test("simulated boat: what a device cannot answer is refused when it was asked, and passed over when all were", () => {
  const { boat, sent } = record();
  boat.advance(2000);
  boat.receive(request(127505, 2));
  boat.receive(request(65001, 255));
  boat.receive(request(127505, 99));
  boat.advance(6000);
  const refusals = messages(sent).filter(({ pgn }) => pgn === NAK);
  assert.equal(refusals.length, 1);
  assert.deepEqual([refusals[0]!.src, refusals[0]!.dst], [2, 100]);
  assert.equal(formatHex(refusals[0]!.payload), "01ffffffff11f201");
});

Deno.test("simulated boat: 150 to 250 frames a second, without bursts", () => {
  const sent = elevenMinutes();
  for (let minute = 0; minute < 10; minute++) {
    const count = sent.filter(({ atMs }) => Math.floor(atMs / MINUTE_MS) === minute).length;
    assert.ok(count / 60 >= 150 && count / 60 <= 250, `${count / 60} frames/s in minute ${minute}`);
  }
  let most = 0;
  for (let first = 0, last = 0; last < sent.length; last++) {
    while (sent[last]!.atMs - sent[first]!.atMs >= 100) first++;
    most = Math.max(most, last - first + 1);
  }
  assert.ok(most <= 60, `${most} frames in 100 ms`);
});

Deno.test("simulated boat: every device sends a heartbeat a minute", () => {
  const { boat, sent } = record();
  boat.advance(3 * MINUTE_MS);
  const heartbeats = messages(sent).filter(({ pgn }) => pgn === 126993);
  for (const { address } of boat.devices) {
    const own = heartbeats.filter(({ src }) => src === address);
    assert.deepEqual(own.map(({ payload }) => payload[2]), [0, 1, 2]);
  }
});

/** Payload lengths of the definitions; AIS with the sequence id, which some transponders leave out. */
const LENGTHS: Record<number, number> = {
  126996: 134,
  127237: 21,
  127489: 26,
  127497: 9,
  127506: 11,
  127507: 6,
  128275: 14,
  129029: 43,
  129038: 28,
  129039: 27,
  129284: 34,
  129540: 135,
  129794: 75,
  129809: 27,
  129810: 35,
  130823: 9,
  130824: 22,
};

Deno.test("simulated boat: every message has the length of its PGN", () => {
  const { boat, sent } = record();
  boat.advance(2 * MINUTE_MS);
  const told = messages(sent);
  const seen = new Set(told.map(({ pgn }) => pgn));
  assert.ok(seen.size >= 45, `${seen.size} PGNs`);
  for (const pgn of Object.keys(LENGTHS).map(Number)) assert.ok(pgn === 126996 || seen.has(pgn), `${pgn} was sent`);
  for (const { pgn, payload } of told) {
    const variable = pgn === 129285;
    if (variable) assert.ok(payload.length > 20);
    else assert.equal(payload.length, isFastPacket(pgn) ? LENGTHS[pgn] : 8, `${pgn}`);
  }
});

/** Last message of a PGN for which `is` holds. */
function last(told: readonly Told[], pgn: number, is: (payload: Uint8Array) => boolean = () => true): Uint8Array {
  return told.findLast((message) => message.pgn === pgn && is(message.payload))!.payload;
}

Deno.test("simulated boat: on the bus, apparent wind is true wind and the boat's motion", () => {
  const { boat, sent } = record({ seed: 9 });
  for (const seconds of [10, 40, 95, 300]) {
    boat.advance(seconds * 1000);
    const told = messages(sent);
    const vector = (payload: Uint8Array, at: readonly [number, number], turn = 0) => {
      const speed = unsigned(payload, [at[0], 2]) / 100;
      const angle = unsigned(payload, [at[1], 2]) / 1e4 + turn;
      return [speed * Math.cos(angle), speed * Math.sin(angle)] as const;
    };
    const heading = unsigned(last(told, 127250), [1, 2]) / 1e4 + signed(last(told, 127250), [5, 2]) / 1e4;
    const felt = vector(last(told, 130306, (payload) => (payload[5]! & 7) === 2), [1, 3], heading);
    const blows = vector(last(told, 130306, (payload) => (payload[5]! & 7) === 3), [1, 3], heading);
    const moves = vector(last(told, 129026), [4, 2]);
    // Wind is named by where it comes from, so the head wind of the boat's motion adds to it. Messages are up to
    // 125 ms apart, in which the wind changes a little.
    assert.ok(Math.abs(felt[0] - blows[0] - moves[0]) < 0.25, `north ${felt[0]} ${blows[0]} ${moves[0]}`);
    assert.ok(Math.abs(felt[1] - blows[1] - moves[1]) < 0.25, `east ${felt[1]} ${blows[1]} ${moves[1]}`);
  }
});

Deno.test("simulated boat: on the bus, positions move as course and speed say, and fuel falls", () => {
  const sent = elevenMinutes();
  const told = messages(sent);
  const positions = told.filter(({ pgn }) => pgn === 129025);
  const speeds = told.filter(({ pgn, atMs }) => pgn === 129026 && atMs >= MINUTE_MS && atMs < 2 * MINUTE_MS);
  const at = (ms: number) => positions.find(({ atMs }) => atMs >= ms)!.payload;
  const latitude = (payload: Uint8Array) => signed(payload, [0, 4]) * 1e-7;
  const northM = speeds.reduce(
    (sum, { payload }) => sum + unsigned(payload, [4, 2]) / 100 * Math.cos(unsigned(payload, [2, 2]) / 1e4),
    0,
  ) * 60 / speeds.length;
  const movedM = (latitude(at(2 * MINUTE_MS)) - latitude(at(MINUTE_MS))) * 111_195;
  assert.ok(Math.abs(northM - movedM) < 1, `${northM} m by course and speed, ${movedM} m by position`);

  const port = told.filter(({ pgn, payload }) => pgn === 127505 && payload[0] === 0);
  assert.ok(signed(port.at(-1)!.payload, [1, 2]) < signed(port[0]!.payload, [1, 2]));
  assert.ok(
    told.filter(({ pgn }) => pgn === 129283).every(({ payload }) => Math.abs(signed(payload, [2, 4])) < 12_000),
  );
});

Deno.test("simulated boat: the clock on the bus is the start plus the simulated time", () => {
  const { boat, sent } = record();
  boat.advance(30_000);
  const message = messages(sent).findLast(({ pgn }) => pgn === 126992)!;
  assert.equal(unsigned(message.payload, [2, 2]), Date.UTC(2025, 5, 15) / 86_400_000);
  assert.equal(unsigned(message.payload, [4, 4]), (12 * 3600 + message.atMs / 1000) * 1e4);
});

Deno.test("simulated boat: a long time at sea makes no number that is none, and none that its field cannot carry", () => {
  // What a field cannot carry is refused when the message is made.
  const { boat } = record({ send: () => {} });
  for (let hour = 1; hour <= 2; hour++) {
    boat.advance(hour * HOUR_MS);
    assert.ok(!JSON.stringify(boat.passage).includes("null"), "NaN and Infinity become null");
  }
});

Deno.test("simulated boat: joins a loopback bus in real time and hears requests there", async () => {
  let nowMs = 0;
  const clock = { wallUs: STILL.wallUs, monoMs: () => nowMs };
  const bus = new LoopbackBus("can0", { clock });
  const heard: number[] = [];
  bus.attach(({ id }) => heard.push(id));
  const boat = attachSimulatedBoat(bus, { clock, startUs: STILL.wallUs() });
  const wait = () => new Promise((resolve) => setTimeout(resolve, 15));
  boat.start();
  try {
    for (let i = 0; i < 12; i++) {
      nowMs += 90;
      await wait();
    }
    assert.ok(boat.devices.every(({ claim }) => claim.type === "claimed"));
    const claims = heard.filter((id) => parseCanId(id).pgn === CLAIM).length;
    const alone = record();
    alone.boat.advance(boat.nowMs);
    assert.equal(claims, alone.sent.filter(({ id }) => parseCanId(id).pgn === CLAIM).length, "echoes start no fight");

    heard.length = 0;
    nowMs += 3_600_000;
    await wait();
    assert.ok(heard.length < 60, `${heard.length} frames after a stall of an hour`);
    assert.ok(Math.abs(boat.wallUs - STILL.wallUs() - nowMs * 1000) < 1000, "but the clock is right again");

    heard.length = 0;
    bus.inject(0x18ea0264, Uint8Array.of(0x14, 0xf0, 0x01));
    nowMs += 20;
    await wait();
    assert.equal(heard.filter((id) => parseCanId(id).pgn === 126996).length, 20);
  } finally {
    boat.stop();
  }
});

Deno.test("simulated boat: the standard boat is made of known makers and sane intervals", () => {
  for (const spec of standardBoat()) {
    assert.ok(`${spec.product.model_id}`.length <= 32 && `${spec.product.model_serial}`.length <= 32);
    assert.ok(spec.preferredAddress <= 251);
    for (const { intervalMs, prio } of spec.broadcasts) assert.ok(intervalMs >= 100 && prio <= 7);
  }
});
