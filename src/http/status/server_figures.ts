import process from "node:process";
import type { StallDetector } from "../../base/mod.ts";
import type { Access } from "../auth.ts";
import { counter, type Figure, gauge, type Reading } from "./figure.ts";

/** When a certificate ends. */
export interface CertificateReading {
  /** Which: `tls` (served), `replication` (shown to the cloud), `client_ca`, `boat`. */
  certificate: string;
  /** Whose, where there are several. */
  instance?: string;
  /** Milliseconds since 1970; undefined: it has not been read yet. */
  endMs: number | undefined;
}

/** Counts of connections. */
export interface ConnectionFigures {
  /** Open connections by state. */
  readonly counts: Readonly<Record<string, number>>;
  /** Closed for a limit, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Times that a port was opened again. */
  readonly acceptErrors: number;
}

/** What every server reports of itself. */
export interface ServerSources {
  stall: Pick<StallDetector, "stalls" | "longestMs">;
  /** Version of the server. */
  version: string;
  /** Undefined where nobody is refused. */
  access?: Pick<Access, "failures"> | undefined;
  /** Undefined where there are none. */
  certificates?: (() => CertificateReading[]) | undefined;
  /** Undefined where nothing is known of them. */
  connections?: ConnectionFigures | undefined;
}

const startedS = Date.now() / 1000;

/** Process, event loop and refusals: the same on every server. */
export function serverFigures({ version, stall, access, connections, certificates }: ServerSources): Figure[] {
  return [
    gauge("vbg_build_info", "Always 1; the label says which version runs", () => [[1, { version }]]),
    gauge("process_start_time_seconds", "Start of the process, seconds since 1970", () => [[startedS, {}]]),
    gauge("process_resident_memory_bytes", "Resident memory", () => [[Deno.memoryUsage().rss, {}]]),
    counter("process_cpu_seconds_total", "CPU time of user and system", () => {
      const { user, system } = process.cpuUsage();
      return [[(user + system) / 1e6, {}]];
    }),
    counter("vbg_event_loop_stalls_total", "Times that something held the event loop for more than 10 ms", () => [
      [stall.stalls, {}],
    ]),
    gauge("vbg_event_loop_longest_stall_seconds", "Longest stall of the last one to two minutes", () => [
      [stall.longestMs / 1000, {}],
    ]),
    ...(certificates ? [gauge(ENDS, "When certificates end, seconds since 1970", () => readEnds(certificates()))] : []),
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

/** Connections of all ports. */
function connectionFigures(connections: ConnectionFigures): Figure[] {
  return [
    {
      kind: "gauge",
      name: "vbg_connections",
      help: "Open connections: before their first request, with a request under way, between requests",
      read: () => Object.entries(connections.counts).map(([state, count]) => [count, { state }]),
    },
    {
      kind: "counter",
      name: "vbg_connections_refused_total",
      help: "Connections closed for a limit, by reason",
      read: () => Object.entries(connections.refused).map(([reason, count]) => [count, { reason }]),
    },
    {
      kind: "counter",
      name: "vbg_accept_errors_total",
      help: "Times that a port had stopped accepting connections, for want of file descriptors, and was opened again",
      read: () => [[connections.acceptErrors, {}]],
    },
  ];
}

const REFUSED =
  "Requests refused: no token, an unknown one, one without the scope, a page of another origin that sends";

function readFailures({ failures }: Pick<Access, "failures">): Reading[] {
  return Object.entries(failures).map(([reason, count]) => [count, { reason }]);
}
