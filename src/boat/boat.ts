import {
  ALL_ADDRESSES,
  type Clock,
  type ListenAddress,
  type Logger,
  silentLogger,
  StallDetector,
  systemClock,
} from "../base/mod.ts";
import { type Broker, DEFAULT_MAX_VALUES } from "../broker/mod.ts";
import type { CanBus } from "../can/mod.ts";
import type { Message } from "../frame/mod.ts";
import { BOAT_DEFAULTS, type BoatLimits, type ServerOptions, sessionLimitsOf } from "./limits.ts";
import { BusCounter, busPipelinesOf, openBuses } from "./bus_pipelines.ts";
import { type BlackBoxSettings, BoatBlackBox } from "./black_box.ts";
import { ClockRepair } from "./clock_repair.ts";
import { BoatDoctor, type BoatDoctorOptions } from "./doctor.ts";
import { type IntegrationOptions, Integrations } from "./integrations.ts";
import { apiOf, type ApiParts, healthOf, nameOf, signalkOf } from "./api.ts";
import { linkOf, openStored, type ReplicationOptions } from "./replication.ts";
import { BoatFeed, type StoreOptions } from "../feed/mod.ts";
import { trueClockOf } from "./true_clock.ts";
import { BoatTransmit, type BoatTransmitOptions } from "./transmit.ts";
import { Access, findWebApps, type Health, type LimitInForce, type VesselSettings } from "../http/mod.ts";
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
import { Past } from "../past/mod.ts";
import { SeriesRollup } from "../series/mod.ts";
import { SourceHistory, StreamMemory } from "../stream/mod.ts";
import type { SendSettings } from "../transmit/mod.ts";
import type { AlertRules } from "../integrations/mod.ts";
import { BoatLink } from "../replication/mod.ts";

