import type { Clock } from "../base/mod.ts";
import { CONNECTION_LIMITS, type ConnectionLimits, Connections } from "./connections.ts";

/** Connection settings; defaults in {@linkcode CONNECTION_LIMITS}. */
export type ConnectionOptions = {
  [Name in keyof ConnectionLimits]?: ConnectionLimits[Name] | undefined;
};

/** The other half is for journal and state files and for connections being refused. */
const CONNECTIONS_PER_DESCRIPTOR = 0.5;
const MIN_CONNECTIONS = 16;

/**
 * Creates the connections of a server. The default of `maxConnections` is half of the process's file descriptor limit, at
 * most `most`; 4096 if the limit cannot be read.
 *
 * @throws {RangeError} a trusted proxy is neither an address nor a network
 */
export async function openConnections(
  options: ConnectionOptions,
  { most, clock }: { most: number; clock: Clock },
): Promise<Connections> {
  return new Connections({
    maxConnections: options.maxConnections ?? await defaultMaxConnections(most),
    maxHandshakes: options.maxHandshakes ?? CONNECTION_LIMITS.maxHandshakes,
    maxHandshakesPerAddress: options.maxHandshakesPerAddress ?? CONNECTION_LIMITS.maxHandshakesPerAddress,
    handshakeTimeoutMs: options.handshakeTimeoutMs ?? CONNECTION_LIMITS.handshakeTimeoutMs,
    connectionIdleTimeoutMs: options.connectionIdleTimeoutMs ?? CONNECTION_LIMITS.connectionIdleTimeoutMs,
    trustedProxies: options.trustedProxies ?? CONNECTION_LIMITS.trustedProxies,
  }, { clock });
}

async function defaultMaxConnections(most: number): Promise<number> {
  const files = await openFilesLimit();
  if (Number.isNaN(files)) return CONNECTION_LIMITS.maxConnections;
  return Math.max(MIN_CONNECTIONS, Math.min(most, Math.floor(files * CONNECTIONS_PER_DESCRIPTOR)));
}

/**
 * The file descriptor limit of the process; NaN if unknown. Read from a child shell, which inherits the limit: `/proc`
 * would need all permissions of the runtime.
 */
async function openFilesLimit(): Promise<number> {
  if (Deno.permissions.querySync({ name: "run" }).state !== "granted") return NaN;
  try {
    const { stdout } = await new Deno.Command("sh", { args: ["-c", "ulimit -n"], stderr: "null" }).output();
    return Number.parseInt(new TextDecoder().decode(stdout));
  } catch {
    return NaN;
  }
}
