import type { ConnectionOptions, ServerLimits, ServerOptions } from "@vessel/gateway";
import type { ConnectionSettings } from "./connection_options.ts";
import { pick } from "./options.ts";

/** Limits that every server reads from settings of the same name. */
type CommonLimits = Omit<ServerLimits, "tokens">;
/** Options that every server reads from settings of the same name. */
type CommonOptions = Required<Omit<ServerOptions, keyof ConnectionOptions | "log" | "clock">>;

/** The limits that every server has in common. */
export function serverLimits(settings: CommonLimits): CommonLimits {
  return pick(settings, [
    ...(["allowOrigins", "deviceIdleTimeoutMs", "maxStreams", "maxHistory", "maxHistoryRequests"] as const),
    ...(["maxSessions", "maxSessionsPerOwner", "maxBufferDurationMs"] as const),
  ]);
}

/** The other options that every server has in common. */
export function serverOptionsOf(
  settings: CommonOptions & ConnectionSettings,
): CommonOptions & Required<ConnectionOptions> {
  return pick(settings, [
    ...(["streamBufferBytes", "streamMemoryBytes", "maxBodyBytes", "bodyTimeoutMs", "maxConnections"] as const),
    ...(["maxHandshakes", "maxHandshakesPerAddress", "handshakeTimeoutMs", "connectionIdleTimeoutMs"] as const),
    "trustedProxies",
  ]);
}
