import process from "node:process";
import type { StallDetector } from "../../base/mod.ts";
import type { Access } from "../auth.ts";
import { counter, type Figure, gauge, type Reading } from "./figure.ts";

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
  /** Connections closed because of a limit, by reason. */
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
    gauge("process_start_time_seconds", "Start time of the process, seconds since 1970", () => [[startedS, {}]]),
    gauge("process_resident_memory_bytes", "Resident memory", () => [[Deno.memoryUsage().rss, {}]]),
    counter("process_cpu_seconds_total", "User and system CPU time", () => {
      const { user, system } = process.cpuUsage();
      return [[(user + system) / 1e6, {}]];
    }),
    counter("vbg_event_loop_stalls_total", "Event loop stalls of more than 10 ms", () => [
      [stall.stalls, {}],
    ]),
    gauge("vbg_event_loop_longest_stall_seconds", "Longest event loop stall of the last one to two minutes", () => [
      [stall.longestMs / 1000, {}],
    ]),
    ...(certificates
      ? [gauge(ENDS, "Expiry of certificates, seconds since 1970", () => readEnds(certificates()))]
      : []),
    ...(connections ? connectionFigures(connections) : []),
    ...(access ? [counter("vbg_auth_failures_total", REFUSED, () => readFailures(access))] : []),
  ];
}

const ENDS = "vbg_certificate_expires_seconds";

function readEnds(readings: readonly CertificateReading[]): Reading[] {
  return readings.map(({ certificate, instance, endMs = NaN }): Reading => [
    endMs / 1000,
    { certificate, ...(instance !== undefined && { instance }) },
  ]);
}

function connectionFigures(connections: ConnectionFigures): Figure[] {
  return [
    {
      kind: "gauge",
      name: "vbg_connections",
      help: "Open connections by state: before the first request, with an active request, between requests",
      read: () => Object.entries(connections.counts).map(([state, count]) => [count, { state }]),
    },
    {
      kind: "counter",
      name: "vbg_connections_refused_total",
      help: "Connections closed because of a limit, by reason",
      read: () => Object.entries(connections.refused).map(([reason, count]) => [count, { reason }]),
    },
    {
      kind: "counter",
      name: "vbg_accept_errors_total",
      help: "Times a port ran out of file descriptors and was reopened",
      read: () => [[connections.acceptErrors, {}]],
    },
  ];
}

const REFUSED = "Requests refused, by reason: no token, unknown token, token without the scope, page of another origin";

function readFailures({ failures }: Pick<Access, "failures">): Reading[] {
  return Object.entries(failures).map(([reason, count]) => [count, { reason }]);
}
