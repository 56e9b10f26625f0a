import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { untilStopped } from "../../cli/program/interrupt.ts";
import { pause } from "../../src/base/mod.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

Deno.test("reading a long recording keeps nothing of what was read", async () => {
  const read: WeakRef<object>[] = [];
  async function* items() {
    for (let i = 0; i < 100; i++) {
      yield { i };
      await pause(0);
    }
  }
  for await (const item of untilStopped(items(), new AbortController().signal)) {
    read.push(new WeakRef(item));
    if (read.length < 100) continue;
    await pause(0);
    collectGarbage();
    const kept = read.filter((item) => item.deref() !== undefined).length;
    // The last ones are in use.
    assert.ok(kept <= 3, `${kept} of 100 are kept`);
  }
  assert.equal(read.length, 100);
});

Deno.test("a stopped command ends a read that would wait for ever, with the reason", async () => {
  const stopping = new AbortController();
  async function* items() {
    yield 1;
    stopping.abort(new Error("stopped"));
    await new Promise(() => {});
  }
  const read: number[] = [];
  await assert.rejects(async () => {
    for await (const item of untilStopped(items(), stopping.signal)) read.push(item);
  }, /^Error: stopped$/);
  assert.deepEqual(read, [1]);
});
