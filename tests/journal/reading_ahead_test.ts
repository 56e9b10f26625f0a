import assert from "node:assert/strict";
import { readingAhead } from "../../src/journal/index/file_index.ts";
import { Random } from "../support/random.ts";

Deno.test("reading ahead gives the same bytes, and asks far less often for pieces one behind the other", async () => {
  const random = new Random(4);
  const file = random.bytes(20_000);
  let reads = 0;
  const read = (offset: number, length: number) => {
    reads++;
    return Promise.resolve(file.slice(offset, offset + length));
  };
  const ahead = readingAhead(read, 1000);
  for (let i = 0; i < 500; i++) {
    const [offset, length] = [random.int(21_000), random.int(1500)];
    assert.deepEqual(await ahead(offset, length), file.slice(offset, offset + length));
  }
  reads = 0;
  for (let offset = 0; offset < 20_000; offset += 100) await ahead(offset, 24);
  assert.ok(reads <= 21, `${reads} reads`);
});
