import { type Clock, type ListenAddress, type Logger, silentLogger, StallDetector, systemClock } from "../base/mod.ts";
import { BOAT_DEFAULTS } from "../boat/mod.ts";
import { RingPool } from "../broker/mod.ts";
import {
  CloudService,
  INSTANCE_DEFAULTS,
  Instances,
  type InstanceSettings,
  type OpenReplica,
  Replica,
  Scrub,
} from "../cloud/mod.ts";
import { type CloudPorts, openListeners, type PortListenerState } from "./listeners.ts";
import {
  Access,
  type AccessToken,
  CloudMetrics,
  cloudRoutes,
  countDamaged,
  countRecordings,
  countRefused,
  countUnarchived,
  evaluateCloudHealth,
  ReplicaReaders,
  serveRoutes,
} from "../http/mod.ts";
import { StreamMemory } from "../stream/mod.ts";
import { type ConnectionOptions, type Connections, type Handler, openConnections } from "../listen/mod.ts";
import { Keepers, type RetentionSettings } from "../journal/mod.ts";
import { VERSION } from "../version.ts";

/** Settings of a cloud server that may change while it runs. */
export interface CloudLimits {
  /** Live frames a second that a boat may send on average; 0: no limit. Default 2000. */
  rateLimit: number;
  /** Live frames that a boat may send at once, default 500. */
  rateBurst: number;
  /** Frames that a boat's live stream may be behind; 0: no limit. Default 10 000. */
  maxLiveLagFrames: number;
  /** So long after a boat was last heard of, another machine with its identity is refused, milliseconds; default 1 h. */
  copyRefuseMs: number;
  /** Most boats, default 10 000. */
  maxInstances: number;
  /** A boat that neither sends nor is asked about leaves the memory after so long, milliseconds; default 5 minutes. */
  brokerIdleTimeoutMs: number;
  /** Most boats in memory that neither send nor are asked about, default 500. */
  maxIdleBrokers: number;
  /** A device that says nothing for so long while its boat sends is removed, milliseconds; 0: never. Default 5 minutes. */
  deviceIdleTimeoutMs: number;
  /** Who may ask; none (the default): everybody. */
  tokens: readonly AccessToken[];
  /** Other origins whose pages may use sessions; default none. */
  allowOrigins: readonly string[];
  /** Most open streams of all boats, default 10 000. */
  maxStreams: number;
  /** Most frames of one answer of history, default 1 000 000. */
  maxHistory: number;
  /** Most requests for history answered at once, of all boats; default 4. */
  maxHistoryRequests: number;
  /** Most sessions of clients for each boat, default 1000. */
  maxSessions: number;
  /** Most of them of one token, or of one address where there are no tokens; default 100. */
  maxSessionsPerOwner: number;
  /** Longest time that a session is kept while its client is away, milliseconds; default 7 days. */
  maxBufferDurationMs: number;
  /** Bytes a second of the boats' files that are read again and checked; 0: none. Default 1 MiB. */
  scrubBytesPerSecond: number;
}

/** How a cloud records what boats send. */
export interface CloudRecordingOptions {
  /** Bytes of a block of live frames, a power of two; default 256 KiB. */
  blockBytes?: number;
  /** Default `zstd`. */
  compression?: "none" | "zstd";
  /** A new file of live frames begins after so long, milliseconds; 0: never. Default an hour. */
  rotateDurationMs?: number;
  /** A new file begins when one is larger, bytes; 0 (the default): never. */
  rotateBytes?: number;
  /** Longest time that a frame is in memory alone, milliseconds; default 1000. */
  syncIntervalMs?: number;
  /** Live frames of one boat that wait in memory for a disk, bytes; default 2 MiB. */
  maxBacklogBytes?: number;
  /** Which files of each boat are kept; left out: all. */
  retention?: RetentionSettings;
  /** Program that archives files; see the retention's `archive`. */
  archiveCommand?: string;
  /**
   * A start first archives every file that was not, for at most so long, milliseconds; then boats are served, and it goes
   * on. Default 60 s.
   */
  archiveStartTimeoutMs?: number;
}

/** How a cloud server is made. */
export interface CloudOptions extends Partial<CloudLimits>, ConnectionOptions {
  /** Directory with a directory for each boat; made when missing. */
  dataDirectory: string;
  /** Where it listens. */
  ports: CloudPorts;
  /** How it records. */
  journal?: CloudRecordingOptions;
  /** Most frames of one boat in memory, a power of two; default 65536. */
  ringFrames?: number;
  /** (Device, PGN) pairs kept as last values of one boat; default 8192. */
  maxValues?: number;
  /** Most bytes that wait for one slow client; default 1 MiB. */
  streamBufferBytes?: number;
  /** Most bytes that wait for the clients of all streams, default 256 MiB. */
  streamMemoryBytes?: number;
  /** Longest body of a request, default 64 KiB. */
  maxBodyBytes?: number;
  /** Longest time that a body may take, milliseconds; default 30 s. */
  bodyTimeoutMs?: number;
  /** Ends a start that still archives. */
  signal?: AbortSignal;
  /** Default silent. */
  log?: Logger;
  /** Default the machine's. */
  clock?: Clock;
}

