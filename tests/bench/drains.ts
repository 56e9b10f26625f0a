import { constants, setPriority } from "node:os";
import { cpuMs, startProcess } from "./process.ts";

/** What clients of event streams have received since the last call. */
export interface Drained {
  bytes: number;
  /** By the client that got least. All of them want the same frames, so this is near the mean where none is missing. */
  fewest: number;
  /** Streams that the server has ended. */
  ended: number;
}

/** Clients of event streams, in a process of their own, that count bytes and throw them away. */
export interface Drains {
  open(count: number): Promise<void>;
  take(): Promise<Drained>;
  /** CPU time that they have used, milliseconds. */
  cpuMs(): number;
  close(): Promise<void>;
}

/**
 * Starts without streams.
 *
 * @param options.path path and query of the stream; default `/events`. One below `/signalk` is a WebSocket
 * @param options.isElsewhere they take as little of this machine as can be, like clients elsewhere on the network: the
 * kernel drops the bytes, and the process runs when nobody else wants the core
 */
export async function startDrains(
  port: number,
  { path = "/events", isElsewhere = false }: { path?: string; isElsewhere?: boolean } = {},
): Promise<Drains> {
  const { line, pid, stop } = await startProcess("drains_program.ts", [`${port}`, path, `${isElsewhere}`]);
  if (isElsewhere) setPriority(pid, constants.priority.PRIORITY_LOW);
  const order = async (path: string): Promise<Drained> =>
    await (await fetch(`http://127.0.0.1:${line}/${path}`)).json();
  return {
    open: async (count) => void await order(`open/${count}`),
    take: () => order("take"),
    cpuMs: () => cpuMs(pid),
    close: stop,
  };
}
