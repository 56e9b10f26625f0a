import assert from "node:assert/strict";
import { formatFileName, nextFileName, parseFileName } from "../../src/journal/file_name.ts";

Deno.test("a file is named after its prefix and the time of its first frame, in UTC with milliseconds", () => {
  assert.equal(formatFileName("nmea2k", 1_749_988_800_123_456), "nmea2k-20250615T120000.123Z.lpj");
  assert.deepEqual(parseFileName("nmea2k-20250615T120000.123Z.lpj"), { prefix: "nmea2k", timeMs: 1_749_988_800_123 });
  assert.deepEqual(parseFileName("my-boat-20250615T120000Z.lpj"), { prefix: "my-boat", timeMs: 1_749_988_800_000 });
});

Deno.test("names that are not ours, or no date, say nothing", () => {
  for (
    const name of [
      "x.lpj",
      "nmea2k-20251315T120000.000Z.lpj",
      "nmea2k-20250231T120000.000Z.lpj",
      "a-20250615T120000.000Z.txt",
    ]
  ) {
    assert.equal(parseFileName(name), undefined, name);
  }
});

Deno.test("a name that is taken gets a millisecond more, and none sorts before the newest", () => {
  const taken = new Set(["nmea2k-20250615T120000.000Z.lpj", "nmea2k-20250615T120000.001Z.lpj"]);
  const isTaken = (name: string) => taken.has(name);
  const timeUs = 1_749_988_800_000_000;
  assert.equal(nextFileName("nmea2k", { timeUs, isTaken }), "nmea2k-20250615T120000.002Z.lpj");
  const after = "nmea2k-20270101T000000.000Z.lpj";
  assert.equal(nextFileName("nmea2k", { timeUs, after, isTaken }), "nmea2k-20270101T000000.001Z.lpj");
});
