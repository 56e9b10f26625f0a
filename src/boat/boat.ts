import {
  ALL_ADDRESSES,
  type Clock,
  type ListenAddress,
  type Logger,
  silentLogger,
  StallDetector,
  systemClock,
} from "../base/mod.ts";
import type { Broker } from "../broker/mod.ts";
import type { CanBus } from "../can/mod.ts";
import type { Message } from "../frame/mod.ts";
import { BOAT_DEFAULTS, type BoatLimits, type ServerOptions, sessionLimitsOf } from "./limits.ts";
import { BusCounter, type BusPipeline, busPipelinesOf, openBuses } from "./bus_pipelines.ts";
import { type IntegrationOptions, Integrations } from "./integrations.ts";
import { linkOf, type ReplicationOptions } from "./replication.ts";
import { BoatFeed, type StoreOptions } from "../feed/mod.ts";
import { BoatTransmit, type BoatTransmitOptions } from "./transmit.ts";
import { Access, boatRoutes, evaluateHealth, type Health, Metrics, serveRoutes } from "../http/mod.ts";
import {
  type Connections,
  type Handler,
  listen,
  type Listener,
  listenTls,
  openConnections,
  PendingHandler,
  TlsFiles,
  type TlsPaths,
} from "../listen/mod.ts";
import { type StreamHub, StreamMemory } from "../stream/mod.ts";
import { IdentityRequests, type SendSettings } from "../transmit/mod.ts";
import type { AlertRules } from "../integrations/mod.ts";
import { BoatLink } from "../replication/mod.ts";
import { VERSION } from "../version.ts";

/** Options of a boat server. Only `buses` is required. */
export interface BoatOptions
  extends Partial<BoatLimits>, ServerOptions, StoreOptions, BoatTransmitOptions, IntegrationOptions {
  /** The buses to serve, not opened yet. */
  buses: readonly CanBus[];
  /** Default all addresses, port 8089. */
  listen?: ListenAddress;
  /** Unfinished multi-frame messages kept for each bus; default 4096. */
  maxAssemblies?: number;
  /** Request address claims and product information from devices; default true. */
  discovery?: boolean;
  /** Certificate and key; default none: HTTP instead of HTTPS. */
  tls?: TlsPaths;
  /** The cloud that receives every frame; default none. */
  replication?: ReplicationOptions;
}

/** A running boat server. */
export interface Boat {
  /** Address that it listens on. */
  readonly address: ListenAddress;
  /** Completed rounds of housekeeping, one a second: the number grows while the server works. */
  readonly heartbeats: () => number;
  /**
   * The broker itself, for tests.
   *
   * @internal
   */
  readonly broker: Broker;
  /** Changes limits while running. */
  reload: (limits: Partial<BoatLimits>) => void;
  /** Ends streams, stops listening, closes the buses. Safe to call twice. */
  stop: () => Promise<void>;
}

const TITLE = "Vessel Bus Gateway: boat server";
/** Interval at which idle devices and stale fragments are removed. */
const HOUSEKEEPING_MS = 1000;

/**
 * Starts a boat server: buses → assembler → broker → streams, and the transmit path from clients to the buses.
 *
 * @throws {BusError} a bus cannot be opened
 * @throws {ListenError} the port cannot be opened
 * @throws {TlsError} certificate and key cannot be used
 * @throws {RangeError} the ring size is not a power of two
 */
export async function startBoat(options: BoatOptions): Promise<Boat> {
  const { log = silentLogger, clock = systemClock } = options;
  const connections = await openConnections(options, { most: BOAT_DEFAULTS.mostConnections, clock });
  const tls = options.tls && await TlsFiles.open({ ...options.tls, clock, log });
  const stall = new StallDetector(log);
  const pending = new PendingHandler();
  let listener: Listener | undefined;
  try {
    // First, so that a start that fails because of its port changes nothing on disk.
    listener = await listenWith(options.listen, { handler: pending.handle, stall, connections, log, tls });
    return await startListening(options, { listener, pending, stall, connections, tls, clock, log });
  } catch (error) {
    pending.failed();
    await listener?.stop();
    tls?.stop();
    stall.stop();
    throw error;
  }
}

