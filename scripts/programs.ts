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

/** Fewer, larger collections: frames come in one after the other, and what they leave behind is short-lived. */
const MANY_FRAMES = ["--v8-flags=--max-semi-space-size=4"];

/** Everything that is handed out, by the names that people type. */
export const PROGRAMS: readonly HandedOut[] = [
  { name: "vbg-boat", file: "main_boat.ts", permissions: PERMISSIONS.boat, runtimeFlags: MANY_FRAMES, isServer: true },
  { name: "vbg-cloud", file: "main_cloud.ts", permissions: PERMISSIONS.cloud, runtimeFlags: [], isServer: true },
  { name: "vbg", file: "main.ts", permissions: PERMISSIONS.vbg, runtimeFlags: [], isServer: false },
];
