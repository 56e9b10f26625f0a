import { type Clock, type ListenAddress, type Logger, silentLogger, StallDetector, systemClock } from "../base/mod.ts";
import { SERVER_DEFAULTS, type ServerLimits, type ServerOptions, sessionLimitsOf } from "../boat/mod.ts";
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
import { Access, serveRoutes } from "../http/mod.ts";
import { CloudMetrics, cloudRoutes, evaluateCloudHealth, ReplicaReaders } from "../http/cloud/mod.ts";
import { StreamMemory } from "../stream/mod.ts";
import { type Connections, type Handler, openConnections } from "../listen/mod.ts";
import { FleetRetention, type RetentionSettings } from "../journal/mod.ts";
import { type CloudNodeOptions, Sharing } from "./sharing.ts";
import { type CloudStoreOptions, Storing } from "./storing.ts";
import { VERSION } from "../version.ts";

/** Limits of a cloud server that may change while it runs. */
export interface CloudLimits extends
  ServerLimits,
  Pick<
    InstanceSettings,
    | "rateLimit"
    | "rateBurst"
    | "collectMs"
    | "maxLiveLagFrames"
    | "copyRefuseMs"
    | "maxInstances"
    | "brokerIdleTimeoutMs"
    | "maxIdleBrokers"
  > {
  /** Bytes a second of the boats' files that are read again and checked; 0: none. Default 1 MiB. */
  scrubBytesPerSecond: number;
}

/** Options of the journals of a cloud. */
export interface CloudRecordingOptions extends
  Partial<
    Pick<
      InstanceSettings,
      "blockBytes" | "compression" | "rotateDurationMs" | "rotateBytes" | "syncIntervalMs" | "maxBacklogBytes"
    >
  > {
  /** Which files of each boat are kept; left out: all. */
  retention?: RetentionSettings;
  /** Program that archives files; see the retention's `archive`. */
  archiveCommand?: string;
  /**
   * Longest time that a start archives the remaining files before it serves boats, milliseconds; then archiving continues
   * in the background. Default 60 s.
   */
  archiveStartTimeoutMs?: number;
}

/** Options of a cloud server. */
export interface CloudOptions extends Partial<CloudLimits>, ServerOptions {
  /** Directory with a directory for each boat; made when missing. */
  dataDirectory: string;
  /** Directory of the boats' directories, if it is another one than `dataDirectory`. */
  spoolDirectory?: string;
  /** Where frames go from the data directory; left out: they stay there. */
  store?: CloudStoreOptions;
  /** How it shares the store with other nodes; left out: it is the only one. Needs `store`. */
  node?: CloudNodeOptions;
  /** Where it listens. */
  ports: CloudPorts;
  /** How it records. */
  journal?: CloudRecordingOptions;
  /** Most frames of one boat in memory, a power of two; default 65536. */
  ringFrames?: number;
  /** (Device, PGN) pairs kept as last values of one boat; default 8192. */
  maxValues?: number;
  /** Aborts a start that still archives. */
  signal?: AbortSignal;
}

/** A running cloud server. */
export interface Cloud {
  /** Where it listens; the same one twice on a single port. */
  readonly addresses: { readonly grpc: ListenAddress; readonly http: ListenAddress };
  /** Completed rounds of housekeeping, one a second. */
  readonly heartbeats: () => number;
  /** Changes limits while running, and checks all files of certificates now. */
  reload: (limits: Partial<CloudLimits>) => void;
  /**
   * Is not ready from now on, and disconnects boats one after the other; `stop` comes next. Resolves when no boat is
   * connected, the time (milliseconds) is over, or the signal is aborted.
   */
  drain: (options: { timeMs: number; signal: AbortSignal }) => Promise<void>;
  /** Ends streams, writes everything, stops listening. Safe to call twice. */
  stop: () => Promise<void>;
}

const TITLE = "Vessel Bus Gateway: cloud server";
const HOUSEKEEPING_MS = 1000;

/** Defaults of a cloud server. */
export const CLOUD_DEFAULTS = {
  ...SERVER_DEFAULTS,
  ...INSTANCE_DEFAULTS,
  maxStreams: 10_000,
  /** Upper bound of the default of `maxConnections`: boats and readers. */
  mostConnections: 32_768,
  /** Less than that of a boat server: a cloud keeps the values of thousands of boats. */
  maxValues: 8192,
  scrubBytesPerSecond: 1024 * 1024,
  archiveStartTimeoutMs: 60_000,
} as const;

