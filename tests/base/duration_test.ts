import assert from "node:assert/strict";
import { formatDuration, parseDuration, parseSize } from "../../src/base/mod.ts";

Deno.test("durations are read in ISO 8601", () => {
  const texts = ["PT5M", "PT0S", "PT1H30M", "PT0.25S", "P1D", "P1DT12H", "P7D", "PT36H", "PT90S"];
  assert.deepEqual(texts.map(parseDuration), [
    300_000,
    0,
    5_400_000,
    250,
    86_400_000,
    129_600_000,
    604_800_000,
    129_600_000,
    90_000,
  ]);
});

Deno.test("the last part of an ISO 8601 duration may have a fraction, with a comma or a full stop", () => {
  const texts = ["PT1.5M", "PT0,5S", "PT0.5H", "P0.5D", "P1DT0,25H", "P1.5W", "PT0.001S"];
  assert.deepEqual(texts.map(parseDuration), [
    90_000,
    500,
    1_800_000,
    43_200_000,
    87_300_000,
    907_200_000,
    1,
  ]);
});

Deno.test("weeks are read in ISO 8601 and in the short form alike", () => {
  assert.equal(parseDuration("P2W"), 14 * 86_400_000);
  assert.equal(parseDuration("2w"), 14 * 86_400_000);
});

Deno.test("durations are read in the short form, also composed and with a fraction", () => {
  const texts = ["5m", "1h30m", "250ms", "10s", "0.5s", "1d", "0", " 5m ", "0s"];
  assert.deepEqual(texts.map(parseDuration), [300_000, 5_400_000, 250, 10_000, 500, 86_400_000, 0, 300_000, 0]);
});

Deno.test("a duration that is none is refused with its text quoted", () => {
  const wrong = [
    "",
    "P",
    "PT",
    "5",
    "-5m",
    "m5",
    "5 m",
    "5x",
    "P1Y",
    "P1M",
    "PT5",
    "-PT5M",
    "1e3s",
    "P1DT",
    "PT1.5M30S",
    "P0.5DT1H",
    "PT.5S",
    "PT5.S",
    "Infinity",
    "P99999999999999D",
    `PT${"9".repeat(400)}S`,
    "9999999999999999w",
  ];
  for (const text of wrong) {
    assert.throws(() => parseDuration(text), (error: unknown) => {
      assert.ok(error instanceof RangeError, text);
      assert.ok(error.message.includes(`"${text}"`), `${text}: ${error.message}`);
      return true;
    });
  }
});

Deno.test("a formatted duration is read back as the same", () => {
  assert.equal(formatDuration(5_400_000), "PT1H30M");
  assert.equal(formatDuration(300_000), "PT5M");
  assert.equal(formatDuration(0), "PT0S");
  assert.equal(formatDuration(604_800_000), "PT168H");
  for (const ms of [0, 1, 250, 999, 1000, 61_001, 86_400_000, 14 * 86_400_000 + 17]) {
    assert.equal(parseDuration(formatDuration(ms)), ms);
  }
});

Deno.test("sizes are read as bytes, in powers of ten and in powers of two", () => {
  const texts = [
    "0",
    "4096",
    "4096B",
    "10kB",
    "3MB",
    "10GB",
    "1TB",
    "512KiB",
    "1MiB",
    "2GiB",
    "1TiB",
    "1.5KiB",
    "1 gb",
  ];
  const bytes = [0, 4096, 4096, 1e4, 3e6, 1e10, 1e12, 2 ** 19, 2 ** 20, 2 ** 31, 2 ** 40, 1536, 1e9];
  assert.deepEqual(texts.map(parseSize), bytes);
});

Deno.test("a size that is none is refused with its text quoted", () => {
  const wrong = ["", "GB", "-1", "1XB", "10 G B", "1e3", "none", "5none", "1.GB", "constructor", "5constructor"];
  for (const text of wrong) {
    assert.throws(() => parseSize(text), (error: unknown) => {
      return error instanceof RangeError && error.message.includes(`"${text}"`);
    }, text);
  }
});
