import assert from "node:assert/strict";
import { pause } from "../support/eventually.ts";
import { bench, endAt, RESERVE, take } from "./sequence_bench.ts";

Deno.test("an orderly end without a frame changes nothing: numbers that a kill has skipped are no lost frames then", async () => {
  const { open, disk } = bench();
  const first = await open();
  take(first, 10);
  const journalEnd = endAt(first, 7);
  const second = await open({ journalEnd });
  await second.close();
  const left = disk.content;
  const third = await open({ journalEnd });
  assert.deepEqual(third.start, { kind: "continued", first: RESERVE + 1, skipped: { from: 8, to: RESERVE } });
  assert.deepEqual(third.skipped, { from: 8, to: RESERVE });
  await third.close();
  assert.equal(disk.content, left, "whatever often");
  const fourth = await open({ journalEnd });
  assert.deepEqual(take(fourth, 2), [RESERVE + 1, RESERVE + 2]);
  await fourth.close();
  const quiet = await open({ journalEnd: endAt(fourth) });
  await quiet.close();
  assert.deepEqual((await open({ journalEnd: endAt(fourth) })).start, { kind: "continued", first: RESERVE + 3 });
});

Deno.test("frames of an orderly run of which there is no journal are lost, not numbers that never had one", async () => {
  for (const isOther of [false, true]) {
    const { open } = bench();
    const before = await open();
    take(before, 5);
    const journalEnd = isOther ? endAt(before) : undefined;
    if (isOther) before.newEpoch("the cloud has seen 2000");
    take(before, 10);
    await before.close();
    const head = isOther ? 10 : 15;
    const { start, skipped } = await open({ journalEnd });
    assert.deepEqual(start, {
      kind: "continued",
      first: head + 1,
      skipped: { from: 1, to: head },
      isUnrecorded: true,
    });
    assert.equal(skipped, undefined);
  }
});

Deno.test("frames of a run that was killed are lost, too, where there is no journal and some had come before", async () => {
  const { open } = bench();
  for (let start = 0; start < 2; start++) await open();
  const unused = await open();
  const skipped = { from: 1, to: 2 * RESERVE };
  assert.deepEqual(unused.start, { kind: "continued", first: 2 * RESERVE + 1, skipped });
  take(unused, RESERVE / 2);
  await pause();
  for (const to of [3.5 * RESERVE, 4.5 * RESERVE]) {
    const store = await open();
    assert.deepEqual(store.start, { kind: "continued", first: to + 1, skipped: { from: 1, to }, isUnrecorded: true });
    assert.equal(store.skipped, undefined);
  }
});
