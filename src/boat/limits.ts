import type { AccessToken } from "../http/mod.ts";
import type { SendRule } from "../transmit/mod.ts";
import type { LinkLimits } from "../replication/mod.ts";

/** Settings of a boat server that may change while it runs. */
export interface BoatLimits {
  /** Let clients send; default false. */
  sendEnabled: boolean;
  /** Let no client send, whatever else is set; default false. */
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
  /** Who may ask; none (the default): everybody. */
  tokens: readonly AccessToken[];
  /** Other origins whose pages may send and use sessions; default none. */
  allowOrigins: readonly string[];
  /** So long after an alert there is no other of the same subject, milliseconds; default 5 minutes. */
  alertDedupWindowMs: number;
  /** A bus that is silent for so long is an alert, milliseconds; undefined (the default): never. */
  busSilenceTimeoutMs: number | undefined;
  /** A device that says nothing for so long is removed, milliseconds; 0 keeps all. Default 5 minutes. */
  deviceIdleTimeoutMs: number;
  /** A bus that is silent for so long degrades health, milliseconds; undefined (the default) never does. */
  busSilenceThresholdMs: number | undefined;
  /** Most open streams, default 1000. */
  maxStreams: number;
  /** Most frames of one answer of `/history`, default 1 000 000. */
  maxHistory: number;
  /** Most requests for `/history` answered at once, default 4. */
  maxHistoryRequests: number;
  /** Most sessions of clients, default 1000. */
  maxSessions: number;
  /** Most sessions of one token, or of one address where there are no tokens; default 100. */
  maxSessionsPerOwner: number;
  /** Longest time that a session is kept while its client is away, milliseconds; default 7 days. */
  maxBufferDurationMs: number;
  /** When live replication reconnects because it is too far behind; default `LINK_LIMITS`. */
  replicationLimits: Readonly<LinkLimits>;
}