/** Options of a boat server. Only `buses` is required. */
export interface BoatOptions
  extends
    Partial<BoatLimits>,
    ServerOptions,
    StoreOptions,
    BoatTransmitOptions,
    IntegrationOptions,
    BoatDoctorOptions,
    BlackBoxSettings {
  /** The buses to serve, not opened yet. */
  buses: readonly CanBus[];
  /** Default all addresses, port 8089. */
  listen?: ListenAddress;
  /** Unfinished multi-frame messages kept for each bus; default 4096. */
  maxAssemblies?: number;
  /** Certificate and key; default none: HTTP instead of HTTPS. */
  tls?: TlsPaths;
  /** Settings that are limits, listed at /limits; default none. */
  limitsInForce?: () => readonly LimitInForce[];
  /** Signal K for clients, with what is known of the vessel; default: off. */
  signalk?: VesselSettings;
  /** Directory with web apps for Signal K, as npm installs them; default none. */
  webApps?: string;
  /** Most bytes of the log of which device gave which quantity, in the state directory; 0: none. Default 8 MB. */
  sourceHistoryBytes?: number;
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

/** Options with defaults; `reload` changes the limits among them. */
function settingsOf(options: BoatOptions) {
  return { ...BOAT_DEFAULTS, ...options };
}
type BoatSettings = ReturnType<typeof settingsOf>;

/** Opens the parts of a boat server, the buses not yet. If it fails, the caller stops the given parts. */
async function openParts(
  settings: BoatSettings,
  given: ListeningParts,
): Promise<ApiParts & { closeBuses: () => Promise<void> }> {
  const { buses, replication } = settings;
  const { stall, tls, clock, log } = given;
  const limits: BoatLimits = settings;
  const counters = buses.map((bus) => new BusCounter(bus));
  const counts = () => counters.map((counter) => counter.read());
  const shared = { buses: buses.map(({ name }) => name), sessionLimits: () => sessionLimitsOf(limits), clock, log };
  const stored = replication && await openStored(settings, { clock, log });
  const stores = await BoatFeed.open(settings, { ...shared, stored, counts });
  const { feed, feed: { broker } } = stores;
  const hub = feed.openHub({ stall, memory: new StreamMemory(settings.streamMemoryBytes) });
  hub.sources.prefer(limits.preferredSources);
  const access = new Access(limits, { log, isOverTls: tls !== undefined });
  const alerts = { ...settings.alerts, ...alertRulesOf(limits) };
  const transmit = new BoatTransmit(settings, { broker, buses, sending: () => sendSettingsOf(limits), clock, log });
  const blackBox = await BoatBlackBox.open(settings, { stores, clock, log });
  const raised = blackBox?.alert;
  const integrations = await Integrations.open({ ...settings, alerts }, {
    ...{ broker, hub, transmit, raised, clock, stall, log },
  });
  const clockRepair = clockRepairOf(settings, { stores, clock, log });
  const drops = (bus: number) => counters[bus]?.drops;
  const doctor = await BoatDoctor.open(settings, { buses, drops, epoch: () => stores.epoch.toHex(), clock, log });
  if (doctor) alertOfFindings(doctor, integrations);
  const publish = (message: Message) => {
    stores.publish(message);
    clockRepair?.message(message, broker.head);
    transmit.message(message);
    doctor?.message(message, broker.head);
  };
  const link = replication &&
    linkOf(replication, { feed: stores, stored, limits: () => limits.replicationLimits, clock, log });
  const { maxAssemblies } = settings;
  const incomplete = (bus: number, id: number) => doctor?.incomplete(bus, id);
  const { pipelines, close: closeBuses } = busPipelinesOf(buses, {
    ...{ counters, maxAssemblies, publish, incomplete, log, stall },
  });
  const rollup = rollupOf(settings.seriesPgns, { stores, log });
  const past = pastOf(limits, { stores, maxValues: settings.maxValues, log });
  const signalk = signalkOf(settings, { broker, hub, clock, log });
  const webApps = settings.webApps === undefined ? [] : await findWebApps(settings.webApps, log);
  return {
    ...given,
    stores,
    stored,
    rollup,
    past,
    clockRepair,
    doctor,
    blackBox,
    sourceHistory: sourceHistoryOf(settings, { stores, hub, clock, log }),
    hub,
    signalk,
    webApps,
    access,
    transmit,
    integrations,
    link,
    pipelines,
    counts,
    identity: transmit.identity,
    closeBuses,
  };
}

/** Starts the rest of a boat server. If it fails, the caller stops the given parts. */
async function startListening(options: BoatOptions, given: ListeningParts): Promise<Boat> {
  const { listener, pending, stall, tls, log } = given;
  const settings = settingsOf(options);
  const limits: BoatLimits = settings;
  const parts = await openParts(settings, given);
  const { stores, hub, signalk, transmit, integrations, link, pipelines, identity, closeBuses } = parts;
  const health = healthOf(parts, () => limits.busSilenceThresholdMs);
  const handler = apiOf(parts, { ...options, settings, name: nameOf(options), health });
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
    await Promise.all([parts.blackBox?.stop(), parts.sourceHistory?.stop()]);
    signalk?.stop();
    hub.stop();
    stall.stop();
    await closeStores(parts);
  };
  try {
    await Promise.all([integrations.start(), link && BoatLink.prepare()]);
    const { gateway: tap } = integrations;
    await openBuses(pipelines, { ready: () => stores.ready(), identity, transmit, tap, log, stall });
    identity?.start();
    transmit.start();
    link?.start();
    pending.started(handler);
    integrations.announce(listener.address, {
      tls: tls !== undefined,
      services: signalk?.services({ tls: tls !== undefined }) ?? [],
    });
    let stopping: Promise<void> | undefined;
    return {
      address: listener.address,
      heartbeats: () => heartbeats,
      broker: stores.feed.broker,
      reload: (changed) => reloadParts(parts, Object.assign(limits, changed)),
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

/** Passes changed limits on to the parts that keep them. */
function reloadParts({ access, hub, integrations, tls }: ApiParts, limits: BoatLimits): void {
  access.reload(limits);
  hub.sources.prefer(limits.preferredSources);
  integrations.reload(alertRulesOf(limits));
  void tls?.check();
}

function alertRulesOf({ alertDedupWindowMs, busSilenceTimeoutMs }: BoatLimits): AlertRules {
  return { dedupWindowMs: alertDedupWindowMs, busSilenceMs: busSilenceTimeoutMs };
}

function sendSettingsOf({ sendEnabled, readOnly, sendRules, sendRateLimit, sendRateBurst }: BoatLimits): SendSettings {
  return { enabled: sendEnabled, readOnly, rules: sendRules, rateLimit: sendRateLimit, rateBurst: sendRateBurst };
}

/** The sidecars are closed last, after the last block was written. */
async function closeStores(
  { stores, stored, rollup, past, clockRepair, doctor }: Pick<
    ApiParts,
    "stores" | "stored" | "rollup" | "past" | "clockRepair" | "doctor"
  >,
): Promise<void> {
  await doctor?.stop();
  await clockRepair?.stop();
  await past?.stop();
  await stores.close();
  await stored?.close();
  await rollup?.stop();
}

/** Which device gave which quantity when; undefined if it is off, or there is no directory for it. */
function sourceHistoryOf(
  { stateDirectory: directory, sourceHistoryBytes: maxBytes }: Pick<
    BoatSettings,
    "stateDirectory" | "sourceHistoryBytes"
  >,
  { stores: { journal, feed: { broker } }, hub: { sources }, clock, log }: Pick<
    ApiParts,
    "stores" | "hub" | "clock" | "log"
  >,
): SourceHistory | undefined {
  if (directory === undefined || maxBytes === 0) return undefined;
  return new SourceHistory({ directory, maxBytes, sources, broker, clock: trueClockOf(clock, journal), log });
}

function alertOfFindings({ doctor }: BoatDoctor, { alerts }: Integrations): void {
  doctor.listen(({ event, key, finding: { bus, kind, severity, src, name, text, advice } }) => {
    const device = { ...(src !== undefined && { src }), ...(name !== undefined && { name }) };
    alerts.finding({ key, bus, kind, severity, ...device, text, advice }, { isOver: event === "ended" });
  });
}

/** Corrects recorded times; undefined if nothing is recorded. */
function clockRepairOf(
  { journal }: Pick<BoatOptions, "journal">,
  { stores, clock, log }: Pick<ApiParts, "stores" | "clock" | "log">,
): ClockRepair | undefined {
  const { feed: { broker }, journal: recording } = stores;
  if (!journal || !recording) return undefined;
  return new ClockRepair({ directory: journal.directory, journal: recording, broker, clock, log });
}

/** What was shown at any time of the journal; undefined if nothing is recorded. */
function pastOf(
  limits: BoatLimits,
  { stores: { journal, feed: { broker: { buses, decoder } } }, maxValues = DEFAULT_MAX_VALUES, log }:
    & Pick<ApiParts, "stores" | "log">
    & { maxValues: number | undefined },
): Past | undefined {
  if (!journal) return undefined;
  const { index } = journal;
  const deviceIdleTimeoutMs = () => limits.deviceIdleTimeoutMs;
  return new Past({ index, buses, decoder, maxValues, deviceIdleTimeoutMs, forgets: "start", log });
}

/** Builds the sidecars of the journal; undefined if nothing is recorded, or no PGNs are configured. */
function rollupOf(
  pgns: readonly number[],
  { stores: { journal, feed: { broker: { buses, decoder } } }, log }: Pick<ApiParts, "stores" | "log">,
): SeriesRollup | undefined {
  return journal && pgns.length > 0 ? new SeriesRollup({ index: journal.index, pgns, buses, decoder, log }) : undefined;
}

/** Removes idle devices, stale fragments and expired sessions, and checks for alerts; returns the timer. */
function runHousekeeping(
  {
    stores: { feed: { broker, sessions } },
    clockRepair,
    doctor,
    blackBox,
    sourceHistory,
    pipelines,
    integrations,
    clock,
    stall,
    health,
    beat,
  }:
    & ApiParts
    & {
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
    clockRepair?.runHousekeeping();
    doctor?.runHousekeeping(lastRoundMs);
    integrations.check({ broker, pipelines, health: health() }, lastRoundMs);
    blackBox?.runHousekeeping();
    sourceHistory?.runHousekeeping();
    lastRoundMs = nowMs;
    beat();
  };
  return setInterval(() => stall.run("housekeeping", round), HOUSEKEEPING_MS);
}
