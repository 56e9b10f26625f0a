import process from "node:process";
import type { StallDetector } from "../base/mod.ts";
import type { Access } from "./auth.ts";

/** Labels of a reading, by name. */
export type Labels = Record<string, string>;
/** One value of a figure. */
export type Reading = readonly [value: number, labels: Labels];

/** One metric. */
export interface Figure {
  kind: "counter" | "gauge";
  name: string;
  help: string;
  /** The values now. */
  read: () => Reading[];
}

/** What every server can tell of itself. */
export interface ServerSources {
  stall: Pick<StallDetector, "stalls" | "longestMs">;
  /** Version of the server. */
  version: string;
  /** Undefined where nobody is refused. */
  access?: Pick<Access, "failures"> | undefined;
}

const startedS = Date.now() / 1000;

/** Process, event loop and refusals: the same on every server. */
export function serverFigures({ version, stall, access }: ServerSources): Figure[] {
  const gauge = (name: string, help: string, read: () => Reading[]): Figure => ({ kind: "gauge", name, help, read });
  const counter = (name: string, help: string, read: () => Reading[]): Figure => ({
    kind: "counter",
    name,
    help,
    read,
  });
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
    ...(access ? [counter("vbg_auth_failures_total", REFUSED, () => readFailures(access))] : []),
  ];
}

const REFUSED =
  "Requests refused: no token, an unknown one, one without the scope, a page of another origin that sends";

function readFailures({ failures }: Pick<Access, "failures">): Reading[] {
  return Object.entries(failures).map(([reason, count]) => [count, { reason }]);
}
