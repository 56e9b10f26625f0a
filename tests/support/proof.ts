import assert from "node:assert/strict";
import type { Proof } from "../../src/http/mod.ts";

/** Fails unless every frame seen is recorded, on its way or missing for a reason, and the same for the cloud. */
export function assertAddsUp(proof: Proof): Proof {
  const { seen, recorded, in_cloud, on_the_way, missing } = proof;
  const missingIn = (place: "journal" | "cloud") =>
    missing.filter(({ where }) => where === place).reduce((sum, { count }) => sum + count, 0);
  const text = JSON.stringify(proof);
  if (recorded !== null) assert.equal(recorded + on_the_way.journal + missingIn("journal"), seen, text);
  if (in_cloud !== null) assert.equal(in_cloud + on_the_way.cloud + missingIn("cloud"), seen, text);
  assert.ok(missing.every(({ count, reason }) => count > 0 && reason !== "not explained"), text);
  return proof;
}
