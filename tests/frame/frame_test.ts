import assert from "node:assert/strict";
import { formatHex, formatTimeUs, readHex } from "../../src/frame/mod.ts";
import { Random } from "../support/random.ts";

/** Sets the cache of the second's text to another second. */
function otherSecond(): void {
  formatTimeUs(1e15);
}

Deno.test("a time is floored to three decimals, never rounded", () => {
  const us = Date.UTC(2026, 7, 9, 10, 11, 12) * 1000;
  assert.equal(formatTimeUs(us), "2026-08-09T10:11:12.000Z");
  assert.equal(formatTimeUs(us + 999), "2026-08-09T10:11:12.000Z");
  assert.equal(formatTimeUs(us + 1000), "2026-08-09T10:11:12.001Z");
  assert.equal(formatTimeUs(us + 9_999), "2026-08-09T10:11:12.009Z");
  assert.equal(formatTimeUs(us + 10_000), "2026-08-09T10:11:12.010Z");
  assert.equal(formatTimeUs(us + 99_999), "2026-08-09T10:11:12.099Z");
  assert.equal(formatTimeUs(us + 100_000), "2026-08-09T10:11:12.100Z");
  assert.equal(formatTimeUs(us + 999_999), "2026-08-09T10:11:12.999Z");
  assert.equal(formatTimeUs(us + 1_000_000), "2026-08-09T10:11:13.000Z");
});

Deno.test("times around 1970 and before are floored towards the past", () => {
  assert.equal(formatTimeUs(0), "1970-01-01T00:00:00.000Z");
  otherSecond();
  assert.equal(formatTimeUs(-1), "1969-12-31T23:59:59.999Z");
  assert.equal(formatTimeUs(-1_000_000), "1969-12-31T23:59:59.000Z");
  assert.equal(formatTimeUs(-1_000_001), "1969-12-31T23:59:58.999Z");
});

Deno.test("the very first time formatted may be the last second of 1969", async () => {
  const fresh = await import("../../src/frame/frame.ts?fresh");
  assert.equal(fresh.formatTimeUs(-1), "1969-12-31T23:59:59.999Z");
});

Deno.test("a formatted time is what Date makes of the floored milliseconds, in any order of times", () => {
  const random = new Random(3);
  let timeUs = Date.UTC(2026, 0, 1) * 1000;
  for (let i = 0; i < 20_000; i++) {
    timeUs += random.chance(0.1) ? random.between(-1e12, 1e12) : random.between(-400_000, 600_000);
    assert.equal(formatTimeUs(timeUs), new Date(Math.floor(timeUs / 1000)).toISOString());
  }
});

Deno.test("hex is lower case, two digits a byte, of the whole or of a part", () => {
  const data = Uint8Array.of(0x00, 0x0f, 0xa5, 0xff);
  assert.equal(formatHex(data), "000fa5ff");
  assert.equal(formatHex(data, { start: 1, length: 2 }), "0fa5");
  assert.equal(formatHex(data, { start: 4, length: 0 }), "");
  assert.equal(formatHex(new Uint8Array(0)), "");
});

Deno.test("hex is read in any case and back, and refused when it is none", () => {
  const bytes = new Random(4).bytes(1785);
  assert.deepEqual(readHex(formatHex(bytes)), bytes);
  assert.deepEqual(readHex(formatHex(bytes).toUpperCase()), bytes);
  assert.deepEqual(readHex(""), new Uint8Array(0));
  for (const text of ["0", "0g", "0x01", " 01", "01 02", "--", "+1", "é0"]) {
    assert.equal(readHex(text), undefined, text);
  }
});
