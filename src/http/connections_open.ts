import type { Clock } from "../base/mod.ts";
import { CONNECTION_LIMITS, type ConnectionLimits, Connections } from "./connections.ts";

/** Settings of connections; what is left out is as in {@linkcode CONNECTION_LIMITS}. */
export type ConnectionOptions = {
  [Name in keyof ConnectionLimits]?: ConnectionLimits[Name] | undefined;
};

/** The other half is for journal and state files, and for connections that are being refused. */
const CONNECTIONS_PER_DESCRIPTOR = 0.5;
const MIN_CONNECTIONS = 16;
const ALL_PERMISSIONS = ["read", "write", "net", "env", "sys", "run", "ffi"] as const;

/**
 * The connections of a server. Without `maxConnections` half of the files that the process may open are for connections,
 * at most `most`; 4096 where that limit cannot be read, which takes all permissions.
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
  // Without all of them the runtime refuses to read what is below `/proc`, or asks the user.
  const mayRead = ALL_PERMISSIONS.every((name) => Deno.permissions.querySync({ name }).state === "granted");
  const text = mayRead ? await Deno.readTextFile("/proc/self/limits").catch(() => "") : "";
  const files = Number(/^Max open files +(\d+)/m.exec(text)?.[1] ?? NaN);
  if (Number.isNaN(files)) return CONNECTION_LIMITS.maxConnections;
  return Math.max(MIN_CONNECTIONS, Math.min(most, Math.floor(files * CONNECTIONS_PER_DESCRIPTOR)));
}
