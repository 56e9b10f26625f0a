import assert from "node:assert/strict";
import { plainReason } from "../../src/replication/grpc/grpc.ts";

Deno.test("why a connection cannot be made is told without the library's wrapping, and the same each time", () => {
  const wrapped = "No connection established. Last error: connect ECONNREFUSED 127.0.0.1:9443 " +
    "(2026-11-22T03:27:02.678Z). Resolution note: ";
  assert.equal(plainReason(wrapped), "connect ECONNREFUSED 127.0.0.1:9443");
  assert.equal(plainReason("Failed to connect (2026-11-22T03:27:02.678Z)"), "Failed to connect");
  assert.equal(plainReason("live lag 20000 exceeds threshold 10000"), "live lag 20000 exceeds threshold 10000");
});
