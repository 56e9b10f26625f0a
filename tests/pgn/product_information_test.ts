import assert from "node:assert/strict";
import { readProductInformation } from "../../src/pgn/mod.ts";
import { Random } from "../support/random.ts";

/** A payload of 134 bytes 0xFF with texts at byte offsets. */
function payload(texts: Record<number, string>, length = 134): Uint8Array {
  const data = new Uint8Array(length).fill(0xff);
  data.set([0x35, 0x08, 0x42, 0x06]);
  for (const [at, text] of Object.entries(texts)) {
    data.set(Uint8Array.from(text, (char) => char.charCodeAt(0)).subarray(0, length - Number(at)), Number(at));
  }
  return data;
}

Deno.test("product information is read as devices send it: four strings of 32 bytes", () => {
  assert.deepEqual(readProductInformation(payload({ 4: "GMI 10", 36: "3.30", 68: "rev C", 100: "17345" })), {
    productCode: 0x0642,
    modelId: "GMI 10",
    softwareVersion: "3.30",
    modelVersion: "rev C",
    modelSerial: "17345",
  });
});

Deno.test("product information of the peer's layout is read too: model version at byte 76", () => {
  const read = readProductInformation(payload({ 4: "M", 36: "4.1", 76: "late version", 100: "S" }));
  assert.equal(read?.modelVersion, "late version");
  assert.equal(read?.softwareVersion, "4.1");
  assert.equal(read?.modelSerial, "S");
});

Deno.test("the model version at byte 68 wins when both places hold text", () => {
  assert.equal(readProductInformation(payload({ 68: "early\0\0\0late" }))?.modelVersion, "early");
});

Deno.test("a string of product information ends at 0x00 or 0xFF, loses trailing blanks and may fill its field", () => {
  const full = "x".repeat(32);
  const read = readProductInformation(payload({ 4: full, 36: "1.0\0junk", 68: "v2   ", 100: full }));
  assert.equal(read?.modelId, full);
  assert.equal(read?.softwareVersion, "1.0");
  assert.equal(read?.modelVersion, "v2");
  assert.equal(read?.modelSerial, full);
});

Deno.test("product information without texts has empty strings", () => {
  const { productCode: _, ...texts } = readProductInformation(payload({}))!;
  assert.deepEqual(texts, { modelId: "", softwareVersion: "", modelVersion: "", modelSerial: "" });
});

Deno.test("product information that is cut short is none, a longer one is read", () => {
  for (let length = 0; length < 134; length++) assert.equal(readProductInformation(new Uint8Array(length)), undefined);
  assert.equal(readProductInformation(payload({ 4: "long" }, 140))?.modelId, "long");
});

Deno.test("no bytes make reading product information throw or give control characters as ends", () => {
  const random = new Random(134);
  for (let i = 0; i < 2000; i++) {
    const read = readProductInformation(random.bytes(random.between(130, 223)));
    for (const text of [read?.modelId, read?.softwareVersion, read?.modelVersion, read?.modelSerial]) {
      assert.ok(text === undefined || (text.length <= 32 && !text.includes("\0")));
    }
  }
});
