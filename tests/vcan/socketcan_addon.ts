import { createBus, LoopbackBus, SocketCanBus } from "../../src/can/mod.ts";
import { systemClock } from "../../src/base/mod.ts";
import { loadAddon, SocketCanAddonBus } from "../../src/can/socketcan_addon.ts";
import assert from "node:assert/strict";
import { canBusSuite } from "../contract/can_bus.ts";
import { allowed, needs } from "../support/needs.ts";

const options = needs({
  permissions: ["ffi", "read", "env"],
  programs: ["ip", "tc", "cansend"],
  others: { 'npm package "socketcan"': isInstalled() },
});

canBusSuite("SocketCanAddonBus", { create: (name) => new SocketCanAddonBus(name), hasInterfaces: true, options });

Deno.test("createBus makes the bus of each driver", options, async () => {
  const parts = { clock: systemClock };
  assert.ok(await createBus("vcan0", { driver: "ffi", ...parts }) instanceof SocketCanBus);
  assert.ok(await createBus("vcan0", { driver: "socketcan", ...parts }) instanceof SocketCanAddonBus);
  assert.ok(await createBus("vcan0", { driver: "loopback", ...parts }) instanceof LoopbackBus);
});

function isInstalled(): boolean {
  if (!allowed("ffi") || !allowed("read")) return false;
  try {
    loadAddon();
    return true;
  } catch {
    return false;
  }
}
