import { loadAddon } from "../../src/can/socketcan/addon.ts";
import { allowed, IS_FULL, needs } from "./needs.ts";

/**
 * What tests of the second CAN driver need besides what tests of a bus need. They run in full size only, where the
 * package must be there: `npm install -g socketcan@4.3.1`, which builds it.
 */
export function addonNeeds(bus: { ignore: boolean }): { ignore: boolean } {
  if (!IS_FULL) return needs({ extras: { "VBG_TEST_FULL=1": false } });
  return bus.ignore ? bus : needs({ others: { 'npm package "socketcan"': isInstalled() } });
}

function isInstalled(): boolean {
  if (!allowed("ffi") || !allowed("read")) return false;
  try {
    loadAddon();
    return true;
  } catch {
    return false;
  }
}
