import assert from "node:assert/strict";
import { findSeriesField, joinSeries, Series } from "../../src/series/mod.ts";
import { Slices } from "../../src/series/slices.ts";

Deno.test("joining the buckets of a device that changed its address lets other work run", async () => {
  const field = findSeriesField("128267.depth");
  const seriesOf = (src: number, { from }: { from: number }) => {
    const series = new Series(field, { origin: { bus: "can0", src, name: 9n, keys: {} } });
    for (let start = from; start < from + 5000; start++) series.at(start).add(src, field, start);
    return series;
  };
  let slices = 0;
  const turns = { slice: () => Promise.resolve(++slices * 0) };
  const list = [seriesOf(1, { from: 0 }), seriesOf(2, { from: 2500 })];
  const [joined, ...others] = await joinSeries(list, { fields: [field], slices: new Slices({ turns }) });
  assert.deepEqual([joined?.origin.src, joined?.buckets.size, others], [2, 7500, []]);
  assert.deepEqual(
    [0, 2500, 4999, 7499].map((start) => joined?.buckets.get(start)).map((bucket) => [bucket?.count, bucket?.last]),
    [[1, 1], [2, 2], [2, 2], [1, 2]],
  );
  assert.ok(slices >= 10, `${slices} slices for 5000 buckets`);
});
