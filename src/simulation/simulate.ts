import {
  ALL_ADDRESSES,
  type Clock,
  type ListenAddress,
  type Logger,
  pause,
  silentLogger,
  StallDetector,
  systemClock,
} from "../base/mod.ts";
import { BOAT_DEFAULTS, type BoatLimits } from "../boat/mod.ts";
import { Broker, Decoder } from "../broker/mod.ts";
import {
  Access,
  boatRoutes,
  type ComponentHealth,
  evaluateHealth,
  type Health,
  Metrics,
  serveRoutes,
} from "../http/mod.ts";
import { Feed } from "../feed/mod.ts";
import { type Slot, type StreamClient, type StreamHub, StreamMemory } from "../stream/mod.ts";
import { type ConnectionOptions, listen, openConnections } from "../listen/mod.ts";
import { PlayedBlocks, Player, type PlayerState, Playlist } from "../recordings/mod.ts";
import { VERSION } from "../version.ts";

/** How a recording is played as if it were a boat. Only `files` must be given. */
export interface SimulationOptions extends Partial<Omit<BoatLimits, "busSilenceThresholdMs">>, ConnectionOptions {
  /** Journal files, or directories of them, in the order in which they are played. */
  files: readonly string[];
  /** Begins with the first frame of this time or later, microseconds since 1970; default with the first of all. */
  startUs?: number | undefined;
  /** Times as fast as it was recorded; 0: as fast as can be. Default 1. */
  speed?: number;
  /** Begins again at the end; numbers go on. */
  loop?: boolean;
  /** Frames kept in the ring, a power of two; default 65536. */
  ringFrames?: number;
  /** (Device, PGN) pairs kept as last values; default 65536. */
  maxValues?: number;
  /** Sessions that begin with the first frame played, and never go. */
  slots?: readonly Slot[];
  /** Default all addresses, port 8090. */
  listen?: ListenAddress;
  /** Most bytes that wait for one slow client; default 1 MiB. */
  streamBufferBytes?: number;
  /** Most bytes that wait for the clients of all streams, default 256 MiB. */
  streamMemoryBytes?: number;
  /** Longest body of a request, default 64 KiB. */
  maxBodyBytes?: number;
  /** Longest time that a body may take, milliseconds; default 30 s. */
  bodyTimeoutMs?: number;
  /** Default silent. */
  log?: Logger;
  /** What the server's own timeouts go by; default the machine's. */
  clock?: Clock;
}

/** A recording that is played. */
export interface Simulation {
  /** Where it listens. */
  readonly address: ListenAddress;
  /** How the replay ended. */
  readonly replayed: Promise<PlayerState>;
  /** Resolves when clients have read all there is, or have been away for longer than their sessions are kept. */
  drained: () => Promise<void>;
  /** Ends replay and streams, and stops listening. Safe to call twice. */
  stop: () => Promise<void>;
}

/** Port on all addresses when nothing else is said. */
export const SIMULATION_PORT = 8090;
const TITLE = "Vessel Bus Gateway: simulated boat";
const HOUSEKEEPING_MS = 1000;
/** How often it is looked whether clients have caught up. */
const LOOK_EVERY_MS = 2;
/** A client that takes nothing for so long is not waited for. */
const PATIENCE_MS = 10_000;

/**
 * Plays journal files through the server of a boat: numbers from 1, times as recorded, nothing to send to.
 *
 * @throws {ReplayError} there is nothing to play
 * @throws {ListenError} the port cannot be had
 * @throws {RangeError} the ring's size is no power of two
 */
export async function startSimulation(options: SimulationOptions): Promise<Simulation> {
  const { log = silentLogger, clock = systemClock } = options;
  const { files, slots, ...limits } = { ...BOAT_DEFAULTS, ...options };
  const playlist = await Playlist.open({ paths: files, startUs: options.startUs, log });
  const { ringFrames, maxValues, maxBodyBytes, bodyTimeoutMs } = limits;
  const broker = new Broker({ buses: playlist.buses, ringFrames, maxValues, decoder: new Decoder({ log }) });
  const played = new PlayedBlocks(() => broker.head);
  const { maxSessions, maxSessionsPerOwner, maxBufferDurationMs: maxTimeoutMs } = limits;
  const sessionLimits = { maxSessions, maxSessionsPerOwner, maxTimeoutMs };
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
  const player = new Player({ ...options, playlist, played, broker, clock, log, caughtUp: () => patience.caughtUp() });
  const connections = await openConnections(options, { most: BOAT_DEFAULTS.mostConnections, clock });
  const parts = { broker, hub, sessions, stall, connections, clock, limits: () => limits };
  const health = () => healthOf(player, broker);
  const metrics = new Metrics({ ...parts, version: VERSION, lines: [], identity: undefined });
  const routes = boatRoutes({
    ...parts,
    health,
    metrics,
    journal: { index: played },
    server: { name: TITLE, version: VERSION },
  });
  const access = new Access({ allowOrigins: limits.allowOrigins }, { log });
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
          sessions.drained({ everyMs: LOOK_EVERY_MS, patienceMs: PATIENCE_MS }),
        ]),
      stop: () => stopping ??= stopParts().then(() => replayed).then(listener.stop),
    };
  } catch (error) {
    await stopParts();
    throw error;
  }
}

/** Waits for live streams, and no more for those that take nothing. */
class Patience {
  readonly #hub: StreamHub;
  readonly #clock: Clock;
  /** Clients that were waited for in vain. */
  #givenUp = new Set<StreamClient>();

  constructor(hub: StreamHub, clock: Clock) {
    this.#hub = hub;
    this.#clock = clock;
  }

  /** Resolves when live streams have all there is. */
  async caughtUp(): Promise<void> {
    const endMs = this.#clock.monoMs() + PATIENCE_MS;
    for (;;) {
      const behind = this.#hub.behind();
      this.#givenUp = this.#givenUp.intersection(behind);
      if (behind.isSubsetOf(this.#givenUp)) return;
      if (this.#clock.monoMs() >= endMs) this.#givenUp = behind;
      else await pause(LOOK_EVERY_MS);
    }
  }
}

/** The server does as well as its replay. */
function healthOf({ state, damaged }: Player, broker: Broker): Health {
  const replay: ComponentHealth = state.kind === "failed"
    ? { status: "unhealthy", message: `failed: ${state.reason}` }
    : damaged > 0
    ? { status: "degraded", message: `${damaged} damaged blocks passed over` }
    : { status: "ok", message: state.kind };
  return evaluateHealth({ broker, lines: [], others: { replay }, busSilenceMs: undefined, startedMs: 0, nowMs: 0 });
}