/** A running cloud server. */
export interface Cloud {
  /** Where it listens; the same one twice on a single port. */
  readonly addresses: { readonly grpc: ListenAddress; readonly http: ListenAddress };
  /** Rounds of housekeeping so far, one a second. */
  readonly heartbeats: () => number;
  /** Changes limits while running, and looks at all files of certificates now. */
  reload: (limits: Partial<CloudLimits>) => void;
  /** Ends streams, writes everything, stops listening. Safe to call twice. */
  stop: () => Promise<void>;
}

const TITLE = "Vessel Bus Gateway: cloud server";
const HOUSEKEEPING_MS = 1000;

/** What a cloud does when nothing else is said. */
export const CLOUD_DEFAULTS = {
  ...INSTANCE_DEFAULTS,
  maxStreams: 10_000,
  /** What `maxConnections` is at most by itself: boats and readers. */
  mostConnections: 32_768,
  /** A tenth of a boat's own: what a boat sends is taken of thousands. */
  maxValues: 8192,
  scrubBytesPerSecond: 1024 * 1024,
  archiveStartTimeoutMs: 60_000,
} as const;

/**
 * Starts a cloud server: boats' calls → instances (journal, then replica) → streams; and blocks into files.
 *
 * @throws {FileError} the data directory is used by another process, or cannot be written
 * @throws {ListenError} a port cannot be had
 * @throws {TlsError} certificate and key cannot be used
 * @throws {AuthoritiesError} the authorities of boats cannot be used
 * @throws {RevocationError} the list of revoked certificates cannot be used
 * @throws the reason of `signal`
 */
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const { log = silentLogger, clock = systemClock, dataDirectory } = options;
  const limits: CloudLimits = limitsOf(options);
  const settings = (): InstanceSettings => ({ ...CLOUD_DEFAULTS, ...options.journal, ...options, ...limits });
  const stall = new StallDetector(log);
  const openReplica = replicasOf(options, { limits, clock, log });
  const late: { keepers?: Keepers | undefined } = {};
  const onFileEnded = (id: string) => late.keepers?.wake(id);
  const instances = await Instances.open({ dataDirectory, settings, openReplica, onFileEnded, clock, log });
  const bytesPerSecond = () => limits.scrubBytesPerSecond;
  const scrub = new Scrub({ instances, bytesPerSecond, clock, log });
  const keepers = late.keepers = keepersOf(options.journal, { instances, log, clock });
  const service = new CloudService({ instances, settings, clock, log });
  const readers = new ReplicaReaders({
    clock,
    stall,
    log,
    memory: new StreamMemory(options.streamMemoryBytes),
    limits: () => ({ ...limits, streamBufferBytes: options.streamBufferBytes ?? BOAT_DEFAULTS.streamBufferBytes }),
  });
  const access = new Access(limits, { log, isOverTls: options.ports.kind === "single" });
  const connections = await openConnections(options, { most: CLOUD_DEFAULTS.mostConnections, clock });
  const parts = {
    ...options,
    connections,
    instances,
    keepers,
    service,
    readers,
    access,
    stall,
    clock,
    log,
  };
  let heartbeats = 0;
  const housekeeping = setInterval(() => {
    stall.run("housekeeping", () => instances.runHousekeeping());
    heartbeats++;
  }, HOUSEKEEPING_MS);
  const stopParts = async () => {
    clearInterval(housekeeping);
    service.stop();
    await scrub.stop();
    await instances.stop();
    await keepers?.stop();
    stall.stop();
  };
  try {
    if (keepers) await sweep(keepers, options, log);
    const doors = await openListeners(options.ports, { ...parts, handler: (state) => apiOf(parts, state) });
    keepers?.start();
    instances.settle();
    scrub.start();
    let stopping: Promise<void> | undefined;
    return {
      addresses: doors.addresses,
      heartbeats: () => heartbeats,
      reload: (changed) => {
        Object.assign(limits, changed);
        access.reload(changed);
        doors.look();
      },
      stop: () => stopping ??= doors.close().then(stopParts).then(doors.end),
    };
  } catch (error) {
    await stopParts();
    throw error;
  }
}

