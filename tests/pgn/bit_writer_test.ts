import assert from "node:assert/strict";
import { readRaw } from "../../src/pgn/field.ts";
import { BitWriter } from "../../src/pgn/bit_writer.ts";
import { Random } from "../support/random.ts";

Deno.test("bits are written lowest first, a byte that was begun ends with ones", () => {
  const writer = new BitWriter();
  writer.raw(5, 3);
  assert.equal(writer.take().toHex(), "fd");
  writer.raw(-2, 8);
  assert.equal(writer.take().toHex(), "f5ff");
  assert.equal(writer.bit, 11);
  writer.align(0);
  writer.raw(0x0123_4567_89ab_cdefn, 64);
  assert.equal(writer.take().toHex(), "f507efcdab8967452301");
  assert.equal(new BitWriter().take().length, 0);
});

Deno.test("what is written at any width and place is read back", () => {
  const random = new Random(5);
  for (let round = 0; round < 300; round++) {
    const writer = new BitWriter();
    const written = Array.from({ length: random.int(60) }, () => {
      const bits = random.between(1, 64);
      const signed = random.chance(0.5);
      const raw = signed ? BigInt.asIntN(bits, random.bits64()) : BigInt.asUintN(bits, random.bits64());
      const bit = writer.bit;
      writer.raw(bits > 48 ? raw : Number(raw), bits);
      return { bit, bits, signed, raw };
    });
    const payload = writer.take();
    for (const { bit, bits, signed, raw } of written) {
      assert.equal(BigInt(readRaw({ payload, bit }, { bits, signed })), raw, `${bits} bits at ${bit}`);
    }
  }
});
