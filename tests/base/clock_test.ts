import assert from "node:assert/strict";
import { systemClock } from "../../src/base/mod.ts";

Deno.test("the machine's monotonic clock never goes back and its wall clock counts microseconds since 1970", () => {
  let last = systemClock.monoMs();
  for (let i = 0; i < 1000; i++) {
    const now = systemClock.monoMs();
    assert.ok(now >= last);
    last = now;
  }
  const before = Date.now();
  const wallMs = systemClock.wallUs() / 1000;
  assert.ok(wallMs >= before && wallMs <= Date.now() + 1);
});
