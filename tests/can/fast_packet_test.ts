import assert from "node:assert/strict";
import { fastPacketFrames, splitFastPacket } from "../../src/can/mod.ts";
import { collector, fast, pushAll } from "../support/fragments.ts";
import { formatHex } from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";

Deno.test("a fast packet takes one frame up to 6 bytes and one more for each 7", () => {
  assert.deepEqual([1, 6, 7, 13, 14, 20, 21, 216, 217, 223].map(fastPacketFrames), [1, 1, 2, 2, 3, 3, 4, 31, 32, 32]);
});

Deno.test("a split fast packet is what a device sends: counter, length, payload, padding", () => {
  const payload = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
  assert.deepEqual(splitFastPacket(payload, 5).map((frame) => formatHex(frame)), [
    "a010010203040506",
    "a10708090a0b0c0d",
    "a20e0f10ffffffff",
  ]);
  assert.deepEqual(splitFastPacket(Uint8Array.of(9), 0).map((frame) => formatHex(frame)), ["000109ffffffffff"]);
});

Deno.test("the sequence counter is cut to its three bits", () => {
  assert.equal(splitFastPacket(Uint8Array.of(1), 8)[0]![0], 0);
  assert.equal(splitFastPacket(Uint8Array.of(1), 15)[0]![0], 0xe0);
});

Deno.test("a payload that no fast packet can carry is refused", () => {
  for (const length of [0, 224, 1785]) {
    assert.throws(() => splitFastPacket(new Uint8Array(length), 0), (error: unknown) => {
      return error instanceof RangeError && error.message.includes(String(length));
    });
  }
});

Deno.test("splitting and assembling gives back every length with every sequence counter", () => {
  const random = new Random(223);
  const { assembler, out } = collector();
  for (let length = 1; length <= 223; length++) {
    for (let sequence = 0; sequence < 8; sequence++) {
      const payload = random.bytes(length);
      const frames = fast(payload, {
        sequence,
        src: random.int(254),
        pgn: random.pick([126720, 126996, 129029, 130820]),
      });
      assert.equal(frames.length, fastPacketFrames(length));
      pushAll(assembler, frames);
      assert.equal(out.pop()?.data, formatHex(payload));
      assert.equal(out.length, 0);
    }
  }
  assert.equal(assembler.pending, 0);
  assert.ok(Object.values(assembler.drops).every((count) => count === 0));
});
