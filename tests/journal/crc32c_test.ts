import assert from "node:assert/strict";
import { crc32c } from "../../src/journal/mod.ts";
import { Random } from "../support/random.ts";

/** Bit by bit, as the polynomial says it. */
function slowCrc32c(data: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  }
  return ~crc >>> 0;
}

Deno.test("crc32c: the check value of the polynomial, and of nothing", () => {
  assert.equal(crc32c(new TextEncoder().encode("123456789")), 0xe3069283);
  assert.equal(crc32c(new Uint8Array(0)), 0);
});

Deno.test("crc32c: the test patterns of RFC 3720 appendix B.4", () => {
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa);
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => i)), 0x46dd794e);
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, i) => 31 - i)), 0x113fdb5c);
});

Deno.test("crc32c: any length at any place is as bit by bit, in one piece or two", () => {
  const random = new Random(1);
  for (let round = 0; round < 500; round++) {
    const data = random.bytes(random.int(100)).subarray(random.int(9));
    const cut = random.int(data.length + 1);
    assert.equal(crc32c(data), slowCrc32c(data));
    assert.equal(crc32c(data.subarray(cut), crc32c(data.subarray(0, cut))), crc32c(data));
  }
});
