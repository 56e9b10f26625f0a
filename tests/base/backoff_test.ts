import assert from "node:assert/strict";
import { backoffMs } from "../../src/base/mod.ts";

const RECONNECT = { firstMs: 1000, capMs: 60_000 };

Deno.test("back-off doubles from the first wait up to the cap", () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => backoffMs(attempt, RECONNECT));
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

Deno.test("back-off stays at its cap after any number of tries and never falls below the first wait", () => {
  assert.equal(backoffMs(5000, RECONNECT), 60_000);
  assert.equal(backoffMs(0, RECONNECT), 1000);
  assert.equal(backoffMs(-3, RECONNECT), 1000);
});
