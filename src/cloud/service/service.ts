import type { Clock, Logger } from "../../base/mod.ts";
import {
  type BackfillStatus,
  type BackfillUpstream,
  type Caller,
  type HandshakeRequest,
  type HandshakeResponse,
  type LiveStatus,
  type LiveUpstream,
  type MessageStream,
  type ReplicationService,
  RpcError,
} from "../../replication/mod.ts";
import { BackfillSession } from "./backfill_session.ts";
import type { Instance } from "../instance/instance.ts";
import { handshakeFirst } from "../instance/sessions.ts";
import type { InstanceSettings } from "../instance/settings.ts";
import type { Instances } from "../instance/instances.ts";
import { LiveSession } from "./live_session.ts";

/** What the service works with. */
export interface CloudServiceOptions {
  instances: Instances;
  settings: () => InstanceSettings;
  clock: Clock;
  log: Logger;
}

const TICK_MS = 1000;

/** What the cloud answers when a boat calls. Who calls is known by then. */
export class CloudService implements ReplicationService {
  readonly #options: CloudServiceOptions;
  readonly #live = new Set<LiveSession>();
  readonly #backfill = new Set<BackfillSession>();
  readonly #timer: ReturnType<typeof setInterval>;
  #isStopped = false;

  constructor(options: CloudServiceOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /**
   * Takes the boat's word, and tells what is wanted of it.
   *
   * @throws {RpcError} `UNAVAILABLE`: nothing can be written; `FAILED_PRECONDITION`: another machine may be this boat;
   * `RESOURCE_EXHAUSTED`: there are too many boats
   */
  async handshake(request: HandshakeRequest, { instanceId, address }: Caller): Promise<HandshakeResponse> {
    this.#requireRunning();
    if (request.headSeq >= Number.MAX_SAFE_INTEGER) {
      throw new RpcError("INVALID_ARGUMENT", `no frame has number ${request.headSeq}`);
    }
    const instance = await this.#options.instances.ensure(instanceId);
    return await instance.handshake(request, address);
  }

  /** Takes live frames. @throws {RpcError} why the stream ends; see {@linkcode LiveSession} */
  async live(stream: MessageStream<LiveUpstream, LiveStatus>, caller: Caller): Promise<void> {
    const { settings, clock } = this.#options;
    const instance = this.#known(caller);
    const session = new LiveSession({ instance, stream, caller, settings, clock });
    this.#live.add(session);
    try {
      await session.run();
    } finally {
      this.#live.delete(session);
    }
  }

  /** Takes blocks. @throws {RpcError} why the stream ends; see {@linkcode BackfillSession} */
  async backfill(stream: MessageStream<BackfillUpstream, BackfillStatus>, caller: Caller): Promise<void> {
    const { settings, clock, log } = this.#options;
    const instance = this.#known(caller);
    const session = new BackfillSession({ instance, stream, caller, settings, clock, log });
    this.#backfill.add(session);
    try {
      await session.run();
    } finally {
      this.#backfill.delete(session);
    }
  }

  /** Ends the streams of who is not let in any more. */
  recheck(isLetIn: (caller: Caller) => boolean): void {
    for (const session of [...this.#live, ...this.#backfill]) {
      if (isLetIn(session.caller)) continue;
      session.end(new RpcError("UNAUTHENTICATED", "the certificate is not good any more"));
    }
  }

  /** Ends all streams, and takes no more calls. */
  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
    for (const session of [...this.#live, ...this.#backfill]) {
      session.end(new RpcError("UNAVAILABLE", "the server is stopping"));
    }
  }

  #tick(): void {
    for (const session of this.#live) session.tick();
  }

  #requireRunning(): void {
    if (this.#isStopped) throw new RpcError("UNAVAILABLE", "the server is stopping");
  }

  #known({ instanceId }: Caller): Instance {
    this.#requireRunning();
    const instance = this.#options.instances.get(instanceId);
    if (instance) return instance;
    throw handshakeFirst();
  }
}
