/** Divisor of the machine's memory for the default. */
const PART = 16;
/** Lower bound of the default. */
export const MIN_STREAM_MEMORY_BYTES = 32 * 2 ** 20;
const MAX_DEFAULT_BYTES = 2 ** 30;
/** Memory limits of control groups: version 2, version 1. Absent outside of a control group. */
const CGROUP_LIMITS = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/** The default of `-stream-memory`, bytes: a sixteenth of the memory of the machine or its control group. */
export function defaultStreamMemory(): number {
  return streamMemoryOf([machineBytes(), ...CGROUP_LIMITS.map(readLimit)]);
}

/** A sixteenth of the least of these amounts within 32 MiB and 1 GiB, in whole MiB; unknown ones are undefined. */
export function streamMemoryOf(amounts: readonly (number | undefined)[]): number {
  const known = amounts.filter((bytes) => bytes !== undefined);
  const part = Math.min(...known) / PART;
  const bytes = Math.min(MAX_DEFAULT_BYTES, Math.max(MIN_STREAM_MEMORY_BYTES, Number.isFinite(part) ? part : 0));
  return Math.floor(bytes / 2 ** 20) * 2 ** 20;
}

function machineBytes(): number | undefined {
  try {
    return Deno.systemMemoryInfo().total;
  } catch {
    // Not permitted, or not supported here.
    return undefined;
  }
}

function readLimit(path: string): number | undefined {
  try {
    const text = Deno.readTextFileSync(path).trim();
    return /^\d+$/.test(text) ? Number(text) : undefined;
  } catch {
    // No such control group, or no permission to read it.
    return undefined;
  }
}
