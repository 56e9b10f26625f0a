import {
  ALL_ADDRESSES,
  type Clock,
  type ListenAddress,
  pause,
  silentLogger,
  StallDetector,
  systemClock,
} from "../base/mod.ts";
import { BOAT_DEFAULTS, type ServerLimits, type ServerOptions, sessionLimitsOf } from "../boat/mod.ts";
import { Broker, Decoder } from "../broker/mod.ts";
import { formatTimeUs } from "../frame/mod.ts";
import {
  Access,
  boatRoutes,
  type ComponentHealth,
  evaluateHealth,
  type Health,
  Metrics,
  type Proof,
  proofOfBoat,
  serveRoutes,
} from "../http/mod.ts";
import { Feed } from "../feed/mod.ts";
import { type Slot, type StreamClient, type StreamHub, StreamMemory } from "../stream/mod.ts";
import { listen, openConnections } from "../listen/mod.ts";
import { PlayedBlocks, Player, type PlayerState, Playlist } from "../recordings/mod.ts";
import { VERSION } from "../version.ts";

/** Options of a simulation. Only `files` is required. */
export interface SimulationOptions extends Partial<Omit<ServerLimits, "tokens">>, ServerOptions {
  /** Journal files, or directories of them, in the order in which they are played. */
  files: readonly string[];
  /** Starts with the first frame of this time or later, microseconds since 1970; default: the first frame. */
  startUs?: number | undefined;
  /** Factor of the recorded speed; 0: as fast as possible. Default 1. */
  speed?: number;
  /** Starts again at the end; sequence numbers continue. */
  loop?: boolean;
  /** Frames kept in the ring, a power of two; default 65536. */
  ringFrames?: number;
  /** (Device, PGN) pairs kept as last values; default 65536. */
  maxValues?: number;
  /** Sessions that start with the first frame played and are never removed. */
  slots?: readonly Slot[];
  /** Default all addresses, port 8090. */
  listen?: ListenAddress;
}

/** A running simulation. */
export interface Simulation {
  /** Where it listens. */
  readonly address: ListenAddress;
  /** How the replay ended. */
  readonly replayed: Promise<PlayerState>;
  /** Resolves when clients have read all frames, or have been away for longer than their sessions are kept. */
  drained: () => Promise<void>;
  /** Ends replay and streams, and stops listening. Safe to call twice. */
  stop: () => Promise<void>;
}

/** Default port, on all addresses. */
export const SIMULATION_PORT = 8090;
const TITLE = "Vessel Bus Gateway: simulated boat";
const HOUSEKEEPING_MS = 1000;
/** Interval of checking whether clients have caught up. */
const POLL_MS = 2;
/** The replay stops waiting for a client that accepts nothing for this time. */
const PATIENCE_MS = 10_000;

/**
 * Serves journal files as a boat: sequence numbers from 1, times as recorded, no transmitting.
 *
 * @throws {ReplayError} there is nothing to play
 * @throws {ListenError} the port cannot be opened
 * @throws {RangeError} the ring size is not a power of two
 */
export async function startSimulation(options: SimulationOptions): Promise<Simulation> {
  const { log = silentLogger, clock = systemClock } = options;
  const settings = { ...BOAT_DEFAULTS, speed: 1, loop: false, ...options };
  const { files, slots, ringFrames, maxValues, maxBodyBytes, bodyTimeoutMs, allowOrigins } = settings;
  const { speed, loop, deviceIdleTimeoutMs } = settings;
  const playlist = await Playlist.open({ paths: files, startUs: options.startUs, log });
  const broker = new Broker({ buses: playlist.buses, ringFrames, maxValues, decoder: new Decoder({ log }) });
  const played = new PlayedBlocks(() => broker.head);
  const sessionLimits = sessionLimitsOf(settings);
  const feed = await Feed.open({
    broker,
    archive: played,
    sessions: { limits: () => sessionLimits, slots, slotsFrom: 1 },
    clock,
    log,
  });
  const { sessions } = feed;
  const stall = new StallDetector(log);
  const hub = feed.openHub({ stall, memory: new StreamMemory(options.streamMemoryBytes) });
  const patience = new Patience(hub, clock);
  const caughtUp = () => patience.caughtUp();
  const player = new Player({ playlist, played, broker, speed, loop, deviceIdleTimeoutMs, clock, log, caughtUp });
  const connections = await openConnections(options, { most: BOAT_DEFAULTS.mostConnections, clock });
  const health = () => healthOf(player, broker);
  const sources = { broker, hub, sessions, stall, connections, version: VERSION };
  const metrics = new Metrics({ ...sources, lines: [], identity: undefined });
  const routes = boatRoutes({
    broker,
    hub,
    sessions,
    clock,
    limits: () => settings,
    health,
    metrics,
    journal: { index: played },
    proof: () => proofOfReplay(broker, clock),
    server: { name: TITLE, version: VERSION },
  });
  const access = new Access({ allowOrigins }, { log });
  const handler = serveRoutes(routes, { title: TITLE, version: VERSION, maxBodyBytes, bodyTimeoutMs, access, log });
  const housekeeping = setInterval(() => stall.run("housekeeping", () => sessions.runHousekeeping()), HOUSEKEEPING_MS);
  const stopParts = async () => {
    clearInterval(housekeeping);
    player.stop();
    await sessions.stop();
    hub.stop();
    stall.stop();
  };
  try {
    const address = options.listen ?? { hostname: ALL_ADDRESSES, port: SIMULATION_PORT };
    const listener = await listen(address, { handler, stall, connections, log });
    const replayed = player.run();
    let stopping: Promise<void> | undefined;
    return {
      address: listener.address,
      replayed,
      drained: async () =>
        void await Promise.all([
          patience.caughtUp(),
          sessions.drained({ everyMs: POLL_MS, patienceMs: PATIENCE_MS }),
        ]),
      stop: () => stopping ??= stopParts().then(() => replayed).then(listener.stop),
    };
  } catch (error) {
    await stopParts();
    throw error;
  }
}

/** Waits for live streams until they have caught up, except for those that accept nothing. */
class Patience {
  readonly #hub: StreamHub;
  readonly #clock: Clock;
  /** Clients that accepted nothing within the patience. */
  #givenUp = new Set<StreamClient>();

  constructor(hub: StreamHub, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
  }

  /** Resolves when live streams have every frame. */
  async caughtUp(): Promise<void> {
    const endMs = this.#clock.monoMs() + PATIENCE_MS;
    for (;;) {
      const behind = this.#hub.behind();
      this.#givenUp = this.#givenUp.intersection(behind);
      if (behind.isSubsetOf(this.#givenUp)) return;
      if (this.#clock.monoMs() >= endMs) this.#givenUp = behind;
      else await pause(POLL_MS);
    }
  }
}

/** The health of the server is that of its replay. */
function healthOf({ state, damaged }: Player, broker: Broker): Health {
  const replay: ComponentHealth = state.kind === "failed"
    ? { status: "unhealthy", message: `failed: ${state.reason}` }
    : damaged > 0
    ? { status: "degraded", message: `${damaged} damaged blocks skipped` }
    : { status: "ok", message: state.kind };
  return evaluateHealth({ broker, lines: [], others: { replay }, busSilenceMs: undefined, startedMs: 0, nowMs: 0 });
}

function proofOfReplay({ published: frames }: Broker, clock: Clock): Proof {
  const nothing = { journal: undefined, replication: undefined, buses: [] };
  return proofOfBoat({ asOf: formatTimeUs(clock.wallUs()), epoch: null, numbered: { first: 1, frames }, ...nothing });
}
