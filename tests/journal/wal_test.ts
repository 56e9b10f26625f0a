import assert from "node:assert/strict";
import { readWal, WAL_HEADER_BYTES, WalBuffer } from "../../src/journal/wal/wal.ts";
import type { Message } from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";

const HEADER = { blockBytes: 4096, epoch: new Uint8Array(16).fill(7), firstSeq: 2 ** 40 + 5 };

function randomMessage(random: Random): Message {
  const length = random.chance(0.8) ? 8 : random.int(1786);
  const offset = random.int(4);
  return {
    bus: random.int(4),
    pgn: 129025,
    id: 0x09f80100 + random.int(200),
    timeUs: 1.7e15 + random.int(1e9),
    monoMs: 5,
    data: random.bytes(offset + length + random.int(3)),
    offset,
    length,
  };
}

function plain({ bus, id, timeUs, data, offset, length }: Message): unknown {
  return { bus, id, timeUs, hex: data.slice(offset, offset + length).toHex() };
}

function filled(random: Random, count: number): { bytes: Uint8Array; messages: unknown[] } {
  const buffer = new WalBuffer();
  buffer.begin(HEADER);
  buffer.addOpening({ devices: [1, "two"] });
  const messages: unknown[] = [];
  for (let index = 0; index < count; index++) {
    const message = randomMessage(random);
    buffer.addFrame(message);
    messages.push(plain(message));
  }
  return { bytes: buffer.from(0), messages };
}

Deno.test("a WAL gives back what was put into it", () => {
  const { bytes, messages } = filled(new Random(1), 300);
  const wal = readWal(bytes);
  assert.ok(wal);
  assert.deepEqual(wal.frames.map(plain), messages);
  assert.deepEqual({ ...wal, frames: 0 }, {
    ...HEADER,
    opening: { devices: [1, "two"] },
    frames: 0,
    torn: 0,
    counters: undefined,
  });
});

Deno.test("a WAL cut at any byte gives the frames that are whole, and says how many bytes are not", () => {
  const { bytes, messages } = filled(new Random(2), 20);
  for (let end = 0; end <= bytes.length; end++) {
    const wal = readWal(bytes.subarray(0, end));
    if (end < WAL_HEADER_BYTES) assert.equal(wal, undefined);
    else assert.deepEqual(wal?.frames.map(plain), messages.slice(0, wal?.frames.length));
  }
  assert.equal(readWal(bytes)?.frames.length, 20);
  assert.equal(readWal(bytes.subarray(0, bytes.length - 1))?.frames.length, 19);
});

Deno.test("records that an earlier WAL left behind are not taken for this one's", () => {
  const { bytes } = filled(new Random(3), 50);
  const buffer = new WalBuffer();
  buffer.begin({ ...HEADER, firstSeq: 9 });
  const fresh = buffer.from(0);
  const overwritten = bytes.slice();
  overwritten.set(fresh);
  assert.deepEqual(readWal(overwritten)?.frames, []);
  assert.equal(readWal(overwritten)?.firstSeq, 9);
});

Deno.test("zeros and flipped bits end a WAL where they stand", () => {
  const random = new Random(4);
  const { bytes, messages } = filled(random, 40);
  const extended = new Uint8Array(bytes.length + 4096);
  extended.set(bytes);
  assert.equal(readWal(extended)?.frames.length, 40);
  for (let round = 0; round < 2000; round++) {
    const flipped = bytes.slice();
    const at = random.int(bytes.length);
    flipped[at]! ^= 1 << random.int(8);
    const wal = readWal(flipped);
    if (at < WAL_HEADER_BYTES) assert.equal(wal, undefined);
    else assert.deepEqual(wal?.frames.map(plain), messages.slice(0, wal?.frames.length));
  }
});
