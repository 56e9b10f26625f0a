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

/** What the boat's API is made of. */
export interface BoatApi extends Omit<SessionApi, "sessions"> {
  metrics: Metrics;
  /** What the server calls itself. */
  server: { name: string; version: string };
  /** Judges the server now. */
  health: () => Health;
  /** Limits that may change while running. */
  limits: () => { maxStreams: number; streamBufferBytes: number; maxHistory?: number; maxHistoryRequests?: number };
  /** Sessions, where they are kept. */
  sessions?: Sessions;
  /** The way to the buses, where there are any. */
  sending?: Omit<SendApi, "broker">;
  /** The recording, where one is kept. */
  journal?: { index: HistoryIndex };
  /** The link to a cloud, where there is one. */
  replication?: { status(): ReplicationStatus };
}

/** The boat server's API on one page. */
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

/** So much of the recording the page's link to the history shows: enough to see what is there. */
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
    { text: "devices", path: "/devices", about: "who is on the buses" },
    { text: "values", path: "/values/decoded", about: "newest message of each kind, decoded" },
    { text: "events", path: "/events?decode=true", about: "live frames, without end, as an event stream" },
    ...(journal && last
      ? [{
        text: "history",
        path: `/history?from=${beforeMs(last, SHOWN_HISTORY_MS)}`,
        about: "recorded frames: the last 10 s",
      }]
      : []),
    ...(replication ? [{ text: "replication", path: "/replication/status", about: "what the cloud has" }] : []),
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
