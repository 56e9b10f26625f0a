import assert from "node:assert/strict";
import { characters, fixedText, float32, hexBits, isoDate, isoTime, lauText, lzText } from "../../src/pgn/read.ts";
import { Random } from "../support/random.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("a date is the one that Date gives, for every day that 16 bits can tell", () => {
  for (let days = 0; days < 65_536; days++) {
    assert.equal(isoDate(days), new Date(days * 86_400_000).toISOString().slice(0, 10));
  }
});

Deno.test("a time has as many decimals as it needs, goes on beyond 24 hours and may be negative", () => {
  assert.equal(isoTime(0, 10_000), "00:00:00");
  assert.equal(isoTime(668_500_001, 10_000), "18:34:10.0001");
  assert.equal(isoTime(863_999_000, 10_000), "23:59:59.9");
  assert.equal(isoTime(90_000, 1), "25:00:00");
  assert.equal(isoTime(-300_000, 1000), "-00:05:00");
});

Deno.test("characters are UTF-8 as TextDecoder reads it, wherever it is valid", () => {
  for (const text of ["", "BRAMBLE PILE", "Île d'Yeu", "東京湾", "⛵ 1234567890 ⛵", "a".repeat(33)]) {
    for (const invalid of ["latin1", "lossy"] as const) {
      assert.equal(characters(bytes(text), 0, bytes(text).length, invalid), text);
    }
  }
});

Deno.test("bytes that are no UTF-8 are Latin-1, or each of them U+FFFD", () => {
  const invalid = Uint8Array.of(0x43, 0xe9, 0x20, 0xc3, 0xa9);
  assert.equal(characters(invalid, 0, invalid.length, "latin1"), "C\u00e9 \u00c3\u00a9");
  assert.equal(characters(invalid, 0, invalid.length, "lossy"), "C\ufffd \u00e9");
  assert.equal(characters(Uint8Array.of(0xe4, 0xb8, 0x41), 0, 3, "lossy"), "\ufffd\ufffdA");
  assert.equal(characters(Uint8Array.of(0xed, 0xa0, 0x80), 0, 3, "lossy"), "\ufffd\ufffd\ufffd", "no surrogates");
  assert.equal(characters(Uint8Array.of(0xf4, 0x90, 0x80, 0x80), 0, 4, "lossy").length, 4, "nothing above U+10FFFF");
});

Deno.test("of random bytes, lossy characters are valid ones as TextDecoder finds them", () => {
  const random = new Random(5);
  const strict = new TextDecoder("utf-8", { fatal: true });
  for (let round = 0; round < 20_000; round++) {
    const some = random.bytes(random.int(12));
    let expected: string | undefined;
    try {
      expected = strict.decode(some);
    } catch {
      expected = undefined;
    }
    const text = characters(some, 0, some.length, "lossy");
    if (expected === undefined) assert.ok(text.includes("\ufffd"), some.toHex());
    else assert.equal(text, expected);
  }
});

Deno.test("texts end at 0x00 or 0xFF, where their length says, and at the payload's end", () => {
  const fill = { fill: "@ ", invalid: "lossy" } as const;
  assert.equal(fixedText(bytes("IRRON@@@ @\0x"), 0, 12, fill), "IRRON");
  assert.equal(fixedText(bytes("    "), 0, 4, { invalid: "lossy" }), "    ");
  const lau = Uint8Array.of(6, 1, 0x44, 0x59, 0x20, 0, 0x99);
  assert.equal(lauText(lau, 0, lau.length, { invalid: "lossy" }), "DY \0");
  assert.equal(lauText(lau, 0, lau.length, { invalid: "latin1" }), "DY");
  assert.equal(lauText(Uint8Array.of(6, 0, 0x71, 0x67, 0xac, 0x4e), 0, 6, { invalid: "lossy" }), "東京");
  assert.equal(lauText(Uint8Array.of(250, 1, 0x41), 0, 3, { invalid: "lossy" }), "A");
  assert.equal(lauText(Uint8Array.of(), 0, 0, { invalid: "lossy" }), "");
  assert.equal(lzText(Uint8Array.of(3, 0x41, 0x42, 0x43, 0, 0x44), 0, 6, "latin1"), "ABC");
});

Deno.test("bits that are no whole bytes are told lowest first, a float in the digits that it has", () => {
  assert.equal(hexBits(Uint8Array.of(0b1010_0000, 0b0000_1111), 4, 8), "fa");
  assert.equal(hexBits(Uint8Array.of(0x52, 0xc0, 0x01), 0, 19), "52c001");
  assert.equal(float32(0x40466666), 3.1);
  assert.equal(float32(0x7fc00000), null);
  assert.equal(float32(0x7f800000), null);
});
