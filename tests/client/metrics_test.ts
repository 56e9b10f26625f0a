import assert from "node:assert/strict";
import { parseMetrics } from "../../src/client/metrics.ts";

Deno.test("figures are read with their labels, whatever stands in these", () => {
  const text = `# HELP vbg_devices Devices
# TYPE vbg_devices gauge
vbg_devices 14
vbg_bus_state{bus="a\\"},b\\\\",state="down"} 0
vbg_lag +Inf
`;
  assert.deepEqual(parseMetrics(text), [
    { name: "vbg_devices", labels: {}, value: 14 },
    { name: "vbg_bus_state", labels: { bus: 'a"},b\\', state: "down" }, value: 0 },
    { name: "vbg_lag", labels: {}, value: Infinity },
  ]);
});
