import { createBus, LoopbackBus, SocketCanBus } from "../../src/can/mod.ts";
import { systemClock } from "../../src/base/mod.ts";
import { SocketCanAddonBus } from "../../src/can/socketcan/addon.ts";
import assert from "node:assert/strict";
import { canBusSuite } from "../contract/can_bus.ts";
import { ADDON } from "../support/addon.ts";
import { needs } from "../support/needs.ts";

const options = needs({
  permissions: ["ffi", "read", "env"],
  programs: ["ip", "tc", "cansend"],
  others: ADDON,
});

canBusSuite("SocketCanAddonBus", { create: (name) => new SocketCanAddonBus(name), hasInterfaces: true, options });

Deno.test("createBus makes the bus of each driver", options, async () => {
  const parts = { clock: systemClock };
  assert.ok(await createBus("vcan0", { driver: "ffi", ...parts }) instanceof SocketCanBus);
  assert.ok(await createBus("vcan0", { driver: "socketcan", ...parts }) instanceof SocketCanAddonBus);
  assert.ok(await createBus("vcan0", { driver: "loopback", ...parts }) instanceof LoopbackBus);
});
