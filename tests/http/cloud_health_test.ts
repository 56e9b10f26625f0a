import assert from "node:assert/strict";
import { evaluateCloudHealth } from "../../src/http/cloud/health.ts";

const SOME = { size: 3, connected: 2 };

Deno.test("a cloud is well while every boat that is here is recorded, and with no boat at all", () => {
  assert.deepEqual(evaluateCloudHealth({ instances: SOME, recordings: { recording: 2, failing: 0 } }), {
    status: "ok",
    instances_total: 3,
    instances_connected: 2,
    components: { recording: { status: "ok" }, storage: { status: "ok" } },
  });
  const empty = evaluateCloudHealth({ instances: { size: 0, connected: 0 }, recordings: { recording: 0, failing: 0 } });
  assert.equal(empty.status, "ok");
});

Deno.test("boats that cannot be recorded degrade a cloud, and when none can be it is unhealthy; none is named", () => {
  const decide = (recording: number, failing: number) =>
    evaluateCloudHealth({ instances: SOME, recordings: { recording, failing } });
  assert.equal(decide(1, 1).status, "degraded");
  assert.deepEqual(decide(1, 1).components["recording"], {
    status: "degraded",
    message: "1 of 2 boats cannot be recorded",
  });
  assert.equal(decide(0, 2).status, "unhealthy");
});

Deno.test("a part of the cloud that fails makes it as ill as it is itself", () => {
  for (const status of ["ok", "degraded", "unhealthy"] as const) {
    const others = { disk: { status, message: "as it is" } };
    const health = evaluateCloudHealth({ instances: SOME, recordings: { recording: 2, failing: 0 }, others });
    assert.equal(health.status, status);
    assert.deepEqual(health.components["disk"], others.disk);
  }
});
