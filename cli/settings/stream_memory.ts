/** The default is this part of the machine's memory … */
const PART = 16;
/** … within these bounds. */
export const MIN_STREAM_MEMORY_BYTES = 32 * 2 ** 20;
const MAX_DEFAULT_BYTES = 2 ** 30;
/** Memory that a control group may use: version 2, version 1. Absent outside of one. */
const CGROUP_LIMITS = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/** The default of `-stream-memory`, bytes: a sixteenth of what the machine, or its control group, has. */
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
    // No such control group, or it must not be read.
    return undefined;
  }
}
