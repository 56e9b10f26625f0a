import assert from "node:assert/strict";
import { Ring, RingPool } from "../../src/broker/mod.ts";
import { formatHex, type Message, newStoredFrame } from "../../src/frame/mod.ts";
import { message } from "../support/messages.ts";
import { Random } from "../support/random.ts";

/** Most payload bytes a ring keeps for each of its frames, and the least it has. */
const BYTES_PER_FRAME = 256;
const LEAST_BYTES = 16_384;

/** A frame of the ring as one text; undefined when it is not there. */
function readText(ring: Ring, seq: number): string | undefined {
  const into = newStoredFrame();
  if (!ring.read(seq, into)) return undefined;
  const { timeUs, id, pgn, bus, data, offset: start, length } = into;
  return [into.seq, timeUs, id, pgn, bus, formatHex(data, { start, length })].join(" ");
}

function textOf(seq: number, { timeUs, id, pgn, bus, data, offset: start, length }: Message): string {
  return [seq, timeUs, id, pgn, bus, formatHex(data, { start, length })].join(" ");
}

/** A message with fields that are unlike those of its neighbours. */
function randomMessage(random: Random, length: number): Message {
  const pgn = random.pick([127250, 129029, 126720, 59904, 60928]);
  return message({ pgn, src: random.int(256), dst: random.int(256), bus: random.int(4), data: random.bytes(length) });
}

/** Every frame ever pushed, in the plainest way. */
class Model {
  readonly ring: Ring;
  readonly #all = new Map<number, string>();
  #bytes = new Map<number, number>();

  constructor(capacity: number) {
    this.ring = new Ring(capacity);
  }

