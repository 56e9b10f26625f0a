import { ARCHITECTURES, fetchRuntime } from "../../scripts/runtime.ts";
import { fileURLToPath } from "node:url";
import { environment, findProgram, type Needs } from "./needs.ts";

const EMULATOR = "qemu-aarch64-static";
/** The C library for arm64: Debian's `libc6-arm64-cross` and `libgcc-s1-arm64-cross`. */
const LIBRARIES = "/usr/aarch64-linux-gnu";
/** Where Denos that were fetched are kept. */
export const RUNTIMES: string = fileURLToPath(new URL("../../dist/runtime", import.meta.url));

/** Its own: Denos of two versions throw away what the other has compiled, and to compile anew takes the longest of a start. */
const CACHE = `${RUNTIMES}/cache-arm64`;

/** A Deno for arm64 and how to run it here. */
export interface Emulated {
  /** Path of the program for arm64. */
  deno: string;
  /** Target that it names as its own. */
  target: string;
  /** Command that runs it. */
  command: readonly string[];
}

/** Gets what emulation takes, where tests of full size are asked for; undefined where something is missing. */
export async function findEmulated(): Promise<Emulated | undefined> {
  if (environment("VBG_TEST_FULL") !== "1" || !hasLibraries() || !findProgram(EMULATOR)) return undefined;
  try {
    const deno = await fetchRuntime("arm64", RUNTIMES);
    return {
      deno,
      target: ARCHITECTURES.arm64.target,
      command: [EMULATOR, "-E", `DENO_DIR=${CACHE}`, "-L", LIBRARIES, deno],
    };
  } catch {
    return undefined;
  }
}

/** What tests under emulation need, each by its name. */
export function emulationNeeds(emulated: Emulated | undefined): Needs {
  if (environment("VBG_TEST_FULL") !== "1") return { extras: { "VBG_TEST_FULL=1": false } };
  return {
    permissions: ["env", "net", "read", "run", "write"],
    programs: [EMULATOR, "npm"],
    extras: {
      "packages libc6-arm64-cross and libgcc-s1-arm64-cross": hasLibraries(),
      "the arm64 Deno from npm": emulated !== undefined,
    },
  };
}

/** Puts a command that runs an arm64 program in the program's place, where this kernel runs no arm64 program itself. */
export async function emulateInPlace(path: string): Promise<void> {
  await Deno.rename(path, `${path}.arm64`);
  await Deno.writeTextFile(path, `#!/bin/sh\nexec ${EMULATOR} -L ${LIBRARIES} "$0.arm64" "$@"\n`, { mode: 0o755 });
}

function hasLibraries(): boolean {
  try {
    return Deno.statSync(`${LIBRARIES}/lib/libgcc_s.so.1`).isFile;
  } catch {
    return false;
  }
}
