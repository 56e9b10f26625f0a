import { createBus, LoopbackBus, SocketCanBus } from "../../src/can/mod.ts";
import { systemClock } from "../../src/base/mod.ts";
import { SocketCanAddonBus } from "../../src/can/socketcan/addon.ts";
import assert from "node:assert/strict";
import { canBusSuite } from "../contract/can_bus.ts";
import { ADDON } from "../support/addon.ts";
import { IS_FULL, needs } from "../support/needs.ts";

const options = needs({
  permissions: ["ffi", "read", "env"],
  programs: ["ip", "tc", "cansend"],
  others: ADDON,
});

/** Every day the addon serves a boat in `boat.ts`; all that is asked of a bus takes minutes under emulation. */
const inFull = IS_FULL ? options : needs({ extras: { "VBG_TEST_FULL=1": false } });

canBusSuite("SocketCanAddonBus", {
  create: (name) => new SocketCanAddonBus(name),
  hasInterfaces: true,
  options: inFull,
});

Deno.test("createBus makes the bus of each driver", options, async () => {
  const parts = { clock: systemClock };
  assert.ok(await createBus("vcan0", { driver: "ffi", ...parts }) instanceof SocketCanBus);
  assert.ok(await createBus("vcan0", { driver: "socketcan", ...parts }) instanceof SocketCanAddonBus);
  assert.ok(await createBus("vcan0", { driver: "loopback", ...parts }) instanceof LoopbackBus);
});
