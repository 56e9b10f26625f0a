import assert from "node:assert/strict";
import type { LimitInForce } from "../../src/http/mod.ts";
import { TestBoat } from "../support/boat.ts";
import { eventually } from "../support/eventually.ts";

Deno.test("alerts are listed newest first, without what is for receivers alone", async () => {
  await using boat = await TestBoat.start({
    busSilenceTimeoutMs: 500,
    alertDedupWindowMs: 0,
    alerts: { instanceId: "sea-otter" },
  });
  boat.say();
  const [alert] = await eventually("the alert", async () => {
    const alerts = await boat.get<Record<string, string>[]>("/alerts");
    return alerts.length > 0 && alerts;
  });
  assert.deepEqual(Object.keys(alert ?? {}), ["timestamp", "type", "severity", "summary", "subject"]);
  assert.deepEqual([alert?.type, alert?.subject], ["bus_silence", "bus:can0:silence"]);
  await eventually("the end of the silence on top", async () => {
    boat.say();
    const [newest] = await boat.get<Record<string, string>[]>("/alerts");
    return newest?.severity === "info";
  });
});

Deno.test("limits are those that the program tells at that time", async () => {
  const limits: LimitInForce[] = [{ name: "max-streams", value: "7", beyond: "503" }];
  await using boat = await TestBoat.start({ limitsInForce: () => limits });
  assert.deepEqual(await boat.get("/limits"), limits);
  limits.push({ name: "ring-size", value: "64", beyond: "The oldest frame leaves it." });
  assert.deepEqual(await boat.get("/limits"), limits);
});