  push(seq: number, pushed: Message): void {
    this.ring.push(seq, pushed);
    this.#all.set(seq, textOf(seq, pushed));
    this.#bytes.set(seq, pushed.length);
    const { oldest } = this.ring;
    assert.equal(readText(this.ring, oldest), this.#all.get(oldest), `oldest ${oldest} after frame ${seq}`);
  }

  /** From `oldest` to `head` everything that was pushed is there, byte for byte, and nothing else anywhere. */
  check(): void {
    const { ring } = this;
    for (const [seq, text] of this.#all) {
      const expected = seq >= ring.oldest ? text : undefined;
      if (readText(ring, seq) !== expected) assert.equal(readText(ring, seq), expected, `frame ${seq}`);
    }
    for (let seq = ring.oldest; seq < ring.head; seq++) {
      if (!this.#all.has(seq) && readText(ring, seq) !== undefined) assert.fail(`frame ${seq} was never pushed`);
    }
    assert.equal(ring.size, ring.head - ring.oldest + 1);
    assert.ok(this.#all.has(ring.oldest), `oldest ${ring.oldest} was never pushed`);
    assert.ok(ring.size <= ring.capacity);
    assert.equal(readText(ring, ring.oldest - 1), undefined);
    assert.equal(readText(ring, ring.head + 1), undefined);
    assert.equal(
      ring.evictedThrough,
      Math.max(0, ...[...this.#all.keys()].filter((seq) => seq < ring.oldest).slice(-1)),
    );
    this.#checkNoneLetGoEarly();
  }

  /** What fits by number and by bytes is not let go; half of the bytes may be lost to doubling and to wrapping. */
  #checkNoneLetGoEarly(): void {
    const { ring } = this;
    const room = Math.max(LEAST_BYTES, ring.capacity * BYTES_PER_FRAME) - 2 * 1785;
    let bytes = 0;
    for (let seq = ring.head; seq > ring.head - ring.capacity && seq > 0; seq--) {
      bytes += this.#bytes.get(seq) ?? 0;
      if (bytes > room) return;
      if (this.#all.has(seq)) assert.ok(seq >= ring.oldest, `frame ${seq} went before its time, oldest ${ring.oldest}`);
    }
  }
}

Deno.test("a ring's size must be a power of two", () => {
  for (const capacity of [0, -1, -2, 3, 1000, 0.5, 1.5, NaN, Infinity, 65_535]) {
    assert.throws(() => new Ring(capacity), RangeError, String(capacity));
  }
  for (const capacity of [1, 2, 1024, 65_536]) assert.equal(new Ring(capacity).capacity, capacity);
  assert.equal(new Ring().capacity, 65_536);
});

Deno.test("an empty ring has nothing and says so", () => {
  const ring = new Ring(8);
  assert.deepEqual([ring.head, ring.oldest, ring.size], [0, 1, 0]);
  for (const seq of [0, 1, -1]) assert.equal(readText(ring, seq), undefined);
});

Deno.test("a full ring lets its oldest frame go for each new one", () => {
  const ring = new Ring(4);
  for (let seq = 1; seq <= 10; seq++) {
    ring.push(seq, message({ data: [seq] }));
    assert.deepEqual([ring.head, ring.oldest, ring.size], [seq, Math.max(1, seq - 3), Math.min(4, seq)]);
  }
  assert.deepEqual([6, 7, 8, 9, 10, 11].map((seq) => readText(ring, seq)?.split(" ").at(-1)), [
    undefined,
    "07",
    "08",
    "09",
    "0a",
    undefined,
  ]);
});

Deno.test("a ring of one frame holds the newest", () => {
  const ring = new Ring(1);
  for (let seq = 1; seq <= 3; seq++) ring.push(seq, message({ data: [seq] }));
  assert.deepEqual([ring.oldest, ring.head], [3, 3]);
  assert.ok(readText(ring, 3)?.endsWith("03"));
});

Deno.test("a ring grows from its first slots to its capacity without losing or changing a frame", () => {
  const random = new Random(21);
  const model = new Model(8192);
  for (let seq = 1; seq <= 20_000; seq++) {
    model.push(seq, randomMessage(random, random.int(9)));
    if ([1, 1023, 1024, 1025, 2048, 2049, 4097, 8192, 8193, 20_000].includes(seq)) model.check();
  }
  assert.equal(model.ring.oldest, 20_000 - 8192 + 1);
});

Deno.test("a ring is honest under payloads of 0 to 1785 bytes", () => {
  for (const capacity of [1, 2, 16, 64, 256, 2048]) {
    const random = new Random(capacity);
    const model = new Model(capacity);
    const lengths = [() => random.int(9), () => random.int(224), () => random.int(1786), () => 1785, () => 0];
    for (let seq = 1; seq <= 3000; seq++) {
      const length = lengths[Math.floor(seq / 300) % lengths.length]!;
      model.push(seq, randomMessage(random, random.chance(0.05) ? random.int(1786) : length()));
      if (seq % 97 === 0 || seq < 40) model.check();
    }
  }
});

Deno.test("frames of 8 bytes are never let go early because of longer ones between them", () => {
  const random = new Random(22);
  const model = new Model(1024);
  for (let seq = 1; seq <= 5000; seq++) {
    model.push(seq, randomMessage(random, seq % 50 === 0 ? 1785 : 8));
    if (seq % 250 === 0) {
      model.check();
      assert.equal(model.ring.oldest, Math.max(1, seq - 1023));
    }
  }
});

Deno.test("a ring is honest when numbers are missing, as a replica's are", () => {
  for (let seed = 0; seed < 12; seed++) {
    const random = new Random(seed);
    const model = new Model(random.pick([16, 256, 2048]));
    let seq = random.between(1, 5000);
    for (let i = 0; i < 1500; i++) {
      model.push(seq, randomMessage(random, random.pick([8, 8, 8, 223, random.int(1786)])));
      seq += random.chance(0.8) ? 1 : random.chance(0.9) ? random.between(2, 40) : random.between(2, 5000);
      if (i % 50 === 0) model.check();
    }
    model.check();
  }
});

Deno.test("gaps at the old end do not make a ring let frames go early", () => {
  const model = new Model(256);
  for (let seq = 2; seq <= 600; seq += 2) model.push(seq, message({ data: new Uint8Array(8) }));
  for (let seq = 602; seq <= 1600; seq += 2) {
    model.push(seq, message({ data: new Uint8Array(223).fill(seq) }));
    if (seq % 10 === 0) model.check();
  }
});

Deno.test("a jump of the numbers far beyond the capacity leaves only what came after it", () => {
  const ring = new Ring(16);
  for (let seq = 1; seq <= 5; seq++) ring.push(seq, message({ data: [seq] }));
  ring.push(2 ** 40, message({ data: [0xaa] }));
  assert.deepEqual([ring.oldest, ring.head, ring.size], [2 ** 40, 2 ** 40, 1]);
  assert.equal(readText(ring, 5), undefined);
  assert.ok(readText(ring, 2 ** 40)?.endsWith("aa"));
});

Deno.test("a ring may begin at any number", () => {
  const ring = new Ring(16);
  ring.push(1_000_000, message({ data: [1] }));
  assert.deepEqual([ring.oldest, ring.head, ring.size], [1_000_000, 1_000_000, 1]);
});

Deno.test("numbers beyond 32 bits are kept whole and never confused with smaller ones", () => {
  for (const base of [2 ** 31, 2 ** 32, 2 ** 33, 2 ** 52]) {
    const random = new Random(33);
    const model = new Model(64);
    for (let seq = base - 100; seq <= base + 100; seq++) {
      model.push(seq, randomMessage(random, 8));
      model.check();
    }
    assert.equal(model.ring.oldest, base + 100 - 63);
    assert.equal(readText(model.ring, 100), undefined);
    assert.equal(readText(model.ring, base + 100 - 2 ** 32), undefined);
  }
});

Deno.test("the message stays the caller's: changing it later changes nothing in the ring", () => {
  const ring = new Ring(8);
  const data = Uint8Array.of(1, 2, 3);
  ring.push(1, { ...message(), data, offset: 0, length: 3 });
  data.fill(9);
  assert.ok(readText(ring, 1)?.endsWith("010203"));
});

Deno.test("a ring may begin at any number, and is empty until the first frame comes", () => {
  const first = 2 ** 33 + 5;
  const ring = new Ring(1024, { firstSeq: first });
  assert.deepEqual([ring.head, ring.oldest, ring.size], [first - 1, first, 0]);
  const into = newStoredFrame();
  assert.equal(ring.read(first, into), false);
  ring.push(first, message());
  assert.deepEqual([ring.head, ring.oldest, ring.size], [first, first, 1]);
  assert.equal(ring.read(first, into), true);
});

Deno.test("a ring that is cleared begins at 1 again and shows nothing of before", () => {
  const random = new Random(34);
  const ring = new Ring(16, { firstSeq: 100 });
  assert.deepEqual([ring.base, ring.evictedThrough], [99, 99]);
  for (let seq = 100; seq < 150; seq++) ring.push(seq, randomMessage(random, 200));
  assert.deepEqual([ring.base, ring.evictedThrough], [99, 133]);
  ring.clear();
  assert.deepEqual([ring.head, ring.oldest, ring.size, ring.base, ring.evictedThrough], [0, 1, 0, 0, 0]);
  for (let seq = 0; seq < 150; seq++) assert.equal(readText(ring, seq), undefined);
  ring.push(1, message());
  assert.deepEqual([ring.head, ring.oldest, ring.size], [1, 1, 1]);
});

Deno.test("a limited ring keeps that many of the newest frames, and a lower limit gives the memory back", () => {
  const pool = new RingPool();
  const ring = new Ring(65_536, { pool });
  const push = (from: number, to: number) => {
    for (let seq = from; seq <= to; seq++) ring.push(seq, message({ data: [seq & 0xff, seq >> 8] }));
  };
  ring.limit(1024);
  push(1, 5000);
  assert.deepEqual([ring.oldest, ring.size, ring.evictedThrough], [3977, 1024, 3976]);
  ring.limit(65_536);
  push(5001, 50_000);
  assert.equal(ring.oldest, 3977, "a higher limit evicts nothing");
  ring.limit(1024);
  assert.deepEqual([ring.oldest, ring.head, ring.size, ring.evictedThrough], [50_001, 50_000, 0, 50_000]);
  assert.ok(pool.bytes > 2_000_000, "what it had is free");
  push(50_001, 60_000);
  assert.deepEqual([ring.oldest, ring.size], [58_977, 1024]);
  for (let seq = ring.oldest; seq <= ring.head; seq++) {
    assert.ok(readText(ring, seq)?.endsWith(formatHex(Uint8Array.of(seq & 0xff, seq >> 8), { start: 0, length: 2 })));
  }
});
