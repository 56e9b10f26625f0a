import assert from "node:assert/strict";
import { pause, silentLogger } from "../../src/base/mod.ts";
import { CONNECTION_LIMITS, Connections } from "../../src/listen/connections.ts";
import { openPortListener } from "../../src/listen/listener.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { needs, SLOW } from "../support/needs.ts";

const HELD = needs({ permissions: ["net"], extras: SLOW });

/** Holds the event loop. */
function hold(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

Deno.test("a port whose process is held again and again is not taken for one that does not accept", HELD, async () => {
  const connections = new Connections({ ...CONNECTION_LIMITS }, { clock: new FakeClock() });
  const address = { hostname: "127.0.0.1", port: 0 };
  const accept = () => {};
  const listener = await openPortListener(address, { connections, log: silentLogger, accept });
  // Each turn of its event loop takes longer than a probe may on an idle machine.
  for (let turn = 0; turn < 5; turn++) {
    hold(2500);
    await pause(0);
  }
  assert.equal(connections.acceptErrors, 0);
  listener.close();
});
