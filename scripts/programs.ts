import { PERMISSIONS } from "../cli/program/permissions.ts";

/** One of the programs that are handed out. */
export interface HandedOut {
  /** What it is called. */
  name: string;
  /** Its file in `cli`. Nothing imports it: in a bundle, what several import has no main module. */
  file: string;
  /** Flags by which the runtime grants it its permissions. */
  permissions: readonly string[];
  /** Other flags for the runtime, in front of the program. */
  runtimeFlags: readonly string[];
  /** The client runs everywhere; the servers where CAN buses and certificates are looked after: on Linux. */
  isServer: boolean;
}

/** A small young generation keeps memory small: frames come one after the other, and their garbage is short-lived. */
const SMALL_MEMORY = ["--v8-flags=--max-semi-space-size=4"];

/** Everything that is handed out, by the names that people type. */
export const PROGRAMS: readonly HandedOut[] = [
  { name: "vbg-boat", file: "main_boat.ts", permissions: PERMISSIONS.boat, runtimeFlags: SMALL_MEMORY, isServer: true },
  {
    name: "vbg-cloud",
    file: "main_cloud.ts",
    permissions: PERMISSIONS.cloud,
    runtimeFlags: SMALL_MEMORY,
    isServer: true,
  },
  { name: "vbg", file: "main.ts", permissions: PERMISSIONS.vbg, runtimeFlags: SMALL_MEMORY, isServer: false },
];
