import process from "node:process";
import type { StallDetector } from "../../base/mod.ts";
import type { SessionFigures, StreamClient } from "../../stream/mod.ts";
import type { Access } from "../auth.ts";
import { byLabel, counter, type Figure, gauge } from "./figure.ts";

/** Expiry of a certificate. */
export interface CertificateReading {
  /** Kind: `tls` (served to clients), `replication` (sent to the cloud), `client_ca`, `boat`. */
  certificate: string;
  /** Instance id, for kind `boat`. */
  instance?: string;
  /** Milliseconds since 1970; undefined: not read yet. */
  endMs: number | undefined;
}

export interface ConnectionFigures {
  /** Open connections by state. */
  readonly counts: Readonly<Record<string, number>>;
  /** Connections closed because of a limit or a bad PROXY header, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Number of times a port was reopened. */
  readonly acceptErrors: number;
}

/** Sources of the metrics that every server has. */
export interface ServerSources {
  stall: Pick<StallDetector, "stalls" | "longestMs">;
  /** Version of the server. */
  version: string;
  /** Undefined: no access control. */
  access?: Pick<Access, "failures"> | undefined;
  /** Undefined: the server has no certificates. */
  certificates?: (() => CertificateReading[]) | undefined;
  /** Undefined: connections are not counted. */
  connections?: ConnectionFigures | undefined;
}

const startedS = Date.now() / 1000;

/** Metrics that every server has: process, event loop, connections, refusals. */
export function serverFigures({ version, stall, access, connections, certificates }: ServerSources): Figure[] {
  return [
    gauge("vbg_build_info", "Always 1; the label is the running version", () => [[1, { version }]]),
    gauge("process_start_time_seconds", "Start time of the process, seconds since 1970", () => startedS),
    gauge("process_resident_memory_bytes", "Resident memory", () => Deno.memoryUsage().rss),
    counter("process_cpu_seconds_total", "User and system CPU time", () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    }),
    counter("vbg_event_loop_stalls_total", "Event loop stalls of more than 10 ms", () => stall.stalls),
    gauge(
      "vbg_event_loop_longest_stall_seconds",
      "Longest event loop stall of the last one to two minutes",
      () => stall.longestMs / 1000,
    ),
    ...(certificates
      ? [
        gauge("vbg_certificate_expires_seconds", "Expiry of certificates, seconds since 1970", () =>
          certificates().map(({ certificate, instance, endMs = NaN }) => [
            endMs / 1000,
            { certificate, ...(instance !== undefined && { instance }) },
          ])),
      ]
      : []),
    ...(connections ? connectionFigures(connections) : []),
    ...(access ? [counter("vbg_auth_failures_total", REFUSED, () => byLabel("reason", access.failures))] : []),
  ];
}

function connectionFigures(connections: ConnectionFigures): Figure[] {
  return [
    gauge(
      "vbg_connections",
      "Open connections by state: before the first request, with an active request, between requests",
      () => byLabel("state", connections.counts),
    ),
    counter(
      "vbg_connections_refused_total",
      "Connections closed because of a limit or a bad PROXY header, by reason",
      () => byLabel("reason", connections.refused),
    ),
    counter(
      "vbg_accept_errors_total",
      "Times a port ran out of file descriptors and was reopened",
      () => connections.acceptErrors,
    ),
  ];
}

/** Sources of the metrics of client streams and sessions. */
export interface ReaderSources {
  count: (kind: StreamClient["kind"]) => number;
  /** Sessions with a connected client. */
  readonly streamingSessions: number;
  readonly sessionFigures: Readonly<SessionFigures>;
  readonly memory: { readonly usedBytes: number };
  /** Frames not delivered, by reason. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** Metrics of client streams and sessions. */
export function readerFigures(readers: ReaderSources): Figure[] {
  return [
    gauge("vbg_streams", "Open client streams", () => [
      [readers.count("sse"), { kind: "sse" }],
      [readers.count("websocket"), { kind: "websocket" }],
      [readers.streamingSessions, { kind: "session" }],
    ]),
    counter(
      "vbg_sessions_replaced_total",
      "Unread sessions that were replaced by new ones",
      () => readers.sessionFigures.replaced,
    ),
    counter(
      "vbg_sessions_refused_total",
      "Sessions refused, by the limit that was reached",
      () => byLabel("limit", readers.sessionFigures.refused),
    ),
    gauge(
      "vbg_stream_memory_bytes",
      "Memory queued for slow clients: see -stream-memory",
      () => readers.memory.usedBytes,
    ),
    counter(
      "vbg_dropped_deliveries_total",
      "Frames not delivered to a stream client",
      () => byLabel("reason", readers.dropped),
    ),
  ];
}

const REFUSED = "Requests refused, by reason: no token, unknown token, token without the scope, page of another origin";
