import assert from "node:assert/strict";
import { evaluateCloudHealth } from "../../src/http/cloud/health.ts";

/** Open boats: the first ones are recorded, the others fail; and one that is closed. */
function boats(recording: number, failing: number) {
  const boat = { id: "boat", record: { vanished: [] }, former: { isRefused: false }, refusedMachine: undefined };
  const open = { ...boat, connected: true, isOpen: true };
  return [
    ...Array.from({ length: recording }, () => ({ ...open, recording: { kind: "recording" as const } })),
    ...Array.from({ length: failing }, () => ({ ...open, recording: { kind: "failing" as const, reason: "full" } })),
    { ...boat, connected: false, isOpen: false, recording: { kind: "idle" as const } },
  ];
}

Deno.test("a cloud is well while every boat that is here is recorded, and with no boat at all", () => {
  assert.deepEqual(evaluateCloudHealth({ instances: boats(2, 0) }), {
    status: "ok",
    instances_total: 3,
    instances_connected: 2,
    components: { recording: { status: "ok" }, storage: { status: "ok" } },
  });
  const empty = evaluateCloudHealth({ instances: [] });
  assert.equal(empty.status, "ok");
});

Deno.test("boats that cannot be recorded degrade a cloud, and when none can be it is unhealthy; none is named", () => {
  const decide = (recording: number, failing: number) => evaluateCloudHealth({ instances: boats(recording, failing) });
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
    const health = evaluateCloudHealth({ instances: boats(2, 0), others });
    assert.equal(health.status, status);
    assert.deepEqual(health.components["disk"], others.disk);
  }
});