/** The settings that may change, with what they are when nothing is said. */
function limitsOf(options: CloudOptions): CloudLimits {
  const { maxHistory, maxHistoryRequests, tokens, allowOrigins } = { ...BOAT_DEFAULTS, ...options };
  const { maxSessions, maxSessionsPerOwner, maxBufferDurationMs } = { ...BOAT_DEFAULTS, ...options };
  const { maxStreams, rateLimit, rateBurst, maxLiveLagFrames, maxInstances } = { ...CLOUD_DEFAULTS, ...options };
  const { brokerIdleTimeoutMs, maxIdleBrokers, deviceIdleTimeoutMs } = { ...CLOUD_DEFAULTS, ...options };
  const { scrubBytesPerSecond, copyRefuseMs } = { ...CLOUD_DEFAULTS, ...options };
  const boats = { rateLimit, rateBurst, maxLiveLagFrames, maxInstances, copyRefuseMs };
  const memory = { brokerIdleTimeoutMs, maxIdleBrokers, deviceIdleTimeoutMs };
  const sessions = { maxSessions, maxSessionsPerOwner, maxBufferDurationMs };
  const readers = { maxStreams, maxHistory, maxHistoryRequests, ...sessions };
  return { ...boats, ...memory, ...readers, tokens, allowOrigins, scrubBytesPerSecond };
}

/** Makes the replicas of boats. */
function replicasOf(
  { ringFrames = BOAT_DEFAULTS.ringFrames, maxValues = CLOUD_DEFAULTS.maxValues }: CloudOptions,
  { limits, clock, log }: { limits: CloudLimits; clock: Clock; log: Logger },
): OpenReplica {
  const pool = new RingPool();
  const sessionLimits = () => {
    const { maxSessions, maxSessionsPerOwner, maxBufferDurationMs: maxTimeoutMs } = limits;
    return { maxSessions, maxSessionsPerOwner, maxTimeoutMs };
  };
  return (parts) => {
    const { deviceIdleTimeoutMs } = limits;
    const shared = { ringFrames, maxValues, deviceIdleTimeoutMs, sessionLimits, pool, clock, log };
    return Replica.open({ ...parts, ...shared });
  };
}

/** A keeper of all boats' files, where files are to be deleted or archived. */
function keepersOf(
  { retention, archiveCommand }: CloudRecordingOptions = {},
  { instances, clock, log }: { instances: Instances; clock: Clock; log: Logger },
): Keepers | undefined {
  if (retention === undefined) return undefined;
  return new Keepers({
    directories: () => instances,
    settings: retention,
    command: archiveCommand,
    isOpen: (id, name) => instances.get(id)?.isFileOpen(name) ?? false,
    onPause: (id, isPaused) => instances.get(id)?.pause(isPaused),
    onRemoving: async (id, name) => await instances.get(id)?.prune(name),
    onRemoved: (id, name) => instances.get(id)?.noteRemoved(name),
    log,
    clock,
  });
}

/** Before boats are served what an earlier run has left is archived, as far as there is time. */
async function sweep(keepers: Keepers, { journal = {}, signal }: CloudOptions, log: Logger): Promise<void> {
  const { archiveStartTimeoutMs: archiveMs = CLOUD_DEFAULTS.archiveStartTimeoutMs } = journal;
  const isDone = await keepers.sweep({ archiveMs, ...(signal && { signal }) });
  if (!isDone) log.info("journal files are still being archived", { waitedMs: archiveMs });
}

/** Answers requests. */
function apiOf(
  { instances, keepers, readers, access, stall, connections, log, ...options }: CloudOptions & {
    connections: Connections;
    instances: Instances;
    keepers: Keepers | undefined;
    readers: ReplicaReaders;
    access: Access;
    stall: StallDetector;
    log: Logger;
  },
  doors: PortListenerState,
): Handler {
  const { maxBodyBytes = BOAT_DEFAULTS.maxBodyBytes, bodyTimeoutMs = BOAT_DEFAULTS.bodyTimeoutMs } = options;
  const metrics = new CloudMetrics({
    readers,
    stall,
    access,
    connections,
    version: VERSION,
    certificates: doors.certificates,
    archiveFailures: (id) => keepers?.status(id)?.archiveFailures ?? 0,
  });
  const health = () =>
    evaluateCloudHealth({
      instances,
      recordings: countRecordings(instances),
      damaged: countDamaged(instances),
      unarchived: countUnarchived(instances, keepers),
      ...countRefused(instances),
      others: doors.health(),
    });
  const routes = cloudRoutes({ instances, readers, metrics, health, server: { name: TITLE, version: VERSION } });
  return serveRoutes(routes, { title: TITLE, version: VERSION, maxBodyBytes, bodyTimeoutMs, access, log });
}