/**
 * Starts a cloud server: boats' calls → instances (journal, then replica) → streams; and blocks into files.
 *
 * @throws {FileError} the data directory is used by another process, or cannot be written
 * @throws {StoreError} the object store cannot be used
 * @throws {ListenError} a port cannot be opened
 * @throws {TlsError} certificate and key cannot be used
 * @throws {AuthoritiesError} the authorities of boats cannot be used
 * @throws {RevocationError} the list of revoked certificates cannot be used
 * @throws the reason of `signal`
 */
export async function startCloud(options: CloudOptions): Promise<Cloud> {
  const { log = silentLogger, clock = systemClock, dataDirectory, ports } = options;
  const settings = { ...CLOUD_DEFAULTS, ...options, ...options.journal };
  // `reload` changes these members.
  const limits: CloudLimits = settings;
  const instanceSettings = (): InstanceSettings => settings;
  const stall = new StallDetector(log);
  const { storing, sharing, instances, fleetRetention } = await openBoats(options, { settings, clock, log });
  const scrub = new Scrub({ instances, bytesPerSecond: () => limits.scrubBytesPerSecond, clock, log });
  const service = new CloudService({ instances, settings: instanceSettings, clock, log });
  const memory = new StreamMemory(options.streamMemoryBytes);
  const { seriesPgns } = settings;
  const sidecars = storing?.frameStore.sidecars;
  const readers = new ReplicaReaders({ clock, stall, log, memory, seriesPgns, sidecars, limits: () => settings });
  const access = new Access(limits, { log, isOverTls: ports.kind === "single" });
  const connections = await openConnections(options, { most: CLOUD_DEFAULTS.mostConnections, clock });
  const shared = { connections, access, stall, clock, log };
  const parts = { settings, instances, storing, sharing, fleetRetention, service, readers, ...shared };
  let heartbeats = 0;
  const housekeeping = setInterval(() => {
    stall.run("housekeeping", () => instances.runHousekeeping());
    stall.run("storing", () => storing?.runHousekeeping());
    sharing?.runHousekeeping();
    heartbeats++;
  }, HOUSEKEEPING_MS);
  const stopParts = async () => {
    clearInterval(housekeeping);
    service.stop();
    await scrub.stop();
    await Promise.all([sharing?.leave(), storing?.stop()]);
    await instances.stop();
    await sharing?.stop();
    await readers.stop();
    await fleetRetention?.stop();
    storing?.[Symbol.dispose]();
    stall.stop();
  };
  try {
    if (fleetRetention) {
      const { archiveStartTimeoutMs: archiveMs } = settings;
      const isDone = await fleetRetention.sweep({ archiveMs, ...(options.signal && { signal: options.signal }) });
      if (!isDone) log.info("journal files are still being archived", { waitedMs: archiveMs });
    }
    let local: Handler | undefined;
    const handler = (state: PortListenerState) => {
      local = apiOf(parts, state);
      return sharing?.shared(local) ?? local;
    };
    const listeners = await openListeners(ports, { dataDirectory, service, connections, handler, stall, clock, log });
    if (local) await sharing?.listen(local, { connections, stall });
    fleetRetention?.start();
    instances.recover();
    scrub.start();
    let stopping: Promise<void> | undefined;
    return {
      addresses: listeners.addresses,
      heartbeats: () => heartbeats,
      reload: (changed) => {
        Object.assign(limits, changed);
        access.reload(changed);
        listeners.check();
      },
      drain: (drain) => service.drain(drain),
      stop: () => stopping ??= listeners.close().then(stopParts).then(listeners.end),
    };
  } catch (error) {
    await stopParts();
    throw error;
  }
}

