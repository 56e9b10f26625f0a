import assert from "node:assert/strict";
import { parseSize } from "../../src/base/mod.ts";

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
