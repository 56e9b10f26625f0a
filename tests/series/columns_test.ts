import assert from "node:assert/strict";
import { Bucket } from "../../src/series/bucket.ts";
import { findSeriesField, type SeriesField } from "../../src/series/mod.ts";
import { ByteReader, ByteWriter } from "../../src/series/rollup/bytes.ts";
import { readColumns, writeColumns } from "../../src/series/rollup/columns.ts";
import { rounds } from "../support/needs.ts";
import { Random } from "../support/random.ts";

const END_US = 30_000_000;

function bucketOf(field: SeriesField, values: readonly (number | string)[]): Bucket {
  const bucket = new Bucket();
  for (const [i, value] of values.entries()) bucket.add(value, field, i);
  return bucket;
}

/** Writes the buckets of a field, and reads them back. */
function throughBytes(field: SeriesField, buckets: readonly Bucket[]): (Bucket | undefined)[] {
  const endsUs = buckets.map(() => END_US);
  const writer = new ByteWriter();
  const form = writeColumns(writer, { field, buckets, endsUs });
  return readColumns(new ByteReader(writer.take()), { field, form, endsUs });
}

Deno.test("buckets of any magnitude are read back from columns as they were written, sums but for rounding", () => {
  const random = new Random(1);
  const altitude = findSeriesField("129029.altitude");
  assert.equal(altitude.resolution, 1e-6);
  const resolutions = [1, 0.01, 1e-6, 1e-16, 3];
  for (let round = 0; round < rounds(20_000, 400); round++) {
    const resolution = random.pick(resolutions);
    const field = { ...altitude, resolution };
    // Mostly small values, and one that is far off: a faulty sensor.
    const most = 2 ** random.int(20);
    const farOff = 2 ** random.int(64) * random.pick([1, -1]);
    const perStep = Math.round(1 / resolution);
    const buckets = Array.from({ length: 3 }, () => {
      const steps = Array.from({ length: 1 + random.int(2000) }, () => random.between(-most, most));
      if (random.chance(0.5)) steps[random.int(steps.length)] = farOff;
      return bucketOf(field, steps.map((each) => resolution < 1 ? each / perStep : each * resolution));
    });
    const read = throughBytes(field, buckets);
    for (const [i, { count, min, max, last, lastUs, sum }] of buckets.entries()) {
      const found = read[i] ?? assert.fail(`no bucket ${i} in round ${round}`);
      assert.deepEqual([found.count, found.min, found.max, found.last, found.lastUs], [count, min, max, last, lastUs]);
      const rounding = 1e-9 * Math.max(resolution, count * Math.max(Math.abs(min), Math.abs(max)));
      assert.ok(Math.abs(found.sum - sum) <= rounding, `sum ${found.sum} instead of ${sum} in round ${round}`);
    }
  }
});
