import type { Clock, Logger, StallDetector } from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import type { BoatFeed } from "../feed/mod.ts";
import {
  type Access,
  boatRoutes,
  evaluateHealth,
  type Health,
  type LimitInForce,
  Metrics,
  serveRoutes,
  SignalK,
  vesselOf,
  type VesselSettings,
  type WebApp,
} from "../http/mod.ts";
import type { BusCounts } from "../journal/mod.ts";
import type { Connections, Handler, TlsFiles } from "../listen/mod.ts";
import type { Past } from "../past/mod.ts";
import type { BoatLink, StoredProgress } from "../replication/mod.ts";
import type { SeriesRollup } from "../series/mod.ts";
import type { SourceHistory, StreamHub } from "../stream/mod.ts";
import type { IdentityRequests } from "../transmit/mod.ts";
import { VERSION } from "../version.ts";
import type { BusPipeline } from "./bus_pipelines.ts";
import type { BoatBlackBox } from "./black_box.ts";
import type { ClockRepair } from "./clock_repair.ts";
import type { BoatDoctor } from "./doctor.ts";
import type { Integrations } from "./integrations.ts";
import type { BoatLimits, ServerOptions } from "./limits.ts";
import { ledgerOf } from "./ledger.ts";
import { proofOf } from "./proof.ts";
import type { BoatTransmit } from "./transmit.ts";
import { trueClockOf } from "./true_clock.ts";

const TITLE = "Vessel Bus Gateway: boat server";

/** Parts of a running server. */
export interface ApiParts {
  stores: BoatFeed;
  stored: StoredProgress | undefined;
  rollup?: SeriesRollup | undefined;
  past?: Past | undefined;
  clockRepair?: ClockRepair | undefined;
  doctor?: BoatDoctor | undefined;
  blackBox?: BoatBlackBox | undefined;
  sourceHistory?: SourceHistory | undefined;
  hub: StreamHub;
  signalk: SignalK | undefined;
  webApps: readonly WebApp[];
  stall: StallDetector;
  access: Access;
  transmit: BoatTransmit;
  integrations: Integrations;
  link: BoatLink | undefined;
  pipelines: readonly BusPipeline[];
  counts: () => readonly BusCounts[];
  identity: IdentityRequests | undefined;
  tls: TlsFiles | undefined;
  connections: Connections;
  clock: Clock;
  log: Logger;
}

/** Options that name the server and its boat. */
export interface NameOptions {
  mdnsName?: string;
  replication?: { instanceId: string };
  signalk?: VesselSettings;
}

/** Name of the server on its pages. */
export function nameOf({ mdnsName, replication }: NameOptions): string {
  return mdnsName ?? replication?.instanceId ?? TITLE;
}

/** Signal K, which starts at the first request; undefined: off. */
export function signalkOf(
  options: NameOptions,
  parts: { broker: Broker; hub: StreamHub; clock: Clock; log: Logger },
): SignalK | undefined {
  const name = nameOf(options);
  const { signalk, replication } = options;
  return signalk && new SignalK({ ...parts, name, vessel: vesselOf(signalk, replication?.instanceId ?? name) });
}

/** The handler of HTTP requests. */
export function apiOf(
  parts: ApiParts,
  { settings, name, health, limitsInForce }: {
    limitsInForce?: (() => readonly LimitInForce[]) | undefined;
    settings: BoatLimits & Required<Pick<ServerOptions, "streamBufferBytes" | "maxBodyBytes" | "bodyTimeoutMs">>;
    name: string;
    health: () => Health;
  },
): Handler {
  const { maxBodyBytes, bodyTimeoutMs } = settings;
  const { stores: { feed: { broker, sessions }, journal }, hub, access, transmit, link, doctor, blackBox, clock, log } =
    parts;
  const routes = boatRoutes({
    broker,
    hub,
    sessions,
    // Readers of recorded messages ask for their true times.
    clock: trueClockOf(clock, journal),
    metrics: metricsOf(parts),
    health,
    sending: {
      ...transmit,
      queryLimits: () => ({ maxTimeoutMs: settings.queryMaxTimeoutMs, maxQueries: settings.maxQueries }),
    },
    ...(journal && { journal }),
    ...(parts.rollup && { rollup: () => parts.rollup }),
    ...(parts.past && { past: () => parts.past }),
    ...(parts.signalk && { signalk: parts.signalk }),
    webApps: parts.webApps,
    proof: () => proofOf(parts),
    ...(doctor && { doctor: () => doctor.report() }),
    ledger: ledgerOf(parts),
    alerts: () => parts.integrations.alerts.recent,
    ...(parts.sourceHistory && { sourceHistory: parts.sourceHistory }),
    ...(blackBox && {
      blackBox: { list: () => blackBox.box.list(), pathOf: (name) => blackBox.box.pathOf(name), mark: blackBox.mark },
    }),
    ...(limitsInForce && { limitsInForce }),
    ...(link && { replication: link }),
    limits: () => settings,
    server: { name, version: VERSION },
  });
  const { webApps } = parts;
  return serveRoutes(routes, { title: TITLE, version: VERSION, maxBodyBytes, bodyTimeoutMs, access, webApps, log });
}

/** Every source is named: a spread would lose one that is renamed without an error. */
function metricsOf(
  { stores: { feed: { broker, sessions }, journal }, hub, stall, access, transmit, integrations, ...parts }: ApiParts,
): Metrics {
  const { pipelines, identity, link, tls, connections } = parts;
  return new Metrics({
    broker,
    lines: pipelines,
    hub,
    sessions,
    journal,
    rollup: parts.rollup,
    transmit,
    integrations,
    signalk: parts.signalk,
    doctor: parts.doctor?.doctor,
    replication: link,
    identity,
    stall,
    version: VERSION,
    access,
    connections,
    certificates: () => [
      ...(tls ? [{ certificate: "tls", endMs: tls.endMs }] : []),
      ...(link ? [{ certificate: "replication", endMs: link.certificate.endMs }] : []),
    ],
  });
}

/** Evaluates the health of the server on each call. */
export function healthOf(
  {
    stores,
    rollup,
    past,
    clockRepair,
    doctor,
    blackBox,
    sourceHistory,
    signalk,
    pipelines,
    transmit,
    integrations,
    link,
    tls,
    clock,
  }: ApiParts,
  busSilenceMs: () => number | undefined,
): () => Health {
  const startedMs = clock.monoMs();
  return () =>
    evaluateHealth({
      broker: stores.feed.broker,
      lines: pipelines,
      journal: stores.journal,
      numbers: stores.numbers,
      replication: link,
      others: {
        ...transmit.health(),
        ...integrations.health(),
        ...(signalk && { signalk: signalk.health() }),
        ...(rollup && { series: rollup.health() }),
        ...(stores.journal?.evidence && { evidence: stores.journal.evidence.health() }),
        ...(past && { past: past.health() }),
        ...(clockRepair && { clock: clockRepair.health() }),
        ...doctor?.health(),
        ...(sourceHistory && { source_history: sourceHistory.health() }),
        ...(blackBox && { black_box: blackBox.box.health() }),
        ...(tls && { tls: tls.health() }),
        ...(link?.certificate.endMs !== undefined && { replication_certificate: link.certificate.health() }),
      },
      busSilenceMs: busSilenceMs(),
      startedMs,
      nowMs: clock.monoMs(),
    });
}
