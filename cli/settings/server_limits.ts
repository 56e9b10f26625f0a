import type { ConnectionOptions, ServerLimits, ServerOptions } from "@vessel/gateway/boat";
import type { ConnectionSettings } from "./connection_options.ts";

/** Limits that every server reads from settings of the same name. */
type CommonLimits = Omit<ServerLimits, "tokens">;
/** Options that every server reads from settings of the same name. */
type CommonOptions = Required<Omit<ServerOptions, keyof ConnectionOptions | "log" | "clock">>;

/** The limits that every server has in common. */
export function serverLimits(settings: CommonLimits): CommonLimits {
  return {
    allowOrigins: settings.allowOrigins,
    deviceIdleTimeoutMs: settings.deviceIdleTimeoutMs,
    maxStreams: settings.maxStreams,
    maxHistory: settings.maxHistory,
    maxHistoryRequests: settings.maxHistoryRequests,
    maxSessions: settings.maxSessions,
    maxSessionsPerOwner: settings.maxSessionsPerOwner,
    maxBufferDurationMs: settings.maxBufferDurationMs,
  };
}

/** The other options that every server has in common. */
export function serverOptionsOf(
  settings: CommonOptions & ConnectionSettings,
): CommonOptions & Required<ConnectionOptions> {
  return {
    streamBufferBytes: settings.streamBufferBytes,
    streamMemoryBytes: settings.streamMemoryBytes,
    maxBodyBytes: settings.maxBodyBytes,
    bodyTimeoutMs: settings.bodyTimeoutMs,
    maxConnections: settings.maxConnections,
    maxHandshakes: settings.maxHandshakes,
    maxHandshakesPerAddress: settings.maxHandshakesPerAddress,
    handshakeTimeoutMs: settings.handshakeTimeoutMs,
    connectionIdleTimeoutMs: settings.connectionIdleTimeoutMs,
    trustedProxies: settings.trustedProxies,
  };
}
