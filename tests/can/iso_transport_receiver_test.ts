import assert from "node:assert/strict";
import { TransportReceiver } from "../../src/can/mod.ts";
import { canFrame } from "../support/messages.ts";
import { Random } from "../support/random.ts";

const PGN_BYTES = [0x00, 0xef, 0x01];
const OWN = 252;

/** A receiver, and what it has answered since the last look as `[dst, bytes]`. */
class Bench {
  readonly receiver: TransportReceiver;
  #answers: [number, string][] = [];

  constructor(maxSessions = 2) {
    this.receiver = new TransportReceiver((dst, data) => this.#answers.push([dst, data.toHex()]), { maxSessions });
  }

  take(): [number, string][] {
    return this.#answers.splice(0);
  }

  control(data: number[], { src = 10, monoMs = 0 } = {}): [number, string][] {
    this.receiver.control(canFrame({ pgn: 60416, src, dst: OWN, data, monoMs }));
    return this.take();
  }

  announce(length: number, { packets = Math.ceil(length / 7), atATime = 255, src = 10, monoMs = 0 } = {}) {
    return this.control([16, length & 255, length >> 8, packets, atATime, ...PGN_BYTES], { src, monoMs });
  }

  packet(number: number, { src = 10, monoMs = 0 } = {}): [number, string][] {
    this.receiver.data(canFrame({ pgn: 60160, src, dst: OWN, data: [number, 1, 2, 3, 4, 5, 6, 7], monoMs }));
    return this.take();
  }

  expire(nowMs: number): [number, string][] {
    this.receiver.expire(nowMs);
    return this.take();
  }
}

Deno.test("transport receiver: asks for as many packets as the sender wants, and confirms the whole", () => {
  const bench = new Bench();
  assert.deepEqual(bench.announce(20, { atATime: 2 }), [[10, "110201ffff00ef01"]]);
  assert.deepEqual(bench.packet(1), []);
  assert.deepEqual(bench.packet(2), [[10, "110103ffff00ef01"]]);
  assert.deepEqual(bench.packet(3), [[10, "13140003ff00ef01"]]);
  assert.equal(bench.receiver.pending, 0);
});

Deno.test("transport receiver: asks again for a lost packet, twice, and then gives up", () => {
  const bench = new Bench();
  bench.announce(21);
  bench.packet(1);
  assert.deepEqual(bench.packet(3), [[10, "110202ffff00ef01"]], "2 is missing");
  assert.deepEqual(bench.packet(3), [[10, "110202ffff00ef01"]]);
  assert.deepEqual(bench.packet(3), [[10, "ff05ffffff00ef01"]]);
  assert.equal(bench.receiver.pending, 0);
});

Deno.test("transport receiver: a lost packet that comes makes the message whole, and a repeated one does no harm", () => {
  const bench = new Bench();
  bench.announce(21);
  bench.packet(1);
  bench.packet(3);
  bench.packet(1);
  assert.deepEqual(bench.packet(2), []);
  assert.deepEqual(bench.packet(3), [[10, "13150003ff00ef01"]]);
});

Deno.test("transport receiver: asks again in silence, and tells the sender when it gives up", () => {
  const bench = new Bench();
  bench.announce(21);
  assert.deepEqual(bench.expire(1250), []);
  assert.deepEqual(bench.expire(1251), [[10, "110301ffff00ef01"]]);
  bench.packet(1, { monoMs: 1300 });
  assert.deepEqual(bench.expire(2050), []);
  assert.deepEqual(bench.expire(2051), [[10, "110202ffff00ef01"]]);
  assert.deepEqual(bench.expire(3302), [[10, "ff03ffffff00ef01"]]);
  assert.deepEqual(bench.expire(9000), []);
});

Deno.test("transport receiver: refuses what is too long, contradicts itself, or is one too many", () => {
  const bench = new Bench(2);
  assert.deepEqual(bench.announce(1786, { packets: 255 }), [[10, "ff09ffffff00ef01"]]);
  assert.deepEqual(bench.announce(20, { packets: 4 }), [[10, "fffaffffff00ef01"]]);
  assert.deepEqual(bench.announce(0, { packets: 0 }), [[10, "fffaffffff00ef01"]]);
  bench.announce(20, { src: 1 });
  bench.announce(20, { src: 2 });
  assert.deepEqual(bench.announce(20, { src: 3 }), [[3, "ff01ffffff00ef01"]]);
  assert.deepEqual(bench.announce(20, { src: 2 }), [[2, "110301ffff00ef01"]], "a sender may begin again");
});

Deno.test("transport receiver: a session that its sender gives up is forgotten", () => {
  const bench = new Bench();
  bench.announce(20);
  bench.control([255, 3, 255, 255, 255, 0x00, 0xee, 0x01]);
  assert.equal(bench.receiver.pending, 1, "that was another PGN");
  assert.deepEqual(bench.control([255, 3, 255, 255, 255, ...PGN_BYTES]), []);
  assert.equal(bench.receiver.pending, 0);
  assert.deepEqual(bench.packet(1), []);
});

Deno.test("transport receiver: whatever comes, it keeps few sessions and ends them all", () => {
  for (let seed = 1; seed <= 50; seed++) {
    const random = new Random(seed);
    const bench = new Bench(4);
    let nowMs = 0;
    let answers = 0;
    for (let i = 0; i < 2000; i++) {
      nowMs += random.int(100);
      const src = random.int(8);
      const kind = random.pick([16, 16, 17, 19, 32, 255, random.int(256)]);
      if (random.chance(0.2)) {
        answers += bench.announce(random.int(1900), { src, monoMs: nowMs, atATime: random.int(256) }).length;
      } else if (random.chance(0.3)) {
        const data = [kind, ...random.bytes(random.int(8))];
        answers += bench.control(data, { src, monoMs: nowMs }).length;
      } else answers += bench.packet(random.int(8), { src, monoMs: nowMs }).length;
      answers += bench.expire(nowMs).length;
      assert.ok(bench.receiver.pending <= 4);
    }
    assert.ok(answers > 0);
    for (let i = 0; i < 4; i++) bench.expire(nowMs += 2000);
    assert.equal(bench.receiver.pending, 0);
  }
});
