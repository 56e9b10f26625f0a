import assert from "node:assert/strict";
import { buildName, formatName, parseName, readName } from "../../src/frame/mod.ts";
import { nameFields } from "../support/messages.ts";
import { Random } from "../support/random.ts";

/** Bit 48 of a NAME is reserved and no field. */
const RESERVED_BIT = 1n << 48n;

Deno.test("a NAME of a real device is read as its fields", () => {
  assert.deepEqual(parseName(0xc0788200_10e3b99fn), {
    uniqueNumber: 0x3b99f,
    manufacturerCode: 135,
    deviceInstance: 0,
    deviceFunction: 130,
    deviceClass: 60,
    systemInstance: 0,
    industryGroup: 4,
    arbitraryAddressCapable: true,
  });
});

Deno.test("each field of a NAME has its own bits, all of them together all but the reserved one", () => {
  const fields = {
    uniqueNumber: 2 ** 21 - 1,
    manufacturerCode: 2 ** 11 - 1,
    deviceInstance: 255,
    deviceFunction: 255,
    deviceClass: 127,
    systemInstance: 15,
    industryGroup: 7,
  };
  let all = buildName(nameFields({ arbitraryAddressCapable: true }));
  assert.equal(all, 1n << 63n);
  for (const [key, value] of Object.entries(fields)) {
    const bits = buildName(nameFields({ [key]: value }));
    assert.equal(bits & all, 0n, key);
    all |= bits;
  }
  assert.equal(all, 2n ** 64n - 1n - RESERVED_BIT);
});

Deno.test("every NAME survives reading and building again but for its reserved bit", () => {
  const random = new Random(64);
  for (let i = 0; i < 20_000; i++) {
    const name = random.bits64();
    assert.equal(buildName(parseName(name)), name & ~RESERVED_BIT);
  }
});

Deno.test("a NAME field that is too wide is cut to its bits", () => {
  assert.equal(buildName(nameFields({ manufacturerCode: 0x1fff })), 0x7ffn << 21n);
  assert.equal(buildName(nameFields({ industryGroup: 12 })), 4n << 60n);
});

Deno.test("a NAME is written as 0x and 16 lower-case digits and read back", () => {
  assert.equal(formatName(0n), "0x0000000000000000");
  assert.equal(formatName(0xc0788200_10e3b99fn), "0xc078820010e3b99f");
  assert.equal(formatName(2n ** 64n - 1n), "0xffffffffffffffff");
  const random = new Random(65);
  for (let i = 0; i < 1000; i++) {
    const name = random.bits64();
    assert.equal(readName(formatName(name)), name);
  }
});

Deno.test("a NAME is read with and without 0x, in any case, from 1 to 16 digits", () => {
  const forms = ["c078820010e3b99f", "0xC078820010E3B99F", "0Xc078820010e3B99f", "C078820010E3B99F"];
  for (const text of forms) assert.equal(readName(text), 0xc0788200_10e3b99fn, text);
  assert.equal(readName("1"), 1n);
  assert.equal(readName("0x00ff"), 255n);
  assert.equal(readName("0"), 0n);
});

Deno.test("what is no NAME is not read as one", () => {
  for (
    const text of ["", "0x", "x1", "0x10000000000000000", "12345678901234567", "g", "-1", "1_0", " 1", "0x0x1", "1n"]
  ) {
    assert.equal(readName(text), undefined, text);
  }
});
