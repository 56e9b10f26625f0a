import { healthSchema } from "./schemas.ts";
import { bindRows, type RouteTable } from "./routes.ts";
import type { Sessions } from "../stream/mod.ts";
import type { Health } from "./status/health.ts";
import type { HomePage } from "./home/home_page.ts";
import { homeRoute, SERVER_SECTION } from "./home/home_route.ts";
import type { Metrics } from "./status/metrics.ts";
import { METRICS_TYPE } from "./status/figure.ts";
import type { HistoryIndex } from "./history/history.ts";
import { HistoryTurns } from "./history/turns.ts";
import type { ReplicationStatus } from "../replication/mod.ts";
import { readRows } from "./read_routes.ts";
import { replicationRoute } from "./replication_route.ts";
import { closedSendRoutes, type SendApi, sendRoutes } from "./send/routes.ts";
import { pgnRoutes, stateRoutes } from "./server_routes.ts";
import { type SessionApi, sessionRows } from "./sessions/routes.ts";

/** Dependencies of the boat's API. */
export interface BoatApi extends Omit<SessionApi, "sessions"> {
  metrics: Metrics;
  /** Name and version of the server. */
  server: { name: string; version: string };
  /** Evaluates the current health. */
  health: () => Health;
  /** Limits that may change while running. */
  limits: () => { maxStreams: number; streamBufferBytes: number; maxHistory?: number; maxHistoryRequests?: number };
  /** Left out: the server has no sessions. */
  sessions?: Sessions;
  /** Left out: the server cannot send. */
  sending?: Omit<SendApi, "broker">;
  /** Left out: nothing is recorded. */
  journal?: { index: HistoryIndex };
  /** Left out: nothing is replicated. */
  replication?: { status(): ReplicationStatus };
}

/** All endpoints of the boat server. */
export function boatRoutes(api: BoatApi): RouteTable {
  const { sessions, metrics } = api;
  const histories = new HistoryTurns(() => api.limits().maxHistoryRequests);
  return [
    homeRoute(() => boatPage(api)),
    ...bindRows(readRows, { ...api, histories, maxLimit: () => api.limits().maxHistory }),
    ...(sessions ? bindRows(sessionRows, { ...api, sessions }) : []),
    ...(api.sending ? sendRoutes({ ...api, ...api.sending }) : closedSendRoutes()),
    replicationRoute(api.replication),
    ...pgnRoutes(),
    ...stateRoutes({
      ...api,
      healthSchema,
      metrics: () => new Response(metrics.text(), { headers: { "Content-Type": METRICS_TYPE } }),
    }),
  ];
}

/** Time span that the home page's link to the history shows. */
const SHOWN_HISTORY_MS = 10_000;

function beforeMs(time: string, spanMs: number): string {
  return new Date(Date.parse(time) - spanMs).toISOString();
}

function boatPage({ server, health, journal, replication }: BoatApi): HomePage {
  const { status, components, broker: { device_count: devices }, last_frame_at: last } = health();
  const facts = [
    `${devices} ${devices === 1 ? "device" : "devices"}`,
    `last frame ${last?.replace(/T(.*)\.\d+Z$/, " $1 UTC") ?? "never"}`,
  ];
  const boat = [
    { text: "devices", path: "/devices", about: "devices on the buses" },
    { text: "values", path: "/values/decoded", about: "newest message of each kind, decoded" },
    { text: "events", path: "/events?decode=true", about: "live frames as an endless event stream" },
    ...(journal && last
      ? [{
        text: "history",
        path: `/history?from=${beforeMs(last, SHOWN_HISTORY_MS)}`,
        about: "recorded frames: the last 10 s",
      }]
      : []),
    ...(replication
      ? [{ text: "replication", path: "/replication/status", about: "progress of replication to the cloud" }]
      : []),
  ];
  return {
    ...server,
    status,
    components,
    facts,
    boatPath: "",
    sections: [{ title: "Boat", links: boat }, SERVER_SECTION],
  };
}
