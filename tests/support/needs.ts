import { delimiter, join } from "node:path";

/** A permission that a test cannot do without. */
export type NeededPermission = "env" | "ffi" | "net" | "read" | "run" | "sys" | "write";

/** What a test cannot do without. */
export interface Needs {
  /** Deno permissions, in full (`--allow-run`, not `--allow-run=git`). */
  permissions?: NeededPermission[];
  /** Programs that must be on PATH. They imply `run` and `read`. */
  programs?: string[];
  /** Anything else, by the name to tell it by, and whether it is there. */
  others?: Record<string, boolean>;
  /** The same of what is no part of the repository: without it a test is skipped even where everything is required. */
  extras?: Record<string, boolean>;
}

/** Value of VBG_TEST_REQUIRE that makes a test that cannot run a failure; for CI, where everything is installed. */
const REQUIRE_ALL = "all";
/** Where programs are when PATH may not be read. */
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const told = new Set<string>();

/**
 * Options for `Deno.test` that skip a test where it cannot run, and say so in one line. With `VBG_TEST_REQUIRE=all` in
 * the environment, what is missing is a failed test instead. Safe under `deno test --allow-net` alone: looks for a
 * permission before using it.
 *
 * @example
 * ```ts
 * Deno.test("candump hears us", needs({ permissions: ["ffi"], programs: ["candump"] }), async () => {});
 * Deno.test({ name: "same", ...needs({ programs: ["candump"] }), fn: async () => {} });
 * ```
 */
export function needs({ permissions = [], programs = [], others = {}, extras = {} }: Needs): { ignore: boolean } {
  const missing = findMissing({ permissions, programs });
  for (const [name, pathExists] of Object.entries(others)) if (!pathExists) missing.push(name);
  const isRequired = missing.length > 0;
  for (const [name, pathExists] of Object.entries(extras)) if (!pathExists) missing.push(name);
  if (missing.length === 0) return { ignore: false };
  const reason = missing.join(", ");
  if (told.has(reason)) return { ignore: true };
  told.add(reason);
  if (isRequired && environment("VBG_TEST_REQUIRE") === REQUIRE_ALL) {
    Deno.test(`VBG_TEST_REQUIRE=all: nothing is missing that tests of this file need`, () => {
      throw new Error(`Cannot run all tests: missing ${reason}`);
    });
  } else {
    // deno-lint-ignore no-console -- the reason belongs beside "ignored" in the test report
    console.log(`skipping tests: missing ${reason}`);
  }
  return { ignore: true };
}

/** Whether the whole permission is granted. */
export function allowed(name: NeededPermission): boolean {
  return Deno.permissions.querySync({ name }).state === "granted";
}

/** An environment variable, or nothing when it may not be read. */
export function environment(variable: string): string | undefined {
  if (Deno.permissions.querySync({ name: "env", variable }).state !== "granted") return undefined;
  return Deno.env.get(variable);
}

/** Full path of a program, or nothing when PATH does not have it. Needs permission `read`. */
export function findProgram(name: string): string | undefined {
  for (const folder of (environment("PATH") ?? DEFAULT_PATH).split(delimiter)) {
    const path = join(folder, name);
    try {
      if (Deno.statSync(path).isFile) return path;
    } catch {
      // Not in this folder.
    }
  }
  return undefined;
}

function findMissing({ permissions, programs }: { permissions: NeededPermission[]; programs: string[] }): string[] {
  const wanted = new Set(permissions);
  if (programs.length > 0) wanted.add("run").add("read");
  const missing = [...wanted].filter((name) => !allowed(name)).map((name) => `--allow-${name}`);
  if (!allowed("read")) return missing;
  return [...missing, ...programs.filter((name) => !findProgram(name)).map((name) => `program "${name}"`)];
}

/** Whether tests run in their full size: `VBG_TEST_FULL=1`. */
export const IS_FULL: boolean = environment("VBG_TEST_FULL") === "1";

/** `extras` of tests that take minutes of a core: CI gives their files a run of their own, with `VBG_TEST_SLOW=1`. */
export const SLOW: Record<string, boolean> = { "VBG_TEST_SLOW=1": IS_FULL || environment("VBG_TEST_SLOW") === "1" };

/**
 * How many rounds of a long test to run: all of them in full size, otherwise as many as every day; of those a tenth
 * where only the network is allowed, where it runs again.
 */
export function rounds(all: number, everyDay: number = all): number {
  const count = IS_FULL ? all : everyDay;
  return allowed("read") ? count : Math.ceil(count / 10);
}
