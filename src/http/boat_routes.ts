import { type BlackBoxApi, blackBoxRoutes } from "./black_box.ts";
import { formatTimeUs } from "../frame/mod.ts";
import { healthSchema } from "./schemas.ts";
import { type About, bindRows, type RouteTable } from "./routes.ts";
import type { Sessions, SourceHistory } from "../stream/mod.ts";
import type { Health } from "./status/health.ts";
import { type Home, homeRoute, SERVER_LINKS } from "./page/home_route.ts";
import type { Metrics } from "./status/metrics.ts";
import { METRICS_TYPE } from "./status/figure.ts";
import type { HistoryIndex } from "./history/history.ts";
import { HistoryTurns } from "./history/turns.ts";
import type { ReplicationStatus } from "../replication/mod.ts";
import { type Proof, proofRoute } from "./proof.ts";
import { type DoctorReport, doctorRoute } from "./doctor_route.ts";
import { healthAt } from "./past.ts";
import { type LedgerApi, ledgerRoute } from "./ledger.ts";
import { readRows } from "./read_routes.ts";
import { replicationRoute } from "./replication_route.ts";
import type { Past } from "../past/mod.ts";
import type { SignalK } from "./signalk/signalk.ts";
import type { WebApp } from "./webapps.ts";
import { signalkOpenRoutes } from "./signalk/routes.ts";
import type { SeriesRollup } from "../series/mod.ts";
import type { SeriesLimits } from "./series/series.ts";
import { sourceHistoryRoute } from "./source_history.ts";
import { closedSendRoutes, type SendApi, sendRoutes } from "./send/routes.ts";
import { pgnRoutes, stateRoutes } from "./server_routes.ts";
import { type LimitInForce, stateListRoutes, type TellableAlert } from "./state_lists.ts";
import { type SessionApi, sessionRows } from "./sessions/routes.ts";

/** Dependencies of the boat's API. */
export interface BoatApi extends Omit<SessionApi, "sessions"> {
  metrics: Metrics;
  /** Name and version of the server. */
  server: { name: string; version: string };
  /** Evaluates the current health. */
  health: () => Health;
  /** Limits that may change while running. */
  limits: () => SeriesLimits & {
    maxStreams: number;
    streamBufferBytes: number;
    maxHistory?: number;
    maxHistoryRequests?: number;
  };
  /** Left out: the server has no sessions. */
  sessions?: Sessions;
  /** Left out: the server cannot send. */
  sending?: Omit<SendApi, "broker">;
  /** Left out: nothing is recorded. */
  journal?: { index: HistoryIndex };
  /** Left out: the journal has no sidecars. */
  rollup?: () => SeriesRollup | undefined;
  /** Left out: nothing is recorded. */
  past?: () => Past | undefined;
  /** Left out: Signal K is off. */
  signalk?: SignalK;
  /** Web apps that are served, too; default none. */
  webApps?: readonly WebApp[];
  /** Frames seen, recorded and in the cloud, now. */
  proof: () => Proof;
  /** What is wrong on the buses; left out: it is not checked. */
  doctor?: () => DoctorReport;
  /** Reads the ledger of a time range; left out: there is none. */
  ledger?: LedgerApi["ledger"];
  /** Newest alerts, newest first; left out: there are none. */
  alerts?: () => readonly TellableAlert[];
  /** Left out: none is kept. */
  sourceHistory?: Pick<SourceHistory, "read">;
  /** Left out: there is no black box. */
  blackBox?: BlackBoxApi;
  /** The settings that are limits; left out: not known. */
  limitsInForce?: () => readonly LimitInForce[];
  /** Left out: nothing is replicated. */
  replication?: { status(): ReplicationStatus };
}

/** All endpoints of the boat server. */
export function boatRoutes(api: BoatApi): RouteTable {
  const { sessions, metrics } = api;
  const histories = new HistoryTurns(() => api.limits().maxHistoryRequests);
  return [
    homeRoute((about) => boatHome(api, about)),
    ...bindRows(readRows, {
      ...api,
      histories,
      maxLimit: () => api.limits().maxHistory,
      seriesLimits: () => api.limits(),
    }),
    ...(api.signalk ? signalkOpenRoutes() : []),
    ...(sessions ? bindRows(sessionRows, { ...api, sessions }) : []),
    ...(api.sending ? sendRoutes({ ...api, ...api.sending }) : closedSendRoutes()),
    replicationRoute(api.replication),
    proofRoute(api.proof),
    ...(api.doctor ? [doctorRoute(api.doctor)] : []),
    ledgerRoute({ ...api, histories }),
    ...stateListRoutes(api),
    ...blackBoxRoutes(api.blackBox),
    sourceHistoryRoute(api.sourceHistory, () => api.clock.wallUs()),
    ...pgnRoutes(),
    ...stateRoutes({
      ...api,
      healthSchema,
      ...(api.past && { healthAt: (at, request) => healthAt({ ...api, histories }, { at, request }) }),
      metrics: () => new Response(metrics.text(), { headers: { "Content-Type": METRICS_TYPE } }),
    }),
  ];
}

/** Time span that the link to the history covers. */
const SHOWN_HISTORY_MS = 10_000;

function beforeMs(time: string, spanMs: number): string {
  return new Date(Date.parse(time) - spanMs).toISOString();
}

function boatHome(api: BoatApi, { caller }: About): Home {
  const { server, health, journal, replication, sending, clock, webApps = [] } = api;
  const { status, last_frame_at: last } = health();
  const links = {
    devices: "/devices",
    values: "/values/decoded",
    events: "/events?decode=true",
    ...(journal && { history: `/history?from=${beforeMs(last ?? formatTimeUs(clock.wallUs()), SHOWN_HISTORY_MS)}` }),
    ...(replication && { replication: "/replication/status" }),
    ...SERVER_LINKS,
  };
  const maySend = sending !== undefined && sending.gate.isOpen && caller.scopes.includes("send") &&
    caller.originAllowed;
  const apps = webApps.map(({ title, path }) => ({ title, path }));
  return { kind: "boat", ...server, status, may_send: maySend, links, ...(apps.length > 0 && { web_apps: apps }) };
}
