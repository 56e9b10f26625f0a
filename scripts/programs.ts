import { PERMISSIONS } from "../cli/program/permissions.ts";

/** A released program. */
export interface Program {
  /** Name of the command. */
  name: string;
  /** File in `cli`. Not imported by others: the bundler makes no main module of an imported file. */
  file: string;
  /** Permission flags of the runtime. */
  permissions: readonly string[];
  /** Other flags of the runtime. */
  runtimeFlags: readonly string[];
  /** Servers are released for Linux only. */
  isServer: boolean;
}

/** Size of the young generation, MB: small, because most objects of a frame are short-lived. */
const SMALL_MEMORY = ["--v8-flags=--max-semi-space-size=4"];
/** The old generation doubles before it is collected: with many boats it would take more, and more often would cost more. */
const MANY_BOATS = ["--v8-flags=--max-semi-space-size=16,--heap-growing-percent=100"];

/** All released programs. */
export const PROGRAMS: readonly Program[] = [
  { name: "vbg-boat", file: "main_boat.ts", permissions: PERMISSIONS.boat, runtimeFlags: SMALL_MEMORY, isServer: true },
  {
    name: "vbg-cloud",
    file: "main_cloud.ts",
    permissions: PERMISSIONS.cloud,
    runtimeFlags: MANY_BOATS,
    isServer: true,
  },
  { name: "vbg", file: "main.ts", permissions: PERMISSIONS.vbg, runtimeFlags: SMALL_MEMORY, isServer: false },
];