/** Opens the boats with their store and the retention of their files. */
async function openBoats(
  { dataDirectory, spoolDirectory = dataDirectory, store, node, ports, journal, signal }: CloudOptions,
  { settings, ...parts }: {
    settings: InstanceSettings & CloudLimits & { ringFrames: number; maxValues: number };
    clock: Clock;
    log: Logger;
  },
): Promise<{
  storing: Storing | undefined;
  sharing: Sharing | undefined;
  instances: Instances;
  fleetRetention: FleetRetention | undefined;
}> {
  const openReplica = replicasOf(settings, parts);
  // The instances and the retention of their files need each other.
  let fleetRetention: FleetRetention | undefined = undefined;
  const onFileEnded = (id: string) => fleetRetention?.wake(id);
  const storing = store && await Storing.open(store, { ...parts, directory: `${spoolDirectory}/.sidecars`, signal });
  const sharing = node && storing && ports.kind !== "insecure"
    ? await Sharing.open(node, { trust: ports.trust, store: storing.frameStore.store, ...parts })
    : undefined;
  if (sharing) storing?.nameNode(sharing.name);
  const nodes = sharing?.nodes;
  const instances = await Instances.open({
    dataDirectory: spoolDirectory,
    ...{ settings: () => settings, openReplica, frameStore: storing?.frameStore, nodes, onFileEnded, ...parts },
  });
  sharing?.begin(instances);
  const isInCharge = nodes && ((id: string) => nodes.nodeOf(id) === undefined);
  storing?.begin(instances, { retention: journal?.retention ?? {}, isInCharge });
  // Files that go to the store are deleted once they are there.
  fleetRetention = storing ? undefined : fleetRetentionOf(journal, { instances, ...parts });
  return { storing, sharing, instances, fleetRetention };
}

/** Opens the replicas of boats. */
function replicasOf(
  limits: CloudLimits & { ringFrames: number; maxValues: number },
  { clock, log }: { clock: Clock; log: Logger },
): OpenReplica {
  const pool = new RingPool();
  const sessionLimits = () => sessionLimitsOf(limits);
  const { ringFrames, maxValues } = limits;
  return (parts) =>
    Replica.open({
      ...parts,
      ...{ ringFrames, maxValues, sessionLimits, pool, clock, log },
      // A getter: a reload applies to replicas that are open, too.
      get deviceIdleTimeoutMs() {
        return limits.deviceIdleTimeoutMs;
      },
    });
}

/** The retention of all boats' files; undefined where files are neither deleted nor archived. */
function fleetRetentionOf(
  { retention, archiveCommand }: CloudRecordingOptions = {},
  { instances, clock, log }: { instances: Instances; clock: Clock; log: Logger },
): FleetRetention | undefined {
  if (retention === undefined) return undefined;
  return new FleetRetention({
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

/** The handler of HTTP requests. */
function apiOf(
  { settings, instances, storing, sharing, fleetRetention, service, readers, access, stall, connections, log }: {
    settings: { maxBodyBytes: number; bodyTimeoutMs: number };
    instances: Instances;
    storing: Storing | undefined;
    sharing: Sharing | undefined;
    fleetRetention: FleetRetention | undefined;
    service: CloudService;
    readers: ReplicaReaders;
    access: Access;
    stall: StallDetector;
    connections: Connections;
    log: Logger;
  },
  listeners: PortListenerState,
): Handler {
  const { maxBodyBytes, bodyTimeoutMs } = settings;
  const metrics = new CloudMetrics({
    readers,
    stall,
    access,
    connections,
    version: VERSION,
    certificates: listeners.certificates,
    storeFailingSinceMs: () => storing?.failingSinceMs,
    nodes: sharing?.nodes,
    archiveFailures: (id) => fleetRetention?.status(id)?.archiveFailures ?? 0,
  });
  const health = () =>
    evaluateCloudHealth({
      instances,
      archiveFailed: (id) => (fleetRetention?.status(id)?.failed ?? 0) > 0,
      others: {
        ...listeners.health(),
        ...(storing && { store: storing.health() }),
        ...(sharing && { nodes: sharing.health() }),
        ...(service.isDraining && { drain: { status: "degraded", message: "the node is draining" } }),
      },
    });
  const isDraining = () => service.isDraining;
  const server = { name: TITLE, version: VERSION };
  const routes = cloudRoutes({ instances, readers, metrics, health, isDraining, server });
  return serveRoutes(routes, { title: TITLE, version: VERSION, maxBodyBytes, bodyTimeoutMs, access, log });
}
