import assert from "node:assert/strict";
import { formatHex } from "../../src/frame/mod.ts";
import { lauBytes, PayloadWriter, signedField, unsignedField } from "../../src/twin/bits.ts";

const hexOf = (writer: PayloadWriter) => formatHex(writer.finish());

Deno.test("fields are little-endian and share bytes from the lowest bit up", () => {
  const u4 = unsignedField(4);
  assert.equal(hexOf(new PayloadWriter(3).put(u4, 0x1).put(u4, 0x2).put(unsignedField(16), 0x3456)), "215634");
  assert.equal(hexOf(new PayloadWriter(2).put(unsignedField(11), 358).reserve(2).put(unsignedField(3), 4)), "6699");
  assert.equal(hexOf(new PayloadWriter(5).put(unsignedField(4), 1).put(unsignedField(36), 0x987654321)), "1132547698");
});

Deno.test("what is not available is all ones, and the highest positive number when signed", () => {
  assert.equal(hexOf(new PayloadWriter(2).put(unsignedField(16), undefined)), "ffff");
  assert.equal(hexOf(new PayloadWriter(2).put(signedField(16), undefined)), "ff7f");
  assert.equal(hexOf(new PayloadWriter(4).put(signedField(32, 0.01), NaN)), "ffffff7f");
  assert.equal(
    hexOf(new PayloadWriter(8).putWide(undefined, { coarsePerUnit: 1e10, finePerCoarse: 1_000_000n })),
    "ffffffffffffff7f",
  );
});

Deno.test("numbers out of range become the nearest valid one, never a sentinel", () => {
  assert.equal(hexOf(new PayloadWriter(2).put(unsignedField(16), 1e9)), "fcff");
  assert.equal(hexOf(new PayloadWriter(2).put(unsignedField(16), 65_534)), "fcff");
  assert.equal(hexOf(new PayloadWriter(2).put(unsignedField(16), -5)), "0000");
  assert.equal(hexOf(new PayloadWriter(2).put(signedField(16), Infinity)), "fc7f");
  assert.equal(hexOf(new PayloadWriter(2).put(signedField(16), -1e9)), "0080");
  assert.equal(hexOf(new PayloadWriter(1).put(unsignedField(4), 99).put(unsignedField(4), 15)), "dd");
  assert.equal(hexOf(new PayloadWriter(1).put(unsignedField(2), 3).reserve(6)), "fe");
  assert.equal(hexOf(new PayloadWriter(1).put(unsignedField(1), 7).reserve(7)), "ff");
});

Deno.test("bits as they are may be all ones", () => {
  assert.equal(hexOf(new PayloadWriter(3).putBits(0x7ffff, 19).putBits(0, 5)), "ffff07");
});

Deno.test("numbers are scaled and rounded", () => {
  assert.equal(hexOf(new PayloadWriter(2).put(signedField(16, 0.1), -2.8)), "e4ff");
  assert.equal(hexOf(new PayloadWriter(4).put(signedField(32, 1e-7), -157.8428998)), "ba15eba1");
});

Deno.test("64-bit fields keep more digits than a double's integers", () => {
  const steps = { coarsePerUnit: 1e10, finePerCoarse: 1_000_000n };
  const raw = (payload: Uint8Array) => new DataView(payload.buffer).getBigInt64(0, true);
  assert.equal(raw(new PayloadWriter(8).putWide(21.2835018, steps).finish()), 212_835_018_000_000_000n);
  assert.equal(raw(new PayloadWriter(8).putWide(-157.8428998, steps).finish()), -1_578_428_998_000_000_000n);
});

Deno.test("text is padded or cut, and STRING_LAU carries its length", () => {
  assert.equal(hexOf(new PayloadWriter(4).putText("AB", { length: 4 })), "4142ffff");
  assert.equal(hexOf(new PayloadWriter(4).putText("ABCDE", { length: 4, pad: 0x40 })), "41424344");
  assert.equal(hexOf(new PayloadWriter(lauBytes("End")).putLau("End")), "0501456e64");
  assert.equal(hexOf(new PayloadWriter(2).putLau("")), "0201");
});

Deno.test("a payload must be filled exactly", () => {
  assert.throws(() => new PayloadWriter(2).put(unsignedField(8), 1).finish(), /its fields have 8 bits/);
  assert.throws(() => new PayloadWriter(1).put(unsignedField(8), 1).put(unsignedField(8), 1), /payload of 1 bytes/);
});
