import { type Clock, errorText, type Logger, pause } from "../../base/mod.ts";
import {
  type BackfillStatus,
  type BackfillUpstream,
  type Caller,
  type HandshakeRequest,
  type HandshakeResponse,
  type LiveStatus,
  type LiveUpstream,
  type MessageStream,
  reconnectRequest,
  type ReplicationService,
  RpcError,
} from "../../replication/mod.ts";
import { BackfillSession } from "./backfill_session.ts";
import { DrainSchedule } from "./drain.ts";
import type { Instance } from "../instance/instance.ts";
import { handshakeRequired } from "../instance/sessions.ts";
import type { InstanceSettings } from "../instance/settings.ts";
import type { Instances } from "../instance/instances.ts";
import { LiveSession } from "./live_session.ts";

/** Dependencies of {@linkcode CloudService}. */
export interface CloudServiceOptions {
  instances: Instances;
  settings: () => InstanceSettings;
  clock: Clock;
  log: Logger;
}

/** Options of {@linkcode CloudService.drain}. */
export interface DrainOptions {
  /** Longest time that it takes, milliseconds. */
  timeMs: number;
  /** Aborted: the boats that are left stay connected. */
  signal: AbortSignal;
  /** Random number from 0 (inclusive) to 1 (exclusive); default `Math.random`. */
  random?: () => number;
}

const TICK_MS = 1000;
const DRAIN_TICK_MS = 100;

/** The replication service for identified boats. */
export class CloudService implements ReplicationService {
  readonly #options: CloudServiceOptions;
  readonly #live = new Set<LiveSession>();
  readonly #backfill = new Set<BackfillSession>();
  readonly #timer: ReturnType<typeof setInterval>;
  #isDraining = false;
  #isStopped = false;

  constructor(options: CloudServiceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#live.forEach((session) => session.tick()), TICK_MS);
  }

  /**
   * Accepts the boat's declarations, and answers with the frames that the cloud requests.
   *
   * @throws {RpcError} `UNAVAILABLE`: nothing can be recorded, or the node is draining; `FAILED_PRECONDITION`: two machines
   * may share the boat's identity; `RESOURCE_EXHAUSTED`: too many boats
   */
  async handshake(request: HandshakeRequest, { instanceId, connection }: Caller): Promise<HandshakeResponse> {
    this.#requireRunning();
    if (this.#isDraining && !this.#isStreaming(connection)) throw reconnectRequest("draining");
    const instance = await this.#options.instances.ensure(instanceId);
    return await instance.handshake(request, connection);
  }

  /** Serves a live stream. @throws {RpcError} why it ends; see {@linkcode LiveSession} */
  async live(stream: MessageStream<LiveUpstream, LiveStatus>, caller: Caller): Promise<void> {
    const session = new LiveSession({ ...this.#options, instance: this.#known(caller), stream, caller });
    await run(session, this.#live);
  }

  /** Serves a backfill. @throws {RpcError} why it ends; see {@linkcode BackfillSession} */
  async backfill(stream: MessageStream<BackfillUpstream, BackfillStatus>, caller: Caller): Promise<void> {
    const session = new BackfillSession({ ...this.#options, instance: this.#known(caller), stream, caller });
    await run(session, this.#backfill);
  }

  /** Ends the streams of callers that are no longer allowed. */
  recheck(isAllowed: (caller: Caller) => boolean): void {
    for (const session of [...this.#live, ...this.#backfill]) {
      if (isAllowed(session.caller)) continue;
      session.end(new RpcError("UNAUTHENTICATED", "the certificate is no longer valid"));
    }
  }

  /** True from the begin of a drain on. */
  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * Refuses boats that are not connected, and disconnects the others one after the other, together with the readers of
   * their frames. Resolves when no boat is connected, the time is over, or `signal` is aborted.
   */
  async drain({ timeMs, signal, random = Math.random }: DrainOptions): Promise<void> {
    const { instances, clock, log } = this.#options;
    this.#isDraining = true;
    const connected = () => [...instances].filter((instance) => instance.connected);
    const boats = connected().length;
    log.info("draining", { boats, timeMs });
    const schedule = new DrainSchedule<Instance>({ boats, timeMs, clock, random });
    while (!signal.aborted && !schedule.isOver && connected().length > 0) {
      for (const instance of schedule.due(connected())) {
        instance.disconnect(reconnectRequest("draining")).catch((error: unknown) => {
          log.error("readers not ended", { id: instance.id, error: errorText(error) });
        });
      }
      await pause(DRAIN_TICK_MS, signal).catch(() => {});
    }
    log.info("drained", { boatsLeft: connected().length });
  }

  /** Ends all streams and refuses further calls. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    for (const session of [...this.#live, ...this.#backfill]) {
      session.end(new RpcError("UNAVAILABLE", "the server is stopping"));
    }
  }

  #requireRunning(): void {
    if (this.#isStopped) throw new RpcError("UNAVAILABLE", "the server is stopping");
  }

  /** True if a connection carries a live stream: its boat makes further handshakes while it backfills. */
  #isStreaming(connection: string): boolean {
    return this.#live.values().some(({ caller }) => caller.connection === connection);
  }

  #known({ instanceId }: Caller): Instance {
    this.#requireRunning();
    const instance = this.#options.instances.get(instanceId);
    if (instance) return instance;
    throw handshakeRequired();
  }
}

/** Runs a session, which is in the set meanwhile. */
async function run<S extends LiveSession | BackfillSession>(session: S, open: Set<S>): Promise<void> {
  open.add(session);
  try {
    await session.run();
  } finally {
    open.delete(session);
  }
}
