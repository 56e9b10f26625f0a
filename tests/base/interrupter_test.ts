import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Interrupter, pause } from "../../src/base/mod.ts";

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const never = () => new Promise<never>(() => {});

Deno.test("an interruption ends all waits with its reason, also those that begin later", async () => {
  const interrupter = new Interrupter();
  const waits = [never(), never()].map((promise) => interrupter.wait(promise));
  const reason = new Error("enough");
  interrupter.interrupt(reason);
  interrupter.interrupt(new Error("again"));
  const late = interrupter.wait(never());
  const results = await Promise.allSettled([...waits, late, interrupter.wait(Promise.reject(new Error("of its own")))]);
  assert.deepEqual(results.map((result) => result.status === "rejected" && result.reason), [
    reason,
    reason,
    reason,
    reason,
  ]);
});

Deno.test("a wait that is not interrupted settles as its promise does", async () => {
  const interrupter = new Interrupter();
  const error = new Error("of its own");
  const results = await Promise.allSettled([
    interrupter.wait(Promise.resolve(7)),
    interrupter.wait(Promise.reject(error)),
  ]);
  interrupter.interrupt(new Error("too late"));
  assert.deepEqual(results, [{ status: "fulfilled", value: 7 }, { status: "rejected", reason: error }]);
});

Deno.test("an interrupter keeps nothing of waits that are over", async () => {
  const interrupter = new Interrupter();
  const results: WeakRef<object>[] = [];
  for (let i = 0; i < 100; i++) results.push(new WeakRef(await interrupter.wait(pause(0).then(() => ({ i })))));
  await pause(0);
  collectGarbage();
  const kept = results.filter((result) => result.deref() !== undefined).length;
  // A register may still hold the last one.
  assert.ok(kept <= 1, `${kept} of 100 are kept`);
  interrupter.interrupt(new Error("only now"));
});
