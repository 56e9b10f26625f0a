import {
  ALL_ADDRESSES,
  type Clock,
  type ListenAddress,
  type Logger,
  silentLogger,
  StallDetector,
  systemClock,
} from "../base/mod.ts";
import { type Broker, DEFAULT_DEVICE_IDLE_TIMEOUT_MS, DEFAULT_MAX_VALUES, DEFAULT_RING_FRAMES } from "../broker/mod.ts";
import { type CanBus, DEFAULT_MAX_ASSEMBLIES } from "../can/mod.ts";
import type { Message } from "../frame/mod.ts";
import type { BoatLimits } from "./limits.ts";
import { BusCounter, type BusPipeline, busPipelinesOf, openBuses } from "./bus_pipelines.ts";
import { type IntegrationOptions, Integrations } from "./integrations.ts";
import { linkOf, type ReplicationOptions } from "./replication.ts";
import { BoatFeed, type StoreOptions } from "../feed/mod.ts";
import { BoatTransmit, type BoatTransmitOptions } from "./transmit.ts";
import {
  Access,
  boatRoutes,
  DEFAULT_BODY_TIMEOUT_MS,
  DEFAULT_MAX_BODY_BYTES,
  evaluateHealth,
  type Health,
  Metrics,
  serveRoutes,
} from "../http/mod.ts";
import {
  type ConnectionOptions,
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
import { type SessionLimits, type StreamHub, StreamMemory } from "../stream/mod.ts";
import { IdentityRequests, type SendSettings } from "../transmit/mod.ts";
import type { AlertRules } from "../integrations/mod.ts";
import { BoatLink, LINK_LIMITS } from "../replication/mod.ts";
import { VERSION } from "../version.ts";

/** How a boat server is made. Only `buses` must be given. */
export interface BoatOptions
  extends Partial<BoatLimits>, StoreOptions, BoatTransmitOptions, IntegrationOptions, ConnectionOptions {
  /** The buses to serve, not opened yet. */
  buses: readonly CanBus[];
  /** Default all addresses, port 8089. */
  listen?: ListenAddress;
  /** Unfinished multi-frame messages kept for each bus; default 4096. */
  maxAssemblies?: number;
  /** Most bytes that wait for one slow client; default 1 MiB. */
  streamBufferBytes?: number;
  /** Most bytes that wait for the clients of all streams, default 256 MiB. */
  streamMemoryBytes?: number;
  /** Ask devices who they are; default true. */
  discovery?: boolean;
  /** Longest body of a request, default 64 KiB. */
  maxBodyBytes?: number;
  /** Longest time that a body may take, milliseconds; default 30 s. */
  bodyTimeoutMs?: number;
  /** Certificate and key; left out: HTTP instead of HTTPS. */
  tls?: TlsPaths;
  /** The cloud that every frame goes to; left out: none. */
  replication?: ReplicationOptions;
  /** Default silent. */
  log?: Logger;
  /** Default the machine's. */
  clock?: Clock;
}

/** A running boat server. */
export interface Boat {
  /** Where it listens. */
  readonly address: ListenAddress;
  /** Rounds of housekeeping so far, one a second: a server that works has more and more. */
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

/** What a boat server does when nothing else is said. */
export const BOAT_DEFAULTS = {
  /** Port on all addresses. */
  port: 8089,
  ringFrames: DEFAULT_RING_FRAMES,
  maxValues: DEFAULT_MAX_VALUES,
  maxAssemblies: DEFAULT_MAX_ASSEMBLIES,
  deviceIdleTimeoutMs: DEFAULT_DEVICE_IDLE_TIMEOUT_MS,
  sendEnabled: false,
  readOnly: false,
  sendRules: [],
  sendRateLimit: 0,
  sendRateBurst: 10,
  queryMaxTimeoutMs: 60_000,
  maxQueries: 64,
  tokens: [],
  allowOrigins: [],
  alertDedupWindowMs: 5 * 60_000,
  maxStreams: 1000,
  /** What `maxConnections` is at most by itself. */
  mostConnections: 4096,
  maxHistory: 1_000_000,
  maxHistoryRequests: 4,
  maxSessions: 1000,
  maxSessionsPerOwner: 100,
  /** A week. */
  maxBufferDurationMs: 7 * 86_400_000,
  replicationLimits: LINK_LIMITS,
  maxBodyBytes: DEFAULT_MAX_BODY_BYTES,
  bodyTimeoutMs: DEFAULT_BODY_TIMEOUT_MS,
  /** Some seconds of a full bus. */
  streamBufferBytes: 1024 * 1024,
} as const;
const TITLE = "Vessel Bus Gateway: boat server";
/** How often idle devices and stale fragments are looked for. */
const HOUSEKEEPING_MS = 1000;

/**
 * Starts a boat server: buses → assembler → broker → streams; and back, what clients and we ourselves have to say.
 *
 * @throws {BusError} a bus cannot be opened
 * @throws {ListenError} the port cannot be had
 * @throws {TlsError} certificate and key cannot be used
 * @throws {RangeError} the ring's size is no power of two
 */
export async function startBoat(options: BoatOptions): Promise<Boat> {
  const { log = silentLogger, clock = systemClock } = options;
  const connections = await openConnections(options, { most: BOAT_DEFAULTS.mostConnections, clock });
  const tls = options.tls && await TlsFiles.open({ ...options.tls, clock, log });
  const stall = new StallDetector(log);
  const pending = new PendingHandler();
  let listener: Listener | undefined;
  try {
    // First of all: a start that fails for its port changes nothing on disk.
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

/** A port that listens, and what is there before it does. */
interface ListeningParts {
  listener: Listener;
  /** Requests wait for its handler. */
  pending: PendingHandler;
  stall: StallDetector;
  connections: Connections;
  tls: TlsFiles | undefined;
  clock: Clock;
  log: Logger;
}

/** Starts the rest of a boat server. If that fails, the given parts are left to the caller. */
async function startListening(options: BoatOptions, given: ListeningParts): Promise<Boat> {
  const { buses } = options;
  const { listener, pending, stall, tls, clock, log } = given;
  const { maxAssemblies, ...rest } = { ...BOAT_DEFAULTS, ...options };
  const limits = limitsOf(options);
  const counters = buses.map((bus) => new BusCounter(bus));
  const counts = () => counters.map((counter) => counter.read());
  const names = buses.map(({ name }) => name);
  const sessionLimits = () => sessionLimitsOf(limits);
  const stores = await BoatFeed.open(options, { buses: names, counts, sessionLimits, clock, log });
  const { feed, feed: { broker } } = stores;
  const hub = feed.openHub({ stall, memory: new StreamMemory(options.streamMemoryBytes) });
  const access = new Access(limits, { log, isOverTls: tls !== undefined });
  const alerts = { ...options.alerts, ...alertRulesOf(limits) };
  const outlets = await Integrations.open({ ...options, alerts }, { broker, clock, stall, log });
  const voice = new BoatTransmit(options, { broker, buses, sending: () => sendSettingsOf(limits), clock, log });
  const take = (message: Message) => {
    stores.publish(message);
    voice.message(message);
  };
  const link = options.replication &&
    linkOf(options.replication, { feed: stores, limits: () => limits.replicationLimits, clock, log });
  const { lines, close: closeLines } = busPipelinesOf(buses, { counters, maxAssemblies, take, log, stall });
  const identity = options.discovery === false ? undefined : new IdentityRequests({ broker, buses, clock, log });
  const parts = { ...given, stores, hub, access, voice, outlets, link, lines, identity };
  const health = healthOf(parts, () => limits.busSilenceThresholdMs);
  const handler = apiOf(parts, { ...rest, name: nameOf(options), limits, health });
  let heartbeats = 0;
  const housekeeping = runHousekeeping(
    { ...parts, health, beat: () => heartbeats++ },
    () => limits.deviceIdleTimeoutMs,
  );

  const stopParts = async () => {
    clearInterval(housekeeping);
    tls?.stop();
    identity?.stop();
    voice.stop();
    await closeLines();
    await Promise.all([link?.stop(), outlets.stop()]);
    hub.stop();
    stall.stop();
    await stores.close();
  };
  try {
    await Promise.all([outlets.start(), link && BoatLink.prepare()]);
    await openBuses(lines, { ready: () => stores.ready(), identity, voice, log, stall });
    identity?.start();
    voice.start();
    link?.start();
    pending.started(handler);
    outlets.announce(listener.address, { tls: tls !== undefined });
    let stopping: Promise<void> | undefined;
    return {
      address: listener.address,
      heartbeats: () => heartbeats,
      broker,
      reload: (changed) => {
        Object.assign(limits, changed);
        access.reload(changed);
        outlets.reload(alertRulesOf(limits));
        void tls?.check();
      },
      stop: () => stopping ??= stopParts().then(listener.stop),
    };
  } catch (error) {
    await stopParts();
    throw error;
  }
}

/** Listens for HTTPS where there is a certificate, and for HTTP where there is none. */
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

/** The settings that may change, with what they are when nothing is said. */
function limitsOf(options: BoatOptions): BoatLimits {
  const { deviceIdleTimeoutMs, busSilenceThresholdMs, ...rest } = { ...BOAT_DEFAULTS, ...options };
  const { maxStreams, maxHistory, maxHistoryRequests, maxSessions, maxSessionsPerOwner, maxBufferDurationMs } = rest;
  const { sendEnabled, readOnly, sendRules, sendRateLimit, sendRateBurst, queryMaxTimeoutMs, maxQueries } = rest;
  const sending = { sendEnabled, readOnly, sendRules, sendRateLimit, sendRateBurst, queryMaxTimeoutMs, maxQueries };
  const sessions = { maxSessions, maxSessionsPerOwner, maxBufferDurationMs };
  const streams = { maxStreams, maxHistory, maxHistoryRequests, ...sessions };
  const { tokens, allowOrigins, replicationLimits } = rest;
  const alerts = { alertDedupWindowMs: rest.alertDedupWindowMs, busSilenceTimeoutMs: options.busSilenceTimeoutMs };
  return {
    deviceIdleTimeoutMs,
    busSilenceThresholdMs,
    tokens,
    allowOrigins,
    replicationLimits,
    ...sending,
    ...streams,
    ...alerts,
  };
}

function sessionLimitsOf({ maxSessions, maxSessionsPerOwner, maxBufferDurationMs }: BoatLimits): SessionLimits {
  return { maxSessions, maxSessionsPerOwner, maxTimeoutMs: maxBufferDurationMs };
}

function alertRulesOf({ alertDedupWindowMs, busSilenceTimeoutMs }: BoatLimits): AlertRules {
  return { dedupWindowMs: alertDedupWindowMs, busSilenceMs: busSilenceTimeoutMs };
}

function sendSettingsOf({ sendEnabled, readOnly, sendRules, sendRateLimit, sendRateBurst }: BoatLimits): SendSettings {
  return { enabled: sendEnabled, readOnly, rules: sendRules, rateLimit: sendRateLimit, rateBurst: sendRateBurst };
}

/** What the API is made of. */
interface ApiParts {
  stores: BoatFeed;
  hub: StreamHub;
  stall: StallDetector;
  access: Access;
  voice: BoatTransmit;
  outlets: Integrations;
  link: BoatLink | undefined;
  lines: readonly BusPipeline[];
  identity: IdentityRequests | undefined;
  tls: TlsFiles | undefined;
  connections: Connections;
  clock: Clock;
  log: Logger;
}

/** What the server calls itself. */
function nameOf({ mdnsName, replication }: BoatOptions): string {
  return mdnsName ?? replication?.instanceId ?? TITLE;
}

/** Answers requests. */
function apiOf(
  parts: ApiParts,
  { name, limits, health, streamBufferBytes, maxBodyBytes, bodyTimeoutMs }: {
    name: string;
    limits: BoatLimits;
    health: () => Health;
    streamBufferBytes: number;
    maxBodyBytes: number;
    bodyTimeoutMs: number;
  },
): Handler {
  const { stores: { feed: { broker, sessions }, journal }, hub, access, voice, link, tls, clock, log } = parts;
  const routes = boatRoutes({
    broker,
    hub,
    sessions,
    clock,
    metrics: new Metrics({
      ...{ ...parts, version: VERSION, broker, sessions, journal, replication: link },
      certificates: () => [
        ...(tls ? [{ certificate: "tls", endMs: tls.endMs }] : []),
        ...(link ? [{ certificate: "replication", endMs: link.certificate.endMs }] : []),
      ],
    }),
    health,
    sending: {
      ...voice,
      queryLimits: () => ({ maxTimeoutMs: limits.queryMaxTimeoutMs, maxQueries: limits.maxQueries }),
    },
    ...(journal && { journal }),
    ...(link && { replication: link }),
    limits: () => ({ ...limits, streamBufferBytes }),
    server: { name, version: VERSION },
  });
  return serveRoutes(routes, { title: TITLE, version: VERSION, maxBodyBytes, bodyTimeoutMs, access, log });
}

/** Judges the server whenever it is called. */
function healthOf(
  { stores, lines, voice, outlets, link, tls, clock }: ApiParts,
  busSilenceMs: () => number | undefined,
): () => Health {
  const startedMs = clock.monoMs();
  return () =>
    evaluateHealth({
      broker: stores.feed.broker,
      lines,
      journal: stores.journal,
      numbers: stores.numbers,
      replication: link,
      others: {
        ...voice.health(),
        ...outlets.health(),
        ...(tls && { tls: tls.health() }),
        ...(link?.certificate.endMs !== undefined && { replication_certificate: link.certificate.health() }),
      },
      busSilenceMs: busSilenceMs(),
      startedMs,
      nowMs: clock.monoMs(),
    });
}

/** Looks for idle devices, stale fragments, sessions left, and what is to be told; returns the timer. */
function runHousekeeping(
  { stores: { feed: { broker, sessions } }, lines, outlets, clock, stall, health, beat }: ApiParts & {
    health: () => Health;
    beat: () => void;
  },
  deviceIdleTimeoutMs: () => number,
): ReturnType<typeof setInterval> {
  let lastRoundMs = clock.monoMs();
  const round = () => {
    const nowMs = clock.monoMs();
    // By now everything is read that had come by the last round, even if the process stood still in between.
    for (const { assembler } of lines) assembler.expire(lastRoundMs);
    broker.registry.expire(lastRoundMs, deviceIdleTimeoutMs());
    sessions.runHousekeeping();
    outlets.look({ broker, lines, health: health() }, lastRoundMs);
    lastRoundMs = nowMs;
    beat();
  };
  return setInterval(() => stall.run("housekeeping", round), HOUSEKEEPING_MS);
}