/** The listening port and the parts that exist before it. */
interface ListeningParts {
  listener: Listener;
  /** Holds requests until the handler is set. */
  pending: PendingHandler;
  stall: StallDetector;
  connections: Connections;
  tls: TlsFiles | undefined;
  clock: Clock;
  log: Logger;
}

/** Starts the rest of a boat server. If it fails, the caller stops the given parts. */
async function startListening(options: BoatOptions, given: ListeningParts): Promise<Boat> {
  const { buses, replication } = options;
  const { listener, pending, stall, tls, clock, log } = given;
  const settings = { ...BOAT_DEFAULTS, ...options };
  // Changed by `reload`.
  const limits: BoatLimits = settings;
  const counters = buses.map((bus) => new BusCounter(bus));
  const counts = () => counters.map((counter) => counter.read());
  const names = buses.map(({ name }) => name);
  const sessionLimits = () => sessionLimitsOf(limits);
  const stores = await BoatFeed.open(options, { buses: names, counts, sessionLimits, clock, log });
  const { feed, feed: { broker } } = stores;
  const hub = feed.openHub({ stall, memory: new StreamMemory(options.streamMemoryBytes) });
  const access = new Access(limits, { log, isOverTls: tls !== undefined });
  const alerts = { ...options.alerts, ...alertRulesOf(limits) };
  const integrations = await Integrations.open({ ...options, alerts }, { broker, clock, stall, log });
  const transmit = new BoatTransmit(options, { broker, buses, sending: () => sendSettingsOf(limits), clock, log });
  const publish = (message: Message) => {
    stores.publish(message);
    transmit.message(message);
  };
  const link = replication &&
    linkOf(replication, { feed: stores, limits: () => limits.replicationLimits, clock, log });
  const { maxAssemblies } = settings;
  const { pipelines, close: closeBuses } = busPipelinesOf(buses, { counters, maxAssemblies, publish, log, stall });
  const identity = options.discovery === false ? undefined : new IdentityRequests({ broker, buses, clock, log });
  const parts = { ...given, stores, hub, access, transmit, integrations, link, pipelines, identity };
  const health = healthOf(parts, () => limits.busSilenceThresholdMs);
  const handler = apiOf(parts, { settings, name: nameOf(options), health });
  let heartbeats = 0;
  const beat = () => heartbeats++;
  const housekeeping = runHousekeeping({ ...parts, health, beat }, () => limits.deviceIdleTimeoutMs);

  const stopParts = async () => {
    clearInterval(housekeeping);
    tls?.stop();
    identity?.stop();
    transmit.stop();
    await closeBuses();
    await Promise.all([link?.stop(), integrations.stop()]);
    hub.stop();
    stall.stop();
    await stores.close();
  };
  try {
    await Promise.all([integrations.start(), link && BoatLink.prepare()]);
    await openBuses(pipelines, { ready: () => stores.ready(), identity, transmit, log, stall });
    identity?.start();
    transmit.start();
    link?.start();
    pending.started(handler);
    integrations.announce(listener.address, { tls: tls !== undefined });
    let stopping: Promise<void> | undefined;
    return {
      address: listener.address,
      heartbeats: () => heartbeats,
      broker,
      reload: (changed) => {
        Object.assign(limits, changed);
        access.reload(changed);
        integrations.reload(alertRulesOf(limits));
        void tls?.check();
      },
      stop: () => stopping ??= stopParts().then(listener.stop),
    };
  } catch (error) {
    await stopParts();
    throw error;
  }
}

