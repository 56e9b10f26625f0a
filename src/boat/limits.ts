import type { Clock, Logger } from "../base/mod.ts";
import { DEFAULT_DEVICE_IDLE_TIMEOUT_MS, DEFAULT_MAX_VALUES, DEFAULT_RING_FRAMES } from "../broker/mod.ts";
import { DEFAULT_MAX_ASSEMBLIES } from "../can/mod.ts";
import { type AccessToken, DEFAULT_BODY_TIMEOUT_MS, DEFAULT_MAX_BODY_BYTES } from "../http/mod.ts";
import type { ConnectionOptions } from "../listen/mod.ts";
import { LINK_LIMITS, type LinkLimits } from "../replication/mod.ts";
import type { SessionLimits } from "../stream/mod.ts";
import type { SendRule } from "../transmit/mod.ts";

/** Options of every server that do not change while it runs. */
export interface ServerOptions extends ConnectionOptions {
  /** Most bytes that wait for one slow client; default 1 MiB. */
  streamBufferBytes?: number;
  /** Most bytes that wait for the clients of all streams; default 256 MiB. */
  streamMemoryBytes?: number;
  /** Longest body of a request, bytes; default 64 KiB. */
  maxBodyBytes?: number;
  /** Longest time that a body may take, milliseconds; default 30 s. */
  bodyTimeoutMs?: number;
  /** Default silent. */
  log?: Logger;
  /** Default the machine's. */
  clock?: Clock;
}

/** Limits of every server that may change while it runs. */
export interface ServerLimits {
  /** Tokens that may send requests; none (the default): everybody may. */
  tokens: readonly AccessToken[];
  /** Other origins whose pages may send and use sessions; default none. */
  allowOrigins: readonly string[];
  /** A device silent for longer is removed, milliseconds; 0 keeps all. Default 5 minutes. */
  deviceIdleTimeoutMs: number;
  /** Most open streams, of a cloud those of all boats together; default 1000, of a cloud 10 000. */
  maxStreams: number;
  /** Most frames of one answer of `/history`, default 1 000 000. */
  maxHistory: number;
  /** Most requests for `/history` answered at once, default 4. */
  maxHistoryRequests: number;
  /** Most sessions of clients of one boat, default 1000. */
  maxSessions: number;
  /** Most of these sessions of one token, or of one address where there are no tokens; default 100. */
  maxSessionsPerOwner: number;
  /** Longest time that a session is kept while its client is away, milliseconds; default 7 days. */
  maxBufferDurationMs: number;
}

/** Limits of a boat server that may change while it runs. */
export interface BoatLimits extends ServerLimits {
  /** Let clients send; default false. */
  sendEnabled: boolean;
  /** Let no client send, regardless of other settings; default false. */
  readOnly: boolean;
  /** What clients may send, see `decide`; none (the default): anything. */
  sendRules: readonly SendRule[];
  /** Messages a second that clients may send, all together; 0 (the default): no limit. */
  sendRateLimit: number;
  /** Messages at once, default 10. */
  sendRateBurst: number;
  /** Longest time that a query may wait, milliseconds; default a minute. */
  queryMaxTimeoutMs: number;
  /** Most queries under way, default 64. */
  maxQueries: number;
  /** Least time from one alert to the next of the same subject, milliseconds; default 5 minutes. */
  alertDedupWindowMs: number;
  /** A bus silent for longer raises an alert, milliseconds; undefined (the default): never. */
  busSilenceTimeoutMs: number | undefined;
  /** A bus silent for longer degrades health, milliseconds; undefined (the default): never. */
  busSilenceThresholdMs: number | undefined;
  /** When live replication reconnects because it is too far behind; default `LINK_LIMITS`. */
  replicationLimits: Readonly<LinkLimits>;
}

/** Defaults of every server. */
export const SERVER_DEFAULTS = {
  tokens: [],
  allowOrigins: [],
  deviceIdleTimeoutMs: DEFAULT_DEVICE_IDLE_TIMEOUT_MS,
  maxStreams: 1000,
  maxHistory: 1_000_000,
  maxHistoryRequests: 4,
  maxSessions: 1000,
  maxSessionsPerOwner: 100,
  /** A week. */
  maxBufferDurationMs: 7 * 86_400_000,
  ringFrames: DEFAULT_RING_FRAMES,
  maxValues: DEFAULT_MAX_VALUES,
  maxBodyBytes: DEFAULT_MAX_BODY_BYTES,
  bodyTimeoutMs: DEFAULT_BODY_TIMEOUT_MS,
  /** Some seconds of a full bus. */
  streamBufferBytes: 1024 * 1024,
} as const;

/** Defaults of a boat server. */
export const BOAT_DEFAULTS = {
  ...SERVER_DEFAULTS,
  /** Port on all addresses. */
  port: 8089,
  /** Upper bound of the default of `maxConnections`. */
  mostConnections: 4096,
  maxAssemblies: DEFAULT_MAX_ASSEMBLIES,
  sendEnabled: false,
  readOnly: false,
  sendRules: [],
  sendRateLimit: 0,
  sendRateBurst: 10,
  queryMaxTimeoutMs: 60_000,
  maxQueries: 64,
  alertDedupWindowMs: 5 * 60_000,
  busSilenceTimeoutMs: undefined,
  busSilenceThresholdMs: undefined,
  replicationLimits: LINK_LIMITS,
} as const;

/** The limits of sessions among those of a server. */
export function sessionLimitsOf(
  { maxSessions, maxSessionsPerOwner, maxBufferDurationMs }: Pick<
    ServerLimits,
    "maxSessions" | "maxSessionsPerOwner" | "maxBufferDurationMs"
  >,
): SessionLimits {
  return { maxSessions, maxSessionsPerOwner, maxTimeoutMs: maxBufferDurationMs };
}
