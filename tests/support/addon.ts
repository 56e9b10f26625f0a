import { loadAddon } from "../../src/can/socketcan/addon.ts";
import { allowed } from "./needs.ts";

/** What tests of the second CAN driver need besides a bus; for `needs`. */
export const ADDON: Record<string, boolean> = { 'npm package "socketcan"': isInstalled() };

function isInstalled(): boolean {
  if (!allowed("ffi") || !allowed("read")) return false;
  try {
    loadAddon();
    return true;
  } catch {
    return false;
  }
}
