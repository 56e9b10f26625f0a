import assert from "node:assert/strict";
import { Random } from "../support/random.ts";
import { formatFileName, nextFileName, parseFileName } from "../../src/journal/file/name.ts";

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

Deno.test("a date that cannot be true is in no name: the file is named right after the newest one", () => {
  const isTaken = () => false;
  const wrongUs = Date.UTC(2252, 0, 1) * 1000;
  const after = "nmea2k-20260101T000000.000Z.lpj";
  assert.equal(nextFileName("nmea2k", { timeUs: wrongUs, after, isTaken }), "nmea2k-20260101T000000.001Z.lpj");
  const longAgo = "nmea2k-20400101T000000.000Z.lpj";
  const tenYearsLater = Date.UTC(2050, 6, 1) * 1000;
  assert.equal(
    nextFileName("nmea2k", { timeUs: tenYearsLater, after: longAgo, isTaken }),
    "nmea2k-20400101T000000.001Z.lpj",
  );
  assert.equal(nextFileName("nmea2k", { timeUs: wrongUs, isTaken }), "nmea2k-19700101T000000.000Z.lpj");
});

Deno.test("a frame of tomorrow is named after now where the time of day is known, and one of this hour after itself", () => {
  const isTaken = () => false;
  const nowMs = Date.UTC(2026, 0, 1);
  const later = (ms: number) => nextFileName("nmea2k", { timeUs: (nowMs + ms) * 1000, isTaken, nowMs });
  assert.equal(later(3_600_000), "nmea2k-20260101T010000.000Z.lpj");
  assert.equal(later(3 * 86_400_000), "nmea2k-20260101T000000.000Z.lpj");
});

Deno.test("whatever clocks say, names sort as files follow each other and are never of a date that is far ahead", () => {
  const random = new Random(7);
  const taken = new Set<string>();
  let after: string | undefined;
  for (let i = 0; i < 2000; i++) {
    const year = random.pick([1970, 2019, 2025, 2026, 2027, 2036, 2070, 2252, 9999]);
    const timeUs = (Date.UTC(year, 0, 1) + random.int(86_400_000)) * 1000;
    const nowMs = random.chance(0.5) ? Date.UTC(2026, 0, 2) : undefined;
    const name: string = nextFileName("nmea2k", { timeUs, after, isTaken: (each) => taken.has(each), nowMs });
    assert.ok(after === undefined || name > after, `${name} after ${after}`);
    assert.ok(name < "nmea2k-2100", name);
    taken.add(name);
    after = name;
  }
});