/** Listens for HTTPS with a certificate, for HTTP without. */
async function listenWith(
  address: ListenAddress = { hostname: ALL_ADDRESSES, port: BOAT_DEFAULTS.port },
  { tls, ...parts }: {
    handler: Handler;
    stall: StallDetector;
    connections: Connections;
    log: Logger;
    tls: TlsFiles | undefined;
  },
): Promise<Listener> {
  return tls ? await listenTls(address, { ...parts, tls }) : await listen(address, parts);
}

function alertRulesOf({ alertDedupWindowMs, busSilenceTimeoutMs }: BoatLimits): AlertRules {
  return { dedupWindowMs: alertDedupWindowMs, busSilenceMs: busSilenceTimeoutMs };
}

function sendSettingsOf({ sendEnabled, readOnly, sendRules, sendRateLimit, sendRateBurst }: BoatLimits): SendSettings {
  return { enabled: sendEnabled, readOnly, rules: sendRules, rateLimit: sendRateLimit, rateBurst: sendRateBurst };
}

/** Parts of a running server. */
interface ApiParts {
  stores: BoatFeed;
  hub: StreamHub;
  stall: StallDetector;
  access: Access;
  transmit: BoatTransmit;
  integrations: Integrations;
  link: BoatLink | undefined;
  pipelines: readonly BusPipeline[];
  identity: IdentityRequests | undefined;
  tls: TlsFiles | undefined;
  connections: Connections;
  clock: Clock;
  log: Logger;
}

/** Name of the server on its pages. */
function nameOf({ mdnsName, replication }: BoatOptions): string {
  return mdnsName ?? replication?.instanceId ?? TITLE;
}

/** The handler of HTTP requests. */
function apiOf(
  parts: ApiParts,
  { settings, name, health }: {
    settings: BoatLimits & Required<Pick<ServerOptions, "streamBufferBytes" | "maxBodyBytes" | "bodyTimeoutMs">>;
    name: string;
    health: () => Health;
  },
): Handler {
  const { maxBodyBytes, bodyTimeoutMs } = settings;
  const { stores: { feed: { broker, sessions }, journal }, hub, access, transmit, link, clock, log } = parts;
  const routes = boatRoutes({
    broker,
    hub,
    sessions,
    clock,
    metrics: metricsOf(parts),
    health,
    sending: {
      ...transmit,
      queryLimits: () => ({ maxTimeoutMs: settings.queryMaxTimeoutMs, maxQueries: settings.maxQueries }),
    },
    ...(journal && { journal }),
    ...(link && { replication: link }),
    limits: () => settings,
    server: { name, version: VERSION },
  });
  return serveRoutes(routes, { title: TITLE, version: VERSION, maxBodyBytes, bodyTimeoutMs, access, log });
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
    transmit,
    integrations,
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
function healthOf(
  { stores, pipelines, transmit, integrations, link, tls, clock }: ApiParts,
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
        ...(tls && { tls: tls.health() }),
        ...(link?.certificate.endMs !== undefined && { replication_certificate: link.certificate.health() }),
      },
      busSilenceMs: busSilenceMs(),
      startedMs,
      nowMs: clock.monoMs(),
    });
}

/** Removes idle devices, stale fragments and expired sessions, and checks for alerts; returns the timer. */
function runHousekeeping(
  { stores: { feed: { broker, sessions } }, pipelines, integrations, clock, stall, health, beat }: ApiParts & {
    health: () => Health;
    beat: () => void;
  },
  deviceIdleTimeoutMs: () => number,
): ReturnType<typeof setInterval> {
  let lastRoundMs = clock.monoMs();
  const round = () => {
    const nowMs = clock.monoMs();
    // All frames received before the last round are processed by now, even if the process was suspended in between.
    for (const { assembler } of pipelines) assembler.expire(lastRoundMs);
    broker.registry.expire(lastRoundMs, deviceIdleTimeoutMs());
    sessions.runHousekeeping();
    integrations.check({ broker, pipelines, health: health() }, lastRoundMs);
    lastRoundMs = nowMs;
    beat();
  };
  return setInterval(() => stall.run("housekeeping", round), HOUSEKEEPING_MS);
}
