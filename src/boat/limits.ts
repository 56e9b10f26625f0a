import type { Clock, Logger } from "../base/mod.ts";
import { DEFAULT_BLACKBOX_BYTES } from "../blackbox/mod.ts";
import { DEFAULT_DEVICE_IDLE_TIMEOUT_MS, DEFAULT_MAX_VALUES, DEFAULT_RING_FRAMES } from "../broker/mod.ts";
import { DEFAULT_MAX_ASSEMBLIES } from "../can/mod.ts";
import { type AccessToken, DEFAULT_BODY_TIMEOUT_MS, DEFAULT_MAX_BODY_BYTES, SERIES_DEFAULTS } from "../http/mod.ts";
import type { ConnectionOptions } from "../listen/mod.ts";
import { LINK_LIMITS, type LinkLimits } from "../replication/mod.ts";
import type { PreferredSources } from "../quantities/mod.ts";
import { DEFAULT_SERIES_PGNS } from "../series/mod.ts";
import { DEFAULT_SOURCE_HISTORY_BYTES, type SessionLimits } from "../stream/mod.ts";
import type { SendRule } from "../transmit/mod.ts";

/** Options of every server that do not change while it runs. */
export interface ServerOptions extends ConnectionOptions {
  /** Maximum buffer for one slow client, bytes; default 1 MiB. */
  streamBufferBytes?: number;
  /** Maximum buffer for the clients of all streams, bytes; default 256 MiB. */
  streamMemoryBytes?: number;
  /** Longest request body, bytes; default 64 KiB. */
  maxBodyBytes?: number;
  /** Timeout for receiving a request body, milliseconds; default 30 s. */
  bodyTimeoutMs?: number;
  /** PGNs whose series are kept in sidecars of the journal; none: no sidecars. Default `DEFAULT_SERIES_PGNS`. */
  seriesPgns?: readonly number[];
  /** Default: no logging. */
  log?: Logger;
  /** Default: the system's clocks. */
  clock?: Clock;
}

/** Limits of every server that may change while it runs. */
export interface ServerLimits {
  /** Tokens that authorize requests; default none: every request is authorized. */
  tokens: readonly AccessToken[];
  /** Other origins whose pages may send and use sessions; default none. */
  allowOrigins: readonly string[];
  /** Time after which a silent device is removed, milliseconds; 0: never. Default 5 minutes. */
  deviceIdleTimeoutMs: number;
  /** Maximum number of open streams, in a cloud of all boats together; default 1000, in a cloud 10 000. */
  maxStreams: number;
  /** Maximum number of frames in one response of `/history`; default 1 000 000. */
  maxHistory: number;
  /** Maximum number of concurrent `/history` and `/series` requests; default 4. */
  maxHistoryRequests: number;
  /** Maximum number of points of a series in a response of `/series`; default 10 000. */
  maxSeriesPoints: number;
  /** Maximum number of frames that a `/series` request may read; default 20 000 000. */
  maxSeriesScan: number;
  /** Maximum number of client sessions of one boat; default 1000. */
  maxSessions: number;
  /** Maximum number of these sessions per token, or per address if there are no tokens; default 100. */
  maxSessionsPerOwner: number;
  /** Time after which a session without a connected client expires, milliseconds; default 7 days. */
  maxBufferDurationMs: number;
}

/** Limits of a boat server that may change while it runs. */
export interface BoatLimits extends ServerLimits {
  /** Allows clients to send; default false. */
  sendEnabled: boolean;
  /** Forbids sending, regardless of other settings; default false. */
  readOnly: boolean;
  /** Rules for the messages of clients, see `decide`; default none: everything is allowed. */
  sendRules: readonly SendRule[];
  /** Maximum rate of all clients' messages, per second; default 0: no limit. */
  sendRateLimit: number;
  /** Maximum burst of messages; default 10. */
  sendRateBurst: number;
  /** Longest timeout of a query, milliseconds; default 1 minute. */
  queryMaxTimeoutMs: number;
  /** Maximum number of concurrent queries; default 64. */
  maxQueries: number;
  /** Shortest interval between alerts of the same subject, milliseconds; default 5 minutes. */
  alertDedupWindowMs: number;
  /** Silence of a bus that raises an alert, milliseconds; default undefined: never. */
  busSilenceTimeoutMs: number | undefined;
  /** Silence of a bus that degrades health, milliseconds; default undefined: never. */
  busSilenceThresholdMs: number | undefined;
  /** NAME of the preferred device by quantity; default none: the first that was heard. */
  preferredSources: PreferredSources;
  /** Backlog at which live replication reconnects; default `LINK_LIMITS`. */
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
  ...SERIES_DEFAULTS,
  seriesPgns: DEFAULT_SERIES_PGNS,
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

const NO_PREFERRED_SOURCES: PreferredSources = new Map();

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
  sourceHistoryBytes: DEFAULT_SOURCE_HISTORY_BYTES,
  blackBoxBytes: DEFAULT_BLACKBOX_BYTES,
  preferredSources: NO_PREFERRED_SOURCES,
  replicationLimits: LINK_LIMITS,
} as const;

/** Session limits of a server. */
export function sessionLimitsOf(
  { maxSessions, maxSessionsPerOwner, maxBufferDurationMs }: Pick<
    ServerLimits,
    "maxSessions" | "maxSessionsPerOwner" | "maxBufferDurationMs"
  >,
): SessionLimits {
  return { maxSessions, maxSessionsPerOwner, maxTimeoutMs: maxBufferDurationMs };
}
