/** A program of the benchmark in a process of its own. */
export interface BenchProcess {
  pid: number;
  /** First line that it printed. */
  line: string;
  /** Ends it, by default at once. */
  stop: (signal?: Deno.Signal) => Promise<void>;
}

/** The flags with which the tasks run the servers: a small young generation keeps memory small. */
const RUN_FLAGS = ["run", "-A", "--no-check", "--v8-flags=--max-semi-space-size=4"];

/**
 * Starts `script` with all permissions and waits for its first line.
 *
 * @param options.under a command that runs another one in its own place, such as `taskset -c 1`
 */
export async function startProcess(
  script: string,
  args: string[],
  { under = [] }: { under?: readonly string[] } = {},
): Promise<BenchProcess> {
  const [program = "", ...rest] = [...under, Deno.execPath(), ...RUN_FLAGS];
  const child = new Deno.Command(program, {
    args: [...rest, new URL(script, import.meta.url).pathname, ...args],
    stdout: "piped",
  }).spawn();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`Cannot measure: "${script}" ended at once`);
    text += value;
  }
  const stop = async (signal: Deno.Signal = "SIGKILL") => {
    child.kill(signal);
    await reader.cancel();
    await child.status;
  };
  return { pid: child.pid, line: text.trim(), stop };
}

/** CPU time a process has used, user and system, milliseconds. */
export function cpuMs(pid: number): number {
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? [];
  const TICK_MS = 10;
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory of a process, megabytes. */
export function rssMb(pid: number): number {
  const kb = /VmRSS:\s+(\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/status`))?.[1];
  return Number(kb) / 1024;
}

/** Waits. */
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
